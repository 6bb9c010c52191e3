package rules

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"precis/events"
	"precis/summarize/lex"
	"precis/summarize/rules/call"
	"precis/summarize/rules/clean"
	"precis/summarize/rules/logs"
	"precis/summarize/rules/outline"
	"precis/summarize/rules/page"
	"precis/summarize/rules/words"
	"precis/summarize/shell"
)

// line is one line of a source, in the form in which it may be shown.
type line struct {
	text     string // without its number, path and indentation
	number   int    // in its file; 0: unknown
	at       int    // where it is to be found: its number in its file, else in the output; 0: in one of several files
	group    int    // index into document.groups (the file of a match); -1: none
	repeat   int    // how many equal lines after it are not shown
	frag     bool   // a part of a longer line
	starts   bool   // the first part of its line
	kind     outline.Kind
	declares bool    // begins a declaration
	context  bool    // surrounds a match
	indent   int     // columns
	mark     int     // of a landmark: how much of it is shown, in bytes
	alike    int32   // how many lines differ from it only in digits
	record   uint8   // its part of a structured log's record
	stamped  bool    // its beginning is omitted: a time, or a prefix common to all lines of a log
	located  bool    // a compiler's message: its place was in front
	columns  bool    // separated by tabs: the first says what the row is about
	heads    bool    // a linter's heading, with the file of the messages below it
	favour   float32 // the factor on its worth; 0: none
	aside    bool    // it says nothing without the lines around it: it is shown with all of them, or not
	around   bool    // it is around a change: it may be shown behind one
	piece    int32   // of a diff: which of its hunks the line is of, by number; 0: it neither changed nor is around a change
	altered  bool    // its source contains control sequences other than colours, so that it differs from the shown text
}

// dull reports whether a line says nothing that a reader looks for.
func (l *line) dull() bool { return l.favour > 0 && l.favour <= dullWorth }

// document is a cleaned source, split into lines.
type document struct {
	source     string // cleaned, without what an agent's program added
	altered    []bool // by number: the lines that cleaning changed; may be nil
	shape      shape
	lines      []line
	groups     []string
	grouped    map[string]int
	under      int               // the group of the lines to come, in a diff or below a file's name; none
	headed     bool              // matches stand below their file's name
	files      bool              // files are printed one after another, each below its name
	ruled      bool              // parts stand below headings between rules: an editor's versions of a file (edits.go)
	parts      []call.Part       // of files, which are printed one after another
	several    bool              // of more than one file
	unsure     bool              // it may have lines that are not those that the call asked for
	part       int               // the one of the line to come
	partLine   int               // how many of its lines have been; in a numbered view, the number of the last one
	counted    bool              // line numbers are those that the call asked for: the output has none
	log        bool              // lines that programs wrote while they ran, as a command prints them or a file has them
	screen     bool              // what a terminal shows
	around     bool              // lines around matches are among them
	dotted     bool              // "12. text"
	bare       bool              // matches have no line number
	changes    []change          // of a diff, by group
	diffCut    bool              // and lines of it are missing
	hits       []int             // of a search, by group
	hunk       hunk              // of a diff: where in its file it is
	pieces     int32             // and how many hunks there are so far
	old        string            // the path behind `---` in the line above
	oldAt      int               // and where that line is
	running    string            // the id of a process that goes on
	title      string            // of an HTML page
	rendered   bool              // lines are the texts of an HTML page, without its tags
	links      int               // of such a page
	dropped    int               // noise lines, not in lines
	total      int               // lines of the source
	elements   map[string]bool   // of an accessibility tree: the roles and names so far
	actedOn    map[string]bool   // the words of the call's arguments, among them the ids of elements
	chrome     int               // of a page: the indentation of the navigation that lines are in; none
	before     bool              // and its main part is to come
	named      string            // and the name of the last element that has one
	parents    []parent          // and the elements that lines are in, those with a name on which a user acts, and headings
	alert      int               // and the indentation of the message that lines are in; none
	landmarks  []landmark        // what to look for first
	partly     bool              // and there are more of them
	resumes    int               // the line behind the skipped middle; 0: nothing is skipped
	wrapped    bool              // an agent's program added text to the source
	goesOn     string            // what the range of its lines is followed by if the file goes on
	cutOff     bool              // and says that it shows a part of it
	capped     string            // "first" or "last", if a filter at the end of the command has let no more lines through
	shortened  bool              // the shell says in front of the output that it has cut it
	middleCut  bool              // a line says that the middle of the file is missing: the numbers of those behind it are unknown
	chars      int               // code points of the source, before cleaning
	prefix     string            // common to all lines of a log
	noisy      bool              // may hold progress noise
	endFirst   bool              // its end is more informative than its beginning
	relevant   *events.LineRange // may be nil
	pointedAt  map[int]bool      // the numbers of lines that the newest messages name
	asked      []float64         // by line: its worth for what the newest talk names; may be nil
	listing    bool              // names of files and directories, one per line
	placed     bool              // its lines have their numbers in one file: what they don't show is named between them
	unrecorded int               // characters of its records that their table has no row for
	tabled     bool              // it is a table in columns (package columns), and sketched as one
	steps      bool              // and are statements of code
	question   map[string]bool   // the words of what the agent was asked whose report it is
	commits    bool              // it is a list of commits, one to a line, the newest first
	prose      bool              // text for people, as opposed to code or data
	literal    bool              // an edit takes its old text from its lines: the blanks in them stay
	digest     bool              // and a document (digest.go)
	anyRule    bool              // any sign may underline a heading
	above      []int32           // by line: the one that opens the block it is in, if that has to be shown with it; may be nil
	items      []int32           // by line: the head of the outermost item of a list that it is in, if that has to be shown too; may be nil
	itemOf     []int32           // of a page, by line: the innermost item of a list that it is in; may be nil
	titles     map[int32]int32   // by item: the line with its title
	nested     bool              // what a line is of is told by the line that it is indented below
}

// maxLines bounds how much of a source is weighed; the middle of a longer one is skipped
// (and counted as omitted).
const maxLines = 30000

func newDocument(content string, category Category, args call.Arguments) document {
	text := clean.Clean(content)
	altered := alteredLines(content, text)
	d := document{altered: altered, shape: shapeOf(text), under: words.None, anyRule: anyRule(category, args), endFirst: category == CommandOutput,
		noisy: category == CommandOutput || category == Other}
	d.prose, d.digest = isProse(category, args, text)
	d.literal = category == FileContent && d.prose == d.digest || category == SearchResults || category == WriteResult
	d.listing = category == DirectoryListing || d.shape == shapePaths
	if d.shape == shapePlain && looksDiff(text, category) {
		d.shape = shapeDiff
	}
	if d.shape == shapeNumbered {
		if patch := unnumbered(text, "dF-"); patch != "" && looksDiff(patch, category) {
			d.shape, text = shapeDiff, patch
		}
	}
	if category == SearchResults && looksHeaded(text) {
		d.shape, d.headed = shapeMatches, true
	}
	if category == SearchResults && d.shape == shapePlain && looksNumbered(text) {
		d.shape = shapeOneFile
	}
	if category == SearchResults && d.shape == shapePlain && looksBare(text) {
		d.shape, d.bare = shapeMatches, true
	}
	if category == FileContent && d.shape == shapePlain {
		if numbered, ok := undotted(text); ok {
			d.shape, d.dotted, text = shapeNumbered, true, numbered
		}
	}
	if d.shape == shapePlain && (category == WebContent || category == Other) && looksSnapshot(text) {
		d.shape, d.prose, d.nested, d.actedOn = shapeSnapshot, false, true, args.Words()
		d.chrome, d.alert, d.before = words.None, words.None, page.MainPart.MatchString(text)
	}
	if d.shape == shapeHTML && category != FileContent {
		d.addHTML(text)
		return d
	}
	d.digest = d.digest && (d.shape == shapePlain || d.shape == shapeNumbered)
	if category == FileContent {
		d.divide(args.Parts(), text)
	}
	if path, _ := args.Shown(); d.shape == shapePlain && path == "" && len(d.parts) == 0 && (category == CommandOutput || category == FileContent) {
		d.files = printsFiles(text)
	}
	d.ruled = category == WriteResult && showsVersions(text)
	d.nested = d.nested || yamlKey.MatchString(text) && len(yamlKey.FindAllString(text, leastKeys)) == leastKeys && !strings.Contains(text, ";\n")
	if d.log = (d.shape == shapePlain || d.shape == shapeNumbered) && (category == FileContent || category == CommandOutput) && isLog(args, text); d.log && category == FileContent {
		d.noisy, d.endFirst, d.prose, d.digest, d.literal = true, true, false, false, false
	}
	d.screen = category == CommandOutput && d.shape == shapePlain && isScreen(args, text)
	number := firstLine(category, args)
	if d.unsure {
		number = 0
	}
	if d.noisy && d.shape == shapePlain {
		d.prefix = logs.LogPrefix(text)
	}
	number, text = d.unwrapped(text, number)
	head, middle, tail := middleOut(text)
	d.lines = slices.Grow(d.lines, strings.Count(head, "\n")+strings.Count(tail, "\n")+(len(head)+len(tail))/longest+2)
	number = d.addAll(head, number)
	if tail != "" {
		d.pass(middle)
		between := strings.Count(middle, "\n")
		d.total += between
		if number > 0 {
			number += between
		}
		d.resumes, d.partly = len(d.lines), true
		d.addAll(tail, number)
	}
	return d
}

// yamlKey matches an item of a list with a key, as YAML has it.
var yamlKey = regexp.MustCompile(`(?m)^(?: *\d+[→:|\t])? *- [\w-]+: \S.*\n(?: *\d+[→:|\t])? +[\w-]+:(?: \S.*)?$`)

// leastKeys tell YAML from other texts that have a list.
const leastKeys = 2

// unplaced takes the places of lines that no reader finds: those of an output that the original holds in JSON, of a file of which the call does
// not say where the output begins, and of what stands around a file with numbers. Numbers in a file stay.
func (d *document) unplaced() {
	for i := range d.lines {
		d.lines[i].at = 0
		if d.lines[i].group < 0 {
			d.lines[i].at = d.lines[i].number
		}
	}
}

// alteredLines returns which lines cleaning changed by more than their colours, by their 1-based numbers; nil if none: what a runner prints in
// colour is what matters most of what it says. Cleaning removes no line breaks.
func alteredLines(content, cleaned string) []bool {
	if len(content) == len(cleaned) {
		return nil
	}
	altered := make([]bool, 1, strings.Count(content, "\n")+2)
	for content != "" || cleaned != "" {
		was, restWas, _ := strings.Cut(content, "\n")
		is, restIs, _ := strings.Cut(cleaned, "\n")
		altered = append(altered, clean.Uncolored(strings.TrimSuffix(was, "\r")) != is)
		content, cleaned = restWas, restIs
	}
	return altered
}

// addAll adds every line of text, and returns the number after the last one.
func (d *document) addAll(text string, number int) int {
	for text != "" {
		raw, rest, _ := strings.Cut(text, "\n")
		text = rest
		d.total++
		before := len(d.lines)
		d.add(strings.TrimRight(raw, " \t"), number)
		if d.total < len(d.altered) && d.altered[d.total] {
			for i := before; i < len(d.lines); i++ {
				d.lines[i].altered = true
			}
		}
		if number > 0 {
			number++
		}
		if d.shape == shapePlain && number > 0 && text != "" && isMiddle(raw) {
			d.middleCut, number = true, 0
		}
	}
	return number
}

// isMiddle reports whether a line says that lines behind it are left out, or that lines within it are: `the end of o…2403 tokens truncated…ne line`.
func isMiddle(raw string) bool {
	return middleNote.MatchString(raw) || strings.Contains(raw, " truncated…") && middleWithin.MatchString(raw)
}

var middleWithin = regexp.MustCompile(`…\d[\d,]* (?:tokens|lines|chars|characters|bytes) truncated…`)

// saysMiddle reports whether a text has such a line.
func saysMiddle(text string) bool {
	for raw := range strings.Lines(text) {
		if isMiddle(strings.TrimRight(raw, "\n")) {
			return true
		}
	}
	return false
}

// middleNote is a line that a tool puts in the place of what it leaves out.
var middleNote = regexp.MustCompile(`(?i)^\s*(?:(?:\.{3}|…) ?[\[(<]?|[\[(<]) ?(?:\.+|…)? ?(?:(?:output|content|file|text|middle) (?:was |is )?truncated|(?:truncated|omitted|skipped) \d[\d,]* |` +
	`\d[\d,]* (?:more )?(?:lines?|chars?|characters|bytes|tokens) (?:truncated|omitted|skipped))[^"'` + "`" + `]{0,60}$`)

// pass reads lines that are skipped for what they say of the ones after them: their file, and how much of it changes.
func (d *document) pass(text string) {
	for raw := range strings.Lines(text) {
		l := line{text: strings.TrimRight(raw, " \t\n")}
		switch {
		case d.shape == shapeDiff:
			d.ofDiff(&l)
		case d.headed:
			d.underName(&l)
		case d.files:
			if path, ok := printedName(l.text); ok {
				d.under = d.group(path)
			}
		}
	}
}

// middleOut splits a text of too many lines into its first ones, those in between and the last ones.
func middleOut(text string) (head, middle, tail string) {
	if strings.Count(text, "\n") <= maxLines {
		return text, "", ""
	}
	first := 0
	for range maxLines / 2 {
		first += strings.IndexByte(text[first:], '\n') + 1
	}
	last := len(text)
	for range maxLines / 2 {
		last = strings.LastIndexByte(text[:last], '\n')
	}
	return text[:first], text[first : last+1], text[last+1:]
}

// wrapper is a line with which agents surround a file: <file path="a.ts">, <lines range="12-40">, a fence.
var wrapper = regexp.MustCompile(`^(?:<(?:file|files|file_content|content|contents|path|lines|document|source|code)\b[^<>]*>|` + "```" + `\w*)$`)

var wrapperRange = regexp.MustCompile(`\b(?:range|lines|start|start_line)="(\d{1,8})`)

// unwrapped returns a view's first number, after the wrapper lines, which have none.
func (d *document) unwrapped(text string, number int) (int, string) {
	for number > 0 {
		line, rest, ok := strings.Cut(text, "\n")
		if !ok || !wrapper.MatchString(line) {
			break
		}
		if m := wrapperRange.FindStringSubmatch(line); m != nil {
			number = lex.Atoi(m[1])
		}
		d.total++
		d.add(line, 0)
		text = rest
	}
	return number, text
}

// firstLine returns the number of a file view's first line if the view itself has none; 0 for other outputs.
func firstLine(category Category, args call.Arguments) int {
	if category != FileContent {
		return 0
	}
	_, from := args.Shown()
	return from
}

// cutRule cuts the horizontal rule behind a linter's heading.
func (l *line) cutRule() {
	if strings.HasSuffix(l.text, "********") { // Ansible's
		if heading := strings.TrimRight(l.text, "* "); heading != "" {
			l.text = heading
		}
		return
	}
	if !strings.HasSuffix(l.text, "━━━━━━━━") {
		return
	}
	if heading := strings.TrimRight(l.text, "━ "); heading != "" {
		l.text, l.heads = heading, isPath(strings.SplitN(strings.TrimPrefix(heading, "at "), " ", 2)[0])
	}
}

// squeeze notes how a line is set, and takes that out of it. Inside a literal line blanks stay, except in the rows of a table.
func (l *line) squeeze(literal bool) {
	l.indent = indentOf(l.text)
	l.text = strings.TrimSpace(l.text)
	l.columns = strings.Count(l.text, "\t") >= fewTabs
	if !literal || strings.HasPrefix(l.text, "|") {
		l.text = squash(l.text)
	}
}

// ofShape takes from a line what its document's shape puts beside its text; nothing is left of one that says where the next ones are.
func (d *document) ofShape(l *line, raw string) (nothing bool) {
	switch d.shape {
	case shapeNumbered:
		l.number = 0
		if n, text, ok := cutNumber(raw); ok {
			l.number, l.text = n, text
			if d.log {
				l.text = lex.CutStamp(text)
				l.stamped = len(l.text) < len(text)
			}
		} else if n := lex.Atoi(strings.TrimSpace(raw)); n > 0 && (len(d.lines) == 0 || n == d.lines[len(d.lines)-1].number+1) {
			l.number, l.text = n, "" // a blank line, whose separator is trimmed
		}
	case shapeDiff:
		return d.ofDiff(l)
	case shapeMatches:
		if d.headed {
			return d.underName(l)
		} else if path, n, text, ok := cutMatch(raw); ok {
			l.number, l.text, l.group = n, text, d.group(path)
			l.context = raw[len(path)] == '-'
			if _, end, ok := digitsThen(text, 0, ':'); ok && d.noisy && !l.context {
				l.text, l.located = text[end:], true
			}
		} else if path, text, ok := cutBare(raw); ok && d.bare {
			l.text, l.group = text, d.group(path)
		}
	case shapeOneFile:
		if n, text, ok := cutContext(raw); ok {
			l.number, l.text = n, text
			l.context = raw[digits(n)] == '-'
		}
	}
	return false
}

func (d *document) add(raw string, number int) {
	if raw == "--" && (d.shape == shapeMatches || d.shape == shapeOneFile) {
		return // grep's separator
	}
	if d.screen {
		raw = undrawn(raw)
	}
	l := line{text: raw, number: number, group: -1, starts: true}
	if d.noisy && d.shape == shapePlain {
		l.text = lex.CutStamp(strings.TrimPrefix(raw, d.prefix))
		l.stamped = len(l.text) < len(raw)
	}
	if d.ruled && d.underRule(&l) || cursorMark(raw) || d.ofShape(&l, raw) {
		return
	}
	if d.files {
		if path, ok := printedName(l.text); ok {
			d.under = d.group(path)
			return
		}
		l.group = d.under
	}
	if len(d.parts) > 1 && d.place(&l) {
		return
	}
	d.around = d.around || l.context
	if l.group < 0 {
		l.at = cmp.Or(l.number, d.total)
	}
	l.squeeze(d.literal || d.shape == shapeDiff)
	if d.ruled && l.group >= 0 {
		l.text, l.number = raw, 0 // a version differs in its indentation
		if _, rest, ok := cutNumber(raw); ok && strings.TrimSpace(rest) == "" || fileNote.MatchString(raw) {
			l.aside = true // the number of an empty line
		}
	}
	if d.shape == shapeDiff && l.around && strings.HasPrefix(raw, " ") {
		l.text = " " + l.text // what it begins with, such as the dash of a list, is no sign
	}
	if d.noisy {
		l.cutRule()
	}
	switch {
	case d.shape == shapeSnapshot:
		if d.ofElement(&l); page.IsGlyph(l.text) {
			d.dropped++
			return
		}
	case d.noisy && d.shape == shapePlain:
		if _, end := changedIn(l.text); end > 0 {
			l.text = l.text[:end]
		}
	}
	l.kind = outline.KindOf(l.text, d.shape == shapeDiff)
	l.declares = l.kind == outline.DeclarationLine && len(l.text) < longest/2
	if d.noisy && clean.IsNoise(l.text) || d.prose && strings.HasPrefix(l.text, toModel) {
		d.dropped++
		return
	}
	if d.collapse(l) {
		return
	}
	d.split(l)
}

// fewTabs is how many tabs make a line a row of a table.
const fewTabs = 3

// collapse counts a line that repeats the previous one.
func (d *document) collapse(l line) bool {
	if len(d.lines) == 0 {
		return false
	}
	last := &d.lines[len(d.lines)-1]
	if last.frag || last.text != l.text || last.group != l.group || l.number > 0 {
		return false
	}
	if l.text != "" { // blank lines need no count
		last.repeat++
	}
	return true
}

// group returns the index of a match's file.
func (d *document) group(path string) int {
	if i, ok := d.grouped[path]; ok {
		return i
	}
	if d.grouped == nil {
		d.grouped = map[string]int{}
	}
	i := words.None
	if d.shape == shapeMatches && !d.headed {
		i = d.sameFile(path)
	}
	if i < 0 {
		i = len(d.groups)
		d.groups = append(d.groups, path)
	}
	d.grouped[path] = i
	return i
}

// sameFile finds a recent file with a longer or a shorter path (searches print context lines with one
// and matches with the other); the shorter one is kept. -1 is none.
func (d *document) sameFile(path string) int {
	for i := len(d.groups) - 1; i >= max(0, len(d.groups)-8); i-- {
		switch g := d.groups[i]; {
		case strings.HasSuffix(path, "/"+g):
			return i
		case strings.HasSuffix(g, "/"+path):
			d.groups[i] = path
			return i
		}
	}
	return -1
}

// isProse reports whether the text is written for people, and whether it is a document, which is shown as a digest (digest.go).
func isProse(category Category, args call.Arguments, text string) (prose, digest bool) {
	path, _ := args.Shown()
	switch kind := words.FileType(path); {
	case category == WebContent || category == Other:
		return true, false
	case category != FileContent:
		return false, false
	case path == "": // several files
		prose = strings.Count(text, "\n## ") >= leastHeadings
		return prose, prose && isDocument(text)
	case kind == "text":
		return true, false
	default:
		digest = kind == "Markdown" || kind == "reStructuredText" || kind == "AsciiDoc" || kind == "LaTeX"
	}
	return digest, digest
}

// anyRule reports whether any sign may underline a heading: in Markdown, `~~~~` is a fence.
func anyRule(category Category, args call.Arguments) bool {
	path, _ := args.Shown()
	switch words.FileType(path) {
	case "reStructuredText", "AsciiDoc", "text":
		return category == FileContent
	}
	return false
}

// leastHeadings tell that files shown together are documents.
const leastHeadings = 3

// squash folds runs of white space inside a line into one space: columns and tables are wider than their content.
func squash(s string) string {
	if !squashable(s) {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		size, space := 1, blank[s[i]]
		if s[i] >= utf8.RuneSelf {
			var r rune
			r, size = utf8.DecodeRuneInString(s[i:])
			space = unicode.IsSpace(r)
		}
		if !space {
			out = append(out, s[i:i+size]...)
		} else if len(out) > 0 && out[len(out)-1] != ' ' {
			out = append(out, ' ')
		}
		i += size
	}
	return strings.TrimSuffix(string(out), " ")
}

// squashable finds a tab, or a run of spaces.
func squashable(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] == '\t' || s[i] == ' ' && i+1 < len(s) && s[i+1] == ' ' {
			return true
		}
	}
	return false
}

// blank is ASCII white space.
var blank = lex.SetOf(" \t\n\v\f\r")

// deepestIndent bounds what is counted of an indentation.
const deepestIndent = 200

// indentOf counts columns of indentation; a tab is four.
func indentOf(s string) int {
	n := 0
	for i := 0; i < len(s) && n < deepestIndent; i++ {
		if s[i] == '\t' {
			n += 4
		} else if s[i] == ' ' {
			n++
		} else {
			break
		}
	}
	return n
}

// listedCommit matches a commit in a list, `git log --oneline`, also beside the lines of a graph.
var listedCommit = regexp.MustCompile(`^[*|\\/_ ]*[0-9a-f]{7,12} (?:\([^)]*\) )?\S`)

// quietSteps print nothing in a commit's or a watcher's form, and run nothing again.
var quietSteps = map[string]bool{"cd": true, "echo": true, "export": true, "grep": true, "head": true, "printf": true, "set": true, "sleep": true,
	"tail": true, "true": true, "wc": true}

// runsOnly reports whether a line has a step of a kind, none of its kind twice where once is asked for, and beside it only what says little: no loop
// runs it for other things.
func runsOnly(line string, once bool, is func(name string, operands []string) bool) bool {
	found := 0
	for _, step := range shell.Steps(line) {
		switch name, operands := step.Program(); {
		case slices.ContainsFunc(step.Words, func(w string) bool { return slices.Contains(loops, strings.TrimLeft(w, "({")) }):
			return false
		case is(name, operands):
			found++
		case !quietSteps[name]:
			return false
		}
	}
	return found == 1 || found > 1 && !once
}

// loops are words that begin one, or a part of one.
var loops = []string{"for", "while", "until", "do", "done", "select"}

// listsNewestFirst reports whether git lists commits in its own order.
func listsNewestFirst(name string, operands []string) bool {
	switch shell.Verb(operands) {
	case "log", "reflog", "rev-list", "show-branch":
		return name == "git" && !slices.Contains(operands, "--reverse")
	}
	return false
}

// listsCommits reports whether nearly all lines are commits, and the call asked for them: a line of a log may begin with the time in seconds.
func (d *document) listsCommits(args call.Arguments) bool {
	const least = 5
	if !runsOnly(args.ShellLine(), false, listsNewestFirst) {
		return false
	}
	commits, others := 0, 0
	for i := range d.lines {
		switch l := &d.lines[i]; {
		case !l.starts || strings.Trim(l.text, "*|\\/_ ") == "":
		case listedCommit.MatchString(l.text):
			commits++
		default:
			others++
		}
		if others > 1 && others > commits {
			return false
		}
	}
	return commits >= least && others <= 1
}

// watches reports whether a program prints the whole state of one thing again and again. `kubectl get -w` prints what has changed.
func watches(name string, operands []string) bool {
	verb, rest := shell.CutVerb(operands)
	return name == "watch" || name == "gh" && (verb == "run" && shell.Verb(rest) == "watch" || verb == "pr" && shell.Verb(rest) == "checks" && slices.Contains(rest, "--watch"))
}

// supersede leaves out all but the last of what a watcher prints until something is done, `gh run watch`: each time the same heading, and below it mostly
// the same lines. What a loop prints like that are the states of different things, or of rounds that each count.
func (d *document) supersede(args call.Arguments) {
	if !runsOnly(args.ShellLine(), true, watches) {
		return
	}
	const least, share, times = 5, 6, 3 // lines; of ten that are the same; a command that says an error twice is none of these
	first := slices.IndexFunc(d.lines, func(l line) bool { return len(l.text) >= countedLine })
	if first < 0 || strings.Contains(d.lines[first].text, "error") {
		return
	}
	before, last, found := first, first, 1
	for i := first + 1; i < len(d.lines); i++ {
		if l := &d.lines[i]; l.starts && l.text == d.lines[first].text {
			before, last, found = last, i, found+1
		}
	}
	if found < times || len(d.lines)-last < least || last-before < least {
		return
	}
	said := make(map[string]bool, last-before)
	for i := before; i < last; i++ {
		said[d.lines[i].text] = true
	}
	same, all := 0, 0
	for i := last; i < len(d.lines); i++ {
		if text := d.lines[i].text; text != "" {
			all++
			if said[text] {
				same++
			}
		}
	}
	if same*10 < all*share {
		return
	}
	for i := range last {
		d.lines[i].aside = true
	}
}

// countAlike counts for every line those that differ from it only in digits: lines that a loop prints.
func (d *document) countAlike() {
	hashes := make([]uint64, len(d.lines))
	first := make([]int32, len(d.lines)) // the first of a set of alike lines, which holds the count
	index := words.NewTable(len(d.lines) / 2)
	for i := range d.lines {
		hashes[i] = logs.MaskedHash(d.lines[i].text)
		for key := words.Folded(hashes[i]); ; key++ {
			first[i] = index.Find(key)
			if first[i] == words.None {
				first[i] = int32(i)
				index.Add(key, int32(i))
				break
			}
			if hashes[first[i]] == hashes[i] {
				d.lines[first[i]].alike++
				break
			}
		}
	}
	for i := range d.lines {
		d.lines[i].alike = d.lines[first[i]].alike
	}
}

// findOpeners finds, for the lines of an indented text, which line opens the block that they are in: a key, a condition, the head of a table, what
// leads to a list. A value says nothing without its key: `cpu: 500m` below `Limits:` and below `Requests:`.
func (d *document) findOpeners() {
	if d.shape == shapeSnapshot {
		d.findOwners()
		return
	}
	if d.listing || d.shape == shapeHTML || d.shape == shapeDiff || d.shape == shapeMatches {
		return
	}
	d.above = make([]int32, len(d.lines))
	for i := range d.above {
		d.above[i] = words.None
	}
	for _, part := range [][2]int{{0, d.resumes}, {d.resumes, len(d.lines)}} { // what is skipped between them may close anything
		d.findTables(part[0], part[1])
		settings := d.nested || d.total > fewLines && len(d.lines) > 0 && (d.lines[0].text == "{" || d.lines[0].text == "[")
		switch {
		case d.digest:
			d.findLeads(part[0], part[1])
		case d.steps && !settings:
			d.findConditions(part[0], part[1])
		case !d.prose && (d.shape == shapePlain || settings):
			d.findBlocks(part[0], part[1], settings)
		}
		if d.noisy && d.shape == shapePlain {
			d.findHeaded(part[0], part[1])
		}
	}
}

// findTables finds the heads of tables.
func (d *document) findTables(from, to int) {
	head := words.None
	for i := from; i < to; i++ {
		switch l := &d.lines[i]; {
		case !strings.HasPrefix(l.text, "|"):
			head = words.None
		case head < 0 && i+1 < to && len(l.text) <= 2*longestOpener && isTableRule(d.lines[i+1].text):
			head = i
		case head >= 0 && i > head+1:
			d.above[i] = int32(head)
		}
	}
}

// findLeads finds what leads to the items of a document's lists.
func (d *document) findLeads(from, to int) {
	var leads []int // each in the one before
	for i := from; i < to; i++ {
		l := &d.lines[i]
		if l.text == "" || !l.starts {
			continue
		}
		item := listItem.MatchString(l.text)
		for n := len(leads); n > 0; n = len(leads) {
			lead := &d.lines[leads[n-1]]
			if l.indent > lead.indent || l.indent == lead.indent && item && !listItem.MatchString(lead.text) {
				break
			}
			leads = leads[:n-1]
		}
		if item && len(leads) > 0 {
			d.above[i] = int32(leads[len(leads)-1])
		}
		if len(l.text) <= longestOpener && strings.HasSuffix(l.text, ":") {
			leads = append(leads, i)
		}
	}
}

// step matches the headings under which Ansible reports.
var step = regexp.MustCompile(`^(?:TASK|PLAY|RUNNING HANDLER) (?:\[|RECAP)`)

// finding matches a linter's line below the name of its file, `12:10  error  text  rule`, as ESLint, stylelint and markdownlint print it.
var finding = regexp.MustCompile(`^\d{1,6}:\d{1,5} +(?:(error)|warning|✖|⚠) `)

// findHeaded finds the headings of a command's lines that say nothing without them: the task that failed, the file of a linter's finding.
func (d *document) findHeaded(from, to int) {
	task, file := words.None, words.None
	for i := from; i < to; i++ {
		switch l := &d.lines[i]; {
		case step.MatchString(l.text):
			task = i
		case l.text == "" || !l.starts:
			continue
		case l.indent == 0 && isPath(l.text):
			file = i
		case l.indent == 0 && file >= 0:
			file = words.None
		}
		switch l := &d.lines[i]; {
		case file >= 0 && i > file && finding.MatchString(l.text):
			d.above[i] = int32(file)
		case task >= 0 && i > task && len(d.lines[task].text) <= longestOpener:
			d.above[i] = int32(task)
		}
	}
}

// findBlocks finds what opens the blocks of an indented text.
func (d *document) findBlocks(from, to int, settings bool) {
	if settings && d.nested && d.items == nil {
		d.items = make([]int32, len(d.lines))
		for i := range d.items {
			d.items[i] = words.None
		}
	}
	var open []int
	blank := words.None // the last such line: what is behind it is no part of a key with a value
	for i := from; i < to; i++ {
		l := &d.lines[i]
		if l.text == "" {
			blank = i
		}
		if l.text == "" || !l.starts || settings && l.text[0] == '#' {
			continue
		}
		for len(open) > 0 && d.lines[open[len(open)-1]].indent >= l.indent {
			open = open[:len(open)-1]
		}
		if n := len(open); n > 0 && !l.opens() && (settings || l.number == 0) && l.group < 0 && !strings.HasPrefix(l.text, `File "`) {
			if above := &d.lines[open[n-1]]; above.opens() || open[n-1] > blank && above.keyed() && l.keyed() {
				d.above[i] = int32(open[n-1])
			}
			d.findItem(i, open)
		}
		open = append(open, i)
	}
}

// findItem finds, among the lines that a line is below, the head of the outermost item of a list: what is of one item would else be read as of the one
// shown above it.
func (d *document) findItem(i int, open []int) {
	for _, at := range open {
		if head := &d.lines[at]; d.items != nil && strings.HasPrefix(head.text, "- ") && head.keyed() {
			d.items[i] = int32(at)
			return
		}
	}
}

// leaving matches a statement that ends what is running, which says itself that it does not always run.
var leaving = regexp.MustCompile(`^(?:return|throw|raise|break|continue|panic|exit|die|fail|goto|yield)\b|\.(?:Fatal|Error|Skip|Exit|exit)`)

// findConditions finds the conditions and loops that lines of code are directly in: without its condition a statement reads as one that is always
// reached.
func (d *document) findConditions(from, to int) {
	const farthest, widest = 4, 100 // lines; bytes
	var open []int
	for i := from; i < to; i++ {
		l := &d.lines[i]
		if l.text == "" || !l.starts || l.number == 0 || l.kind == outline.CommentLine {
			continue
		}
		for len(open) > 0 && d.lines[open[len(open)-1]].indent >= l.indent {
			open = open[:len(open)-1]
		}
		if n := len(open); n > 0 && l.text[0] != '}' && l.text[0] != ')' {
			if at := open[n-1]; i-at <= farthest && len(d.lines[at].text) <= widest && outline.Conditions(d.lines[at].text) && !leaving.MatchString(l.text) {
				d.above[i] = int32(at)
			}
		}
		open = append(open, i)
	}
}

// longestOpener bounds what is shown above a line, in bytes.
const longestOpener = 60

// opens reports whether a line opens a block: a key without a value, a condition.
func (l *line) opens() bool {
	return len(l.text) <= longestOpener && !l.stamped && (strings.HasSuffix(l.text, ":") || strings.HasSuffix(l.text, " {") || strings.HasSuffix(l.text, ": [") || strings.HasPrefix(l.text, "CREATE ") && strings.HasSuffix(l.text, "(")) && len(l.text) > 1
}

// keyed reports whether a line is a key and its value: `Reason: OOMKilled` is that of the state above it.
func (l *line) keyed() bool {
	text := strings.TrimPrefix(l.text, "- ") // the first key of an item
	at := strings.Index(text, ": ")
	return at > 0 && at <= longestOpener/2 && (lex.IsUpper(text[0]) || lex.IsLower(text[0])) && len(text) <= longestOpener && !l.stamped && strings.Count(text[:at], " ") <= 2
}

// openers returns the lines that are to be shown above a line; none in the place of those that there are not.
func (d *document) openers(line int) [2]int {
	switch {
	case d.above == nil:
		return [2]int{words.None, words.None}
	case d.items == nil:
		return [2]int{words.None, int(d.above[line])}
	}
	if d.items[line] == d.above[line] { // once
		return [2]int{words.None, int(d.above[line])}
	}
	return [2]int{int(d.items[line]), int(d.above[line])}
}
