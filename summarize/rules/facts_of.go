package rules

import (
	"cmp"
	"errors"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"precis/summarize/lex"
	"precis/summarize/verdict"

	"precis/summarize/envelope"
)

func (f *facts) command(args arguments, doc *document) {
	f.asked(args)
	f.add("Running", doc.running)
	f.add("Exit", f.exit)
	f.add("Tests", tests(f.ended.Tests))
	if len(doc.changes) > 0 {
		var all change
		for _, c := range doc.changes {
			all.added += c.added
			all.removed += c.removed
		}
		f.add("Diff", lex.Counted(len(doc.changes), "file")+","+all.String())
	}
	output := lex.Counted(doc.total, "line")
	if n, which := args.capped(); n > 0 && doc.total >= n {
		output = which + " " + output
	}
	f.add("Output", output)
	f.note("output_lines", doc.total)
}

// changesDir is how shells of agents begin most commands; what is run then says more, and the call has it all.
var changesDir = regexp.MustCompile(`^\s*cd (?:"[^"]*"|'[^']*'|[^\s;&|]+)\s*(?:&&|;)\s*`)

// asked returns the request: the command, else the other arguments.
func (f *facts) asked(args arguments) {
	command := args.command()
	if command == "" {
		name, text := args.brief()
		f.add(name, lex.Clip(text, maxCommand))
		return
	}
	f.add("Command", lex.Clip(lex.OneLine(changesDir.ReplaceAllString(command, "")), maxCommand))
	f.note("command", command)
}

func (f *facts) write(args arguments, doc *document) {
	if path := args.path(); path != "" {
		f.add("File", clipLeft(lex.OneLine(path), maxPath))
		f.note("path", path)
	} else {
		f.asked(args)
	}
	f.add("Output", lex.Counted(doc.total, "line"))
	f.note("output_lines", doc.total)
}

// tests is what a test runner sums up: "12 passed, 1 failed".
func tests(t verdict.Tally) string {
	switch {
	case t.HasPassed && t.HasFailed:
		return itoa(t.Passed) + " passed, " + itoa(t.Failed) + " failed"
	case t.HasPassed:
		return itoa(t.Passed) + " passed"
	case t.HasFailed:
		return itoa(t.Failed) + " failed"
	}
	return ""
}

func (f *facts) listing(args arguments, doc *document) {
	if pattern := args.pattern(); pattern != "" {
		f.add("Pattern", `"`+lex.Clip(lex.OneLine(pattern), maxPattern)+`"`)
		f.note("pattern", pattern)
	}
	if path := args.path(); path != "" {
		f.add("Path", clipLeft(lex.OneLine(path), maxPath))
		f.note("path", path)
	} else if args.pattern() == "" {
		f.asked(args)
	}
	kinds, entries := doc.kinds()
	f.add("Entries", doc.atLeast(entries))
	if strings.Contains(kinds, ", ") { // the pattern says what all of them are
		f.add("Kinds", kinds)
	}
	f.note("entries", entries)
	if entries == 0 {
		f.nothing()
	}
}

// treeTotal is tree's last line, "16 directories, 11 files".
var treeTotal = regexp.MustCompile(`^\d+ director(?:y|ies)(?:, \d+ files?)?$`)

// kinds counts a listing's entries by extension: "12 .go, 3 .md, 2 directories".
func (d *document) kinds() (text string, entries int) {
	count := map[string]int{}
	for i := range d.lines {
		l := &d.lines[i]
		if l.text == "" || !l.starts || foundNothing(l.text) || noEntry.MatchString(l.text) || strings.HasSuffix(l.text, " .") || strings.HasSuffix(l.text, " ..") || lex.IsDigit(l.text[0]) && treeTotal.MatchString(l.text) {
			continue
		}
		entries++
		if kind := entryKind(l.text); kind != "" {
			count[kind]++
		}
	}
	kinds := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(count[b]-count[a], strings.Compare(a, b))
	})
	for i, k := range kinds {
		kinds[i] = itoa(count[k]) + " " + k
	}
	return strings.Join(kinds[:min(4, len(kinds))], ", "), entries
}

// entryKind returns the extension of a listing's entry, or that it is a directory; empty if unknown.
func entryKind(entry string) string {
	name := entry[strings.LastIndexFunc(entry, unicode.IsSpace)+1:]
	if strings.HasSuffix(name, "/") || entry[0] == 'd' && len(strings.Fields(entry)) > 6 {
		return "directories"
	}
	base := name[strings.LastIndexByte(name, '/')+1:]
	if dot := strings.LastIndexByte(base, '.'); dot > 0 && len(base)-dot <= 8 && strings.ContainsFunc(base[dot:], unicode.IsLetter) {
		return base[dot:]
	}
	return ""
}

func (f *facts) search(args arguments, doc *document) {
	if pattern := args.pattern(); pattern != "" {
		f.add("Pattern", `"`+lex.Clip(lex.OneLine(pattern), maxPattern)+`"`)
		f.note("pattern", pattern)
	} else {
		f.asked(args)
	}
	matches, files := doc.found()
	switch {
	case doc.shape == shapePlain && showsContext(args):
		f.add("Output", lex.Counted(doc.total, "line")) // nothing tells matches from the lines around them
	default:
		f.add("Matches", doc.atLeast(matches))
	}
	f.note("match_count", matches)
	f.note("file_count", len(files))
	if len(files) > 0 {
		f.add("Files", itoa(len(files)))
		f.add("Top files", quoted(strings.Join(files[:min(3, len(files))], ", "), maxNote))
	}
	if matches == 0 {
		f.nothing()
	}
}

// atLeast formats a count of what is shown: `100+` if the tool says that there is more.
func (d *document) atLeast(n int) string {
	if d.cutOff {
		return itoa(n) + "+"
	}
	return itoa(n)
}

// contextFlag is how a search is asked for the lines around its matches.
var contextFlag = regexp.MustCompile(`\s(?:-[a-zA-Z]*[ABC] ?\d|--(?:after-|before-)?context\b)`)

// showsContext reports whether a search was asked for the lines around its matches.
func showsContext(args arguments) bool {
	return contextFlag.MatchString(args.command()) || args.text("-A", "-B", "-C") != ""
}

// found counts the matches of a search, without the context lines, and their files.
func (d *document) found() (matches int, files []string) {
	for i := range d.lines {
		l := &d.lines[i]
		if !l.starts || l.text == "" && l.number == 0 || l.context {
			continue
		}
		switch {
		case d.shape == shapeMatches && l.group < 0, d.shape == shapeOneFile && l.number == 0:
			continue // a separator, or a tool's own remark
		case isPath(l.text):
			files = append(files, l.text)
		case foundNothing(l.text):
			continue
		}
		matches++
	}
	if d.shape == shapeMatches {
		files = d.groups
	}
	return matches, slices.Clip(files)
}

// foundNothing distinguishes a tool's remark from a match.
func foundNothing(text string) bool {
	if text == "" || strings.IndexByte("nNfF", text[0]) < 0 {
		return false
	}
	low := strings.ToLower(text[:min(len(text), 40)])
	return strings.HasPrefix(low, "no matches") || strings.HasPrefix(low, "no files") || strings.HasPrefix(low, "no results") || strings.HasPrefix(low, "found 0")
}

func (f *facts) web(args arguments, doc *document) {
	if url := args.url(); url != "" {
		f.add("URL", lex.Clip(lex.OneLine(url), maxPath))
		f.note("url", url)
	}
	if query := args.text("query", "q", "search_query", "search_term"); query != "" {
		f.add("Query", `"`+lex.Clip(lex.OneLine(query), maxPattern)+`"`)
		f.note("query", query)
	}
	doc.snapshot()
	if f.wide = doc.shape == shapeSnapshot; len(f.key) == 0 && !f.wide {
		f.asked(args)
	}
	title, headings, links := doc.page()
	if title != "" {
		f.add("Title", quoted(title, maxPattern))
		f.note("title", title)
	}
	if f.wide { // which page it is tells more than what was asked of it
		f.asked(args)
	}
	if links > 0 {
		f.add("Links", itoa(links))
	}
	f.note("headings", headings)
	f.note("links", links)
	f.add("Lines", itoa(doc.total))
	f.note("lines", doc.total)
}

// searchFailed returns the line by which a search says that it found no pages: what follows is from the model's memory.
func (d *document) searchFailed() int {
	const first = 6
	for i := range d.lines[:min(len(d.lines), first)] {
		if webError.MatchString(d.lines[i].text) {
			return i
		}
	}
	return none
}

var webError = regexp.MustCompile(`^(?i:web ?search|search|fetch|request) (?:error|failed): ?\S`)

// snapshot finds the page's title in a browser driver's output.
func (d *document) snapshot() {
	for _, l := range d.lines[:min(len(d.lines), sampled)] {
		if title, ok := strings.CutPrefix(l.text, "- Page Title: "); ok && d.title == "" {
			d.title = title
		}
		if e, ok := elementIn(l.text); ok && d.shape == shapeSnapshot && e.role == "RootWebArea" && d.title == "" {
			d.title = e.name // what a browser calls the page, beside its tabs
		}
	}
}

// page finds a page's title (its first heading) and counts its headings and links.
func (d *document) page() (title string, headings, links int) {
	for i := range d.lines {
		l := &d.lines[i]
		if strings.HasPrefix(l.text, "#") {
			if text := strings.TrimSpace(strings.TrimLeft(l.text, "#")); text != "" && len(l.text)-len(text) < 9 {
				headings++
				if title == "" {
					title = text
				}
			}
		}
		if d.shape == shapeSnapshot {
			if e, ok := elementIn(l.text); ok && l.starts && e.role == "link" {
				links += 1 + l.repeat
			}
		} else if strings.Contains(l.text, "://") {
			links += strings.Count(l.text, "http://") + strings.Count(l.text, "https://")
		}
	}
	if d.title != "" {
		title = d.title
	}
	return title, headings, links
}

func (f *facts) data(in Input, args arguments, doc *document) {
	f.asked(args)
	f.add("Exit", f.exit)
	s := outlineOf(in.Content)
	f.add("Shape", s.shape())
	s.keys = slices.DeleteFunc(s.keys, func(key string) bool { return slices.Contains(in.Drop, key) })
	if len(s.keys) > 0 {
		f.add("Keys", quoted(strings.Join(s.keys, ", "), mostKeys*maxCommand))
		f.note("keys", strings.Join(s.keys, ", "))
	}
	if s.items > 0 {
		f.note("items", s.items)
	}
	f.add("Lines", itoa(doc.total))
	f.note("lines", doc.total)
}

// outline is the structure of a JSON text.
type outline struct {
	kind   jsontext.Kind // of the first value: '{', '[' or a scalar's; 0: not valid JSON
	inner  jsontext.Kind // of an array's first element
	items  int           // elements of the array, members of the object
	values int           // values in the text, in sequence
	keys   []string      // of the first object, at most mostKeys
	broken bool          // it ends before it is complete
}

// Bounds on the keys: how many, and their length.
const mostKeys, longestKey = 8, 30

// outlineOf reads the values of a text, up to the first error.
func outlineOf(content string) outline {
	var o outline
	d := jsontext.NewDecoder(strings.NewReader(content), envelope.Lenient)
	for {
		from := d.InputOffset()
		v, err := d.ReadValue()
		if err != nil {
			rest := jsontext.Value(strings.TrimSpace(content[from:]))
			o.broken = (o.values > 0 || rest.Kind() == '{' || rest.Kind() == '[') && !errors.Is(err, io.EOF)
			if o.broken && o.values == 0 {
				o.first(rest)
			}
			return o
		}
		if o.values++; o.values == 1 {
			o.first(v)
		}
	}
}

// first reads the first value: of an array its elements, of the first object the keys.
func (o *outline) first(v jsontext.Value) {
	o.kind = v.Kind()
	for depth := 0; v.Kind() == '['; depth++ {
		list := elements(v)
		if depth == 0 && len(list) > 0 {
			o.items, o.inner = len(list), list[0].Kind()
		}
		if len(list) == 0 {
			return
		}
		v = list[0]
	}
	members := keysOf(v)
	if o.kind == '{' {
		o.items = len(members)
	}
	for _, m := range members[:min(len(members), mostKeys)] {
		o.keys = append(o.keys, lex.Clip(lex.OneLine(m.Name), longestKey))
	}
}

// elements returns an array's elements; of one that ends before it is complete also what there is of the last one.
func elements(v jsontext.Value) (list []jsontext.Value) {
	d := jsontext.NewDecoder(strings.NewReader(string(v)), envelope.Lenient)
	if _, err := d.ReadToken(); err != nil {
		return nil
	}
	for d.PeekKind() != ']' {
		from := d.InputOffset()
		e, err := d.ReadValue()
		if err != nil {
			if rest := strings.TrimLeft(string(v[from:]), ", \t\r\n"); rest != "" {
				list = append(list, jsontext.Value(rest))
			}
			return list
		}
		list = append(list, e.Clone())
	}
	return list
}

// shape describes it: "array of 12 objects", "object with 5 keys", "40 JSON lines".
func (o outline) shape() string {
	text := ""
	switch {
	case o.values > 1:
		text = lex.Thousands(o.values) + " JSON lines"
	case o.kind == '[':
		text = "array of " + lex.Counted(o.items, kindName(o.inner))
	case o.kind == '{':
		text = "object with " + lex.Counted(o.items, "key")
	default:
		return ""
	}
	if o.broken {
		text += ", cut off"
	}
	return text
}

func kindName(k jsontext.Kind) string {
	switch k {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case '0':
		return "number"
	}
	return "value"
}
