package rules

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"precis/summarize/envelope"
	"precis/summarize/lex"
	"precis/summarize/rules/call"
	"precis/summarize/rules/listing"
	"precis/summarize/rules/page"
	"precis/summarize/rules/records"
	"precis/summarize/rules/words"
	"precis/summarize/shell"
	"precis/summarize/verdict"
)

func (f *facts) command(args call.Arguments, doc *document) {
	if args.Command() != "" {
		f.asked(args)
	}
	if f.add("Running", doc.running); args.Command() == "" { // behind it: a call without a command is told by its arguments
		f.asked(args)
	}
	f.add("Exit", f.exit)
	f.add("Tests", tests(f.ended.Tests))
	if !filtered.MatchString(args.Command()) {
		f.add("Packages", doc.packages(f.ended.Verdict))
	}
	if len(doc.changes) > 0 {
		f.add("Diff", doc.changedInAll())
	}
	output := lex.Counted(doc.total, "line")
	if doc.capped != "" {
		output = doc.capped + " " + output
	}
	f.add("Output", output)
	f.note("output_lines", doc.total)
}

// changesDir is how shells of agents begin most commands; what is run then says more, and the call has it all.
var changesDir = regexp.MustCompile(`^\s*cd (?:"[^"]*"|'[^']*'|[^\s;&|]+)\s*(?:&&|;)\s*`)

// asked returns the request: the command, else the other arguments.
func (f *facts) asked(args call.Arguments) {
	command := cmp.Or(args.Typed(), args.Command())
	if command == "" {
		name, text := args.Brief()
		f.add(name, lex.Clip(text, maxCommand))
		return
	}
	f.add("Command", clipCommand(lex.OneLine(changesDir.ReplaceAllString(command, "")), maxCommand))
	f.note("command", command)
}

func (f *facts) write(args call.Arguments, doc *document) {
	if path := cmp.Or(args.Path(), doc.namedPath()); path != "" {
		f.add("File", clipLeft(lex.OneLine(path), maxPath))
		f.note("path", path)
	} else {
		f.asked(args)
	}
	f.add("Output", lex.Counted(doc.total, "line"))
	f.note("output_lines", doc.total)
}

// filtered matches a command of whose output another program may print a part.
var filtered = regexp.MustCompile(`(?:^|[^|])\|&?\s*(?:[^|&\st]|t[^e])`)

// ofPackage matches the line that Go's test runner ends a package with.
var ofPackage = regexp.MustCompile(`^(ok|FAIL|\?) +([\w./-]+) +(?:\(cached\)|[\d.]+s\b|\[(?:no test|no statements|build failed|setup failed))`)

// packages sums up what Go's test runner, which does not, says of each package: "22 ok, 3 untested". It is empty for an output of which a part is
// missing, or of several runs, and if packages failed in what was read with success.
func (d *document) packages(ended verdict.Verdict) string {
	const least = 3
	counts, seen := map[string]int{}, map[string]bool{}
	for i := range d.lines {
		m := ofPackage.FindStringSubmatch(d.lines[i].text)
		if m == nil {
			continue
		}
		if seen[m[2]] {
			return ""
		}
		seen[m[2]] = true
		counts[m[1]]++
	}
	if len(seen) < least || counts["FAIL"] > 0 && ended == verdict.Success || d.cutOff || d.partly || d.middleCut || d.running != "" {
		return ""
	}
	var list []string
	for _, sign := range []string{"FAIL", "ok", "?"} {
		if n := counts[sign]; n > 0 {
			list = append(list, itoa(n)+" "+map[string]string{"FAIL": "failed", "ok": "ok", "?": "untested"}[sign])
		}
	}
	return strings.Join(list, ", ")
}

// tests is what a test runner sums up: "12 passed, 1 failed".
func tests(t verdict.Tally) string {
	var counts []string
	if t.HasPassed {
		counts = append(counts, itoa(t.Passed)+" passed")
	}
	if t.HasFailed {
		counts = append(counts, itoa(t.Failed)+" failed")
	}
	if t.Errors > 0 {
		counts = append(counts, lex.Counted(t.Errors, "error"))
	}
	return strings.Join(counts, ", ")
}

func (f *facts) listing(args call.Arguments, doc *document) {
	if pattern := args.Pattern(); pattern != "" {
		f.add("Pattern", `"`+lex.Clip(lex.OneLine(pattern), maxPattern)+`"`)
		f.note("pattern", pattern)
	}
	if path := args.Path(); path != "" {
		f.add("Path", clipLeft(lex.OneLine(path), maxPath))
		f.note("path", path)
	} else if args.Pattern() == "" {
		f.asked(args)
	}
	kinds, entries := doc.kinds()
	if total, in, ok := doc.sumOfCounts(); ok && len(in) == 0 && countsOnly(args) {
		kinds, entries = "", total
	}
	if listsAlone(args) {
		f.add("Entries", doc.atLeast(entries))
	} else { // lines of other commands are none
		kinds = ""
		f.add("Output", lex.Counted(doc.total, "line"))
	}
	if strings.Contains(kinds, ", ") { // the pattern says what all of them are
		f.add("Kinds", kinds)
	}
	f.note("entries", entries)
	if entries == 0 {
		f.nothing()
	}
}

// listsAlone reports whether no other command of the call prints more than a heading beside its listings. The first one that prints is what the
// output was recognized by.
func listsAlone(args call.Arguments) bool {
	first := true
	return !slices.ContainsFunc(shell.Steps(args.Command()), func(step shell.Step) bool {
		name := programOf(strings.Join(step.Words, " "))
		if step.Op == "|" || name == "" || quietPrograms[name] || commandCategories[name] == DirectoryListing {
			return false
		}
		other := !first
		first = false
		return other || commandCategories[name] == FileContent
	})
}

// quietPrograms print a line at most.
var quietPrograms = map[string]bool{
	"cd": true, "echo": true, "printf": true, "true": true, ":": true, "export": true, "set": true, "pwd": true, "mkdir": true, "test": true, "[": true, "sleep": true,
	"rm": true, "cp": true, "mv": true, "touch": true, "which": true, "for": true, "do": true, "done": true, "if": true, "then": true, "fi": true, "else": true, "exit": true, "wc": true,
}

// treeTotal is tree's last line, "16 directories, 11 files".
var treeTotal = regexp.MustCompile(`^\d+ director(?:y|ies)(?:, \d+ files?)?$`)

// treeBranch is in each entry of a drawn tree.
const treeBranch = "── "

// listingFailed matches what such a program says of a directory that it can't read.
var listingFailed = regexp.MustCompile(`^(?:find|ls|fd|tree|du|bfs|gfind|rg): .*: |^\[fd error\]`)

// kinds counts a listing's entries by extension: "12 .go, 3 .md, 2 directories".
func (d *document) kinds() (text string, entries int) {
	count := map[string]int{}
	headed := len(d.lines) > 0 && strings.HasSuffix(d.lines[0].text, ":") // ls names each of several directories
	drawn := slices.ContainsFunc(d.lines, func(l line) bool { return strings.Contains(l.text, treeBranch) })
	for i := range d.lines {
		l := &d.lines[i]
		if drawn && !strings.Contains(l.text, treeBranch) || listingFailed.MatchString(l.text) { // a tree's root is what was asked for
			continue
		}
		if l.text == "" || headed && strings.HasSuffix(l.text, ":") || !l.starts || foundNothing(l.text) || listing.NoEntry.MatchString(l.text) || strings.HasSuffix(l.text, " .") || strings.HasSuffix(l.text, " ..") || lex.IsDigit(l.text[0]) && treeTotal.MatchString(l.text) {
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
	if strings.HasSuffix(name, "/") || entry[0] == 'd' && len(strings.Fields(entry)) > 6 || strings.HasPrefix(entry, "d----") || strings.Contains(entry, " <DIR> ") {
		return "directories"
	}
	base := name[strings.LastIndexByte(name, '/')+1:]
	if dot := strings.LastIndexByte(base, '.'); dot > 0 && len(base)-dot <= 8 && strings.ContainsFunc(base[dot:], unicode.IsLetter) {
		return base[dot:]
	}
	return ""
}

func (f *facts) search(args call.Arguments, doc *document) {
	if pattern := args.Pattern(); pattern != "" {
		f.add("Pattern", `"`+lex.Clip(lex.OneLine(pattern), maxPattern)+`"`)
		f.note("pattern", pattern)
	} else {
		f.asked(args)
	}
	matches, files := doc.found()
	total, in, counted := doc.sumOfCounts()
	counted = counted && countsOnly(args) && !(countLines.MatchString(args.Command()) && namesFiles.MatchString(args.Command()))
	if counted {
		matches, files = total, in
	}
	alone := searchesAlone(args)
	switch {
	case !counted && countsOnly(args):
		f.add("Output", lex.Counted(doc.total, "line")) // numbers of several commands
	case matches == len(files) && matches > 0 && doc.shape != shapeMatches && !counted: // only the files are named
	case doc.shape == shapePlain && showsContext(args), !alone:
		f.add("Output", lex.Counted(doc.total, "line")) // nothing tells matches from the lines around them, or of another command
	default:
		f.add("Matches", doc.atLeast(matches))
	}
	if alone {
		f.note("match_count", matches)
		f.note("file_count", len(files))
	}
	if len(files) > 0 {
		f.add("Files", itoa(len(files)))
		f.add("Top files", quoted(strings.Join(files[:min(3, len(files))], ", "), maxNote))
	}
	if matches == 0 {
		f.nothing()
	}
}

// searchesAlone reports whether no other command of the call prints lines beside its searches.
func searchesAlone(args call.Arguments) bool {
	return !slices.ContainsFunc(shell.Steps(args.Command()), func(step shell.Step) bool {
		name := programOf(strings.Join(step.Words, " "))
		category, known := commandCategories[name]
		return step.Op != "|" && (known && category != SearchResults || strings.HasPrefix(name, "git ") && name != "git grep")
	})
}

// sumOfCounts reads what a search prints that only counts: "src/a.py:3", "15". Several numbers without files are those of several commands.
func (d *document) sumOfCounts() (total int, files []string, ok bool) {
	numbers := 0
	for i := range d.lines {
		text := d.lines[i].text
		if text == "" || searchRemark.MatchString(text) {
			continue
		}
		at := strings.LastIndexByte(text, ':')
		n, err := strconv.Atoi(strings.TrimSpace(text[at+1:]))
		if err != nil || n < 0 {
			return 0, nil, false
		}
		total, numbers = total+n, numbers+1
		if at > 0 && n > 0 {
			files = append(files, text[:at])
		}
		if at < 0 && numbers > 1 {
			return 0, nil, false
		}
	}
	return total, files, numbers > 0
}

// countsOnly reports whether a search prints how many it found, and not what: grep -c, a pipe into wc.
func countsOnly(args call.Arguments) bool {
	return args.Text("output_mode") == "count" || countFlag.MatchString(args.Command()) || countLines.MatchString(args.Command())
}

var (
	countFlag  = regexp.MustCompile(`\b(?:grep|rg)\s(?:[^|;&]*\s)?(?:-[a-zA-Z]*c[a-zA-Z]*|--count(?:-matches)?)(?:\s|$)`)
	countLines = regexp.MustCompile(`\|\s*wc -l\s*$`)
	namesFiles = regexp.MustCompile(`\s(?:-[a-zA-Z]*l[a-zA-Z]*|--files\S*)\s.*\|`)
	// searchRemark matches what a search says beside its matches: "Found 3 files", the lines of rg --stats.
	searchRemark = regexp.MustCompile(`^(?:Found \d+ (?:total |match|file|result|line|occurrence).*|\d+ (?:matches|matched lines|files contained matches|files searched|bytes printed|bytes searched)|\d+\.\d+ seconds.*)$`)
)

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
func showsContext(args call.Arguments) bool {
	return contextFlag.MatchString(args.Command()) || args.Text("-A", "-B", "-C") != ""
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
		case l.text != "" && (lex.IsDigit(l.text[0]) && l.number == 0 || l.text[0] == 'F') && searchRemark.MatchString(l.text):
			continue
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

func (f *facts) web(args call.Arguments, doc *document) {
	if url := args.Url(); url != "" {
		f.add("URL", lex.Clip(lex.OneLine(url), maxPath))
		f.note("url", url)
	}
	if query := args.Text("query", "q", "search_query", "search_term"); query != "" {
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
		if _, text := args.Brief(); args.Command() != "" || args.Url() == "" || text != lex.OneLine(args.Url()) {
			f.asked(args)
		}
		if address := doc.address(); args.Url() == "" && address != "" {
			f.add("URL", clipLeft(lex.OneLine(address), longestAddress))
			f.note("url", address)
		}
	}
	if links > 0 {
		f.add("Links", itoa(links))
	}
	f.note("headings", headings)
	f.note("links", links)
	f.add("Lines", itoa(doc.total))
	f.note("lines", doc.total)
}

// longestAddress bounds the path of a page in the header, in code points.
const longestAddress = 32

// searchFailed returns the line by which a search says that it found no pages: what follows is from the model's memory.
func (d *document) searchFailed() int {
	const first = 6
	for i := range d.lines[:min(len(d.lines), first)] {
		if webError.MatchString(d.lines[i].text) {
			return i
		}
	}
	return words.None
}

var webError = regexp.MustCompile(`^(?i:web ?search|search|fetch|request) (?:error|failed): ?\S`)

// snapshot finds the page's title in a browser driver's output.
func (d *document) snapshot() {
	for _, l := range d.lines[:min(len(d.lines), sampled)] {
		if title, ok := strings.CutPrefix(l.text, "- Page Title: "); ok && d.title == "" {
			d.title = title
		}
		if e, ok := page.ElementIn(l.text); ok && d.shape == shapeSnapshot && e.Role == "RootWebArea" && d.title == "" {
			d.title = e.Name // what a browser calls the page, beside its tabs
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
			if e, ok := page.ElementIn(l.text); ok && l.starts && e.Role == "link" {
				links += 1 + l.repeat
			}
		} else if !d.rendered {
			links += markdownLinks(l.text) // an address alone is no link
		}
	}
	links += d.links
	if d.title != "" {
		title = d.title
	}
	return title, headings, links
}

// markdownLinks counts the links of a line, `[text](address)`; an image, `![text](address)`, is none, but may be what one is about.
func markdownLinks(text string) (n int) {
	for at := 0; ; {
		i := strings.Index(text[at:], "](")
		if i < 0 {
			return n
		}
		at += i + len("](")
		open, depth := at-len("]("), 0
		for open--; open >= 0; open-- {
			if text[open] == ']' {
				depth++
			} else if text[open] == '[' {
				if depth == 0 {
					break
				}
				depth--
			}
		}
		if open <= 0 || text[open-1] != '!' {
			n++
		}
	}
}

func (f *facts) data(in Input, args call.Arguments, doc *document) {
	f.asked(args)
	f.add("Exit", f.exit)
	s := records.Outline(in.Content)
	f.add("Shape", s.Shape())
	s.Keys = slices.DeleteFunc(s.Keys, func(key string) bool { return slices.Contains(in.Drop, key) })
	if len(s.Keys) > 0 {
		f.add("Keys", quoted(strings.Join(s.Keys, ", "), records.MostKeys*maxCommand))
		f.note("keys", strings.Join(s.Keys, ", "))
	}
	if s.Items > 0 {
		f.note("items", s.Items)
	}
	f.add("Lines", itoa(doc.total))
	f.note("lines", doc.total)
}

// Seed 2's extractors for TypeScript and JavaScript, and equivalents for other languages.
var (
	exportLine = regexp.MustCompile(`^export\s+(?:default\s+)?(?:async\s+)?(?:abstract\s+)?(?:const|let|var|function\*?|class|interface|type|enum)\s+(\w+)`)
	importLine = regexp.MustCompile(`^(?:import\s|from\s+\S+\s+import\s|use\s+[\w:]+|#include\s|const\s+.*=\s*require\(|require(?:_once)?[\s(])`)
)

// inBlock matches an import in a block of Go's.
var inBlock = regexp.MustCompile(`^(?:[\w.]+ +)?"[^"]+"`)

// mayImport is a cheap pretest for importLine.
func mayImport(text string) bool {
	switch text[0] {
	case 'i':
		return strings.HasPrefix(text, "import")
	case 'f':
		return strings.HasPrefix(text, "from") && strings.Contains(text, "import")
	case 'u':
		return strings.HasPrefix(text, "use")
	case '#':
		return strings.HasPrefix(text, "#include")
	case 'c':
		return strings.HasPrefix(text, "const") && strings.Contains(text, "require(")
	case 'r':
		return strings.HasPrefix(text, "require")
	}
	return false
}

func (f *facts) file(args call.Arguments, doc *document) {
	path, _ := args.Shown()
	if path == "" {
		path = doc.namedPath()
	}
	if path != "" {
		f.note("path", path)
		extent, list := call.ExtentOf(doc.parts), args.Parts()
		switch {
		case doc.middleCut:
			extent = doc.extent()
		case extent != "":
		case endOf(list, doc.total) != "":
			extent = endOf(list, doc.total)
		default:
			extent = doc.extent()
			if asked := lex.Atoi(args.Text("limit", "max_lines", "num_lines", "line_count")); asked > 0 && extent == itoa(asked) {
				extent = "first " + extent
			}
		}
		f.add("File", clipLeft(lex.OneLine(path), maxPath))
		if revision := args.Revision(); revision != "" { // it is not what is there now
			f.wide = true
			extent += " at " + clipRevision(revision)
			f.note("revision", revision)
		}
		switch {
		case doc.countless(): // the lines that are left are not the file's number
		case doc.shape != shapeNumbered && partOf.MatchString(extent):
			f.add("Part", extent) // of a file whose lines have no numbers here
		default:
			f.add("Lines", extent)
		}
	} else if names := filesOf(args.Parts()); len(names) > 1 {
		f.wide = true
		f.add("Files", quoted(fittingNames(names, maxFiles), maxCommand))
		f.note("files", strings.Join(names, ", "))
		f.note("lines", doc.total)
		return
	} else {
		f.asked(args)
		f.add("Output", lex.Counted(doc.total, "line"))
	}
	if !doc.countless() {
		f.note("lines", doc.total)
	}
	if doc.shape == shapeJSON || doc.shape == shapeNumbered && words.FileType(path) == "JSON" {
		f.arrays(doc)
	}
	if kind := words.FileType(path); kind != "" {
		f.add("Type", kind)
		f.note("type", kind)
	}
	f.modules(doc)
}

// endOf returns which lines of one file are shown if they are all that was asked for of its beginning or its end: `last 50`. What is printed beside
// them is none of its lines. Empty if there are other files, or fewer lines.
func endOf(list []call.Part, total int) string {
	var of *call.Part
	for i := range list {
		p := &list[i]
		switch {
		case p.Path == "" && p.Size() > 0:
			total -= p.Size()
		case p.Path == "" || of != nil:
			return ""
		default:
			of = p
		}
	}
	switch {
	case of == nil || total <= 0:
	case of.Last > 0 && total == of.Last:
		return "last " + itoa(total)
	case of.Last > 0 && total < of.Last && len(list) > 1:
		return itoa(total) // the file has no more
	case of.From == 1 && total == of.To:
		return "first " + itoa(total)
	}
	return ""
}

// countless reports whether a shell has cut an output at a place that no line tells.
func (d *document) countless() bool {
	return d.shortened && !d.middleCut && d.shape != shapeNumbered
}

// partOf matches the extent of a part.
var partOf = regexp.MustCompile(`^\d+-\d`)

// filesOf returns the short names of the files that parts are of.
func filesOf(list []call.Part) (names []string) {
	var paths []string
	for _, p := range list {
		if name := p.Name(list); p.Path != "" && !slices.Contains(paths, name) {
			paths = append(paths, name)
		}
	}
	for _, name := range shortNames(paths) {
		names = append(names, lex.OneLine(name))
	}
	return names
}

// maxFiles is how much of the names of several files is told, in code points.
const maxFiles = 44

// fittingNames joins names, as many as fit: `a.go, b.go +3`.
func fittingNames(names []string, room int) string {
	text := names[0]
	for i, name := range names[1:] {
		if left := len(names) - i - 1; lex.Runes(text)+lex.Runes(name)+len(", +99") > room {
			return text + " +" + itoa(left)
		}
		text += ", " + name
	}
	return text
}

// clipRevision shortens the name of a revision, and a hash as git does.
func clipRevision(revision string) string {
	const longest, whole, short = 20, 40, 8
	if len(revision) == whole && strings.Trim(revision, "0123456789abcdef") == "" {
		return revision[:short]
	}
	return quoted(clipLeft(lex.OneLine(revision), longest), longest)
}

// arrays states the largest array of objects in a file of JSON, if it is the only member of its name: else the number would be read as that of all.
func (f *facts) arrays(doc *document) {
	text := doc.source
	if doc.shape == shapeNumbered {
		text = unnumbered(text, "{[")
	}
	if v := jsontext.Value(strings.TrimSpace(text)); v.IsValid(envelope.Lenient) {
		if a := records.LargestArray(v, 0); a.Name != "" && len(a.Elements) > 1 && onlyMember(text, a.Name) {
			f.wide = true
			f.add("Records", lex.Thousands(len(a.Elements))+" in "+lex.Clip(lex.OneLine(a.Name), maxCommand/2))
		}
	}
}

// onlyMember reports whether no two members in a text of JSON have a name.
func onlyMember(text, name string) bool {
	parts := strings.Split(text, strconv.Quote(name))
	found := 0
	for _, rest := range parts[1:] {
		if strings.HasPrefix(strings.TrimLeft(rest, " \t\r\n"), ":") {
			found++
		}
	}
	return found <= 1
}

// modules counts imports and names the first five exports.
func (f *facts) modules(doc *document) {
	var exports []string
	imports := 0
	block := false // Go's imports, one to a line
	for i := range doc.lines {
		l := &doc.lines[i]
		switch {
		case l.text == "import (":
			block = true
			continue
		case block && strings.HasPrefix(l.text, ")"):
			block = false
		case block && inBlock.MatchString(l.text):
			imports++
		}
		if block || len(l.text) < 4 || len(l.text) > 400 {
			continue
		}
		if strings.HasPrefix(l.text, "export") {
			if m := exportLine.FindStringSubmatch(l.text); m != nil {
				exports = append(exports, m[1])
			}
		} else if mayImport(l.text) && importLine.MatchString(l.text) {
			imports++
		}
	}
	f.note("has_exports", len(exports) > 0)
	f.note("has_imports", imports > 0)
	if len(exports) > 0 {
		f.add("Exports", strings.Join(exports[:min(5, len(exports))], ", "))
	}
	if imports > 0 {
		f.add("Imports", lex.Counted(imports, "module"))
	}
}

// namedPath returns the path that a viewer prints above a file ("[File: /a/b.py (1997 lines total)]").
func (d *document) namedPath() string {
	const first = 12
	for _, l := range d.lines[:min(first, len(d.lines))] {
		if rest, ok := strings.CutPrefix(l.text, "[File: "); ok {
			path, _, _ := strings.Cut(rest, " ")
			return strings.TrimRight(path, "]")
		}
	}
	return ""
}

// extent returns the number of lines, with their range if the view begins further down.
func (d *document) extent() string {
	first, last, n := 0, 0, 0
	for i := range d.lines {
		l := &d.lines[i]
		if l.number == 0 || !l.starts {
			continue
		}
		if first == 0 {
			first = l.number
		}
		last = l.number
		n++
	}
	if d.middleCut {
		return itoa(d.total-1) + " of more"
	}
	if first <= 1 && (last == 0 || d.dotted) {
		if d.goesOn != "" {
			return "first " + itoa(d.total) + d.goesOn
		}
		return itoa(d.total)
	}
	all := d.stated()
	switch {
	case all > last:
		return itoa(first) + "-" + itoa(last) + " of " + itoa(all)
	case d.goesOn != "":
		return itoa(max(first, 1)) + "-" + itoa(last) + d.goesOn
	case first <= 1:
		return itoa(last)
	}
	return itoa(first) + "-" + itoa(last)
}

var linesTotal = regexp.MustCompile(`\((\d{1,8}) lines total\)`)

// stated returns a viewer's statement of how many lines the file has; 0 if none.
func (d *document) stated() int {
	for _, l := range d.lines[:min(3, len(d.lines))] {
		if m := linesTotal.FindStringSubmatch(l.text); m != nil {
			return lex.Atoi(m[1])
		}
	}
	return 0
}

func itoa(n int) string { return strconv.Itoa(n) }
