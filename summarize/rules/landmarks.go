package rules

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"precis/summarize/lex"
	"precis/summarize/rules/call"
	"precis/summarize/rules/logs"
	"precis/summarize/rules/outline"
	"precis/summarize/rules/words"
)

// landmark is a line by which an engineer finds the way: a declaration, a heading, a file. Those that no shown line has
// are listed by name.
type landmark struct {
	line  int
	name  string
	dir   string  // of a file of a search, if it is listed below it
	base  string  // and what it is called there
	count string  // what is said of it behind its name, if no line of it is shown: ` +12 -3`
	worth float64 // on the scale of identifiers
	share float64 // of a changed file: its lines that changed, of those of the one that changed most
	file  bool    // the line stands for all lines of its file
	place bool    // the name tells where to look, so that the line's own number is of no use
}

// The worth of landmarks, on the scale of identifiers: declarations share allWorth, but few have not more than fewWorth each, and many not less
// than declarationWorth. Two thirds are named with their lines, or shown. With 0.09 for each it is four fifths, for 0.02 of the recall.
const (
	declarationWorth = 0.035
	fewWorth         = 0.1
	allWorth         = 0.6
	fileWorth        = 0.33
	placeWorth       = 0.3
	headingWorth     = 0.002 // a character
	longestHeading   = 48
	mostLandmarks    = 400
)

// findLandmarks finds what sources of a kind are looked up by.
func (d *document) findLandmarks(category Category) {
	switch {
	case d.shape == shapeMatches || d.shape == shapeDiff:
		if d.noisy && d.shape == shapeMatches {
			d.landmarks = d.diagnosedPlaces()
		}
		if len(d.landmarks) == 0 {
			d.landmarks = d.matchedFiles()
		}
	case d.shape == shapeJSON || d.listing || d.shape == shapeHTML || d.ruled: // what two versions declare is not what differs
	case d.digest:
		d.landmarks = d.headings()
	case d.files:
		d.landmarks = d.matchedFiles()
	case d.prose:
		d.landmarks = d.headings()
	case category == FileContent || category == WriteResult:
		d.landmarks = d.outline()
	case category == CommandOutput:
		if d.landmarks = d.changedFiles(); len(d.landmarks) == 0 {
			d.landmarks = d.diagnosedPlaces()
		}
	}
	if len(d.landmarks) > mostLandmarks {
		d.landmarks, d.partly = d.landmarks[:mostLandmarks], true
	}
}

// matchedFiles are the files of a search or a diff, by the shortest end of their paths that tells them apart.
func (d *document) matchedFiles() []landmark {
	list := make([]landmark, 0, len(d.groups))
	names := shortNames(d.groups)
	if d.shape == shapeMatches {
		d.hits = make([]int, len(d.groups))
		for i := range d.lines {
			if l := &d.lines[i]; l.group >= 0 && l.starts && !l.context {
				d.hits[l.group]++
			}
		}
	}
	root := 0
	if d.shape == shapeMatches {
		if root = rootOf(d.groups); treeSize(d.groups, root) > longestTree {
			root = math.MaxInt // names that tell them apart: more of them have room
		}
	}
	seen := make([]bool, len(d.groups))
	for i := range d.lines {
		if g := d.lines[i].group; g >= 0 && !seen[g] {
			seen[g] = true
			dir, base := "", ""
			if at := strings.LastIndexByte(d.groups[g], '/') + 1; d.shape == shapeMatches && at > root {
				dir, base = d.groups[g][root:at], d.groups[g][at:]
			}
			list = append(list, landmark{line: i, dir: dir, base: base, name: names[g], count: d.groupName(g)[len(d.groups[g]):] + d.hitsOf(g), worth: fileWorth, file: true})
		}
	}
	return list
}

// hasTree reports whether the files of a search are listed below their directories.
func (d *document) hasTree() bool {
	return slices.ContainsFunc(d.landmarks, func(m landmark) bool { return m.dir != "" })
}

// hitsOf says how many matches a file has, if it has more than one: ` 9`. A file without a number has one, whichever others are beside it.
func (d *document) hitsOf(g int) string {
	if g >= len(d.hits) || d.hits[g] < 2 {
		return ""
	}
	return " " + itoa(d.hits[g])
}

// longestTree is up to which length the files of a search stand below their directories, in bytes.
const longestTree = 320

// treeSize is what files take below their directories.
func treeSize(paths []string, root int) (n int) {
	dirs := map[string]bool{}
	for _, p := range paths {
		at := strings.LastIndexByte(p, '/') + 1
		n += len(p) - at + len(", 99")
		if dir := p[:at]; !dirs[dir] {
			dirs[dir] = true
			n += max(0, at-root)
		}
	}
	return n
}

// rootOf returns how many bytes of the directory that all paths are in, from its root on, say nothing: those of an absolute path.
func rootOf(paths []string) int {
	if len(paths) < 2 || !strings.HasPrefix(paths[0], "/") {
		return 0
	}
	shared := paths[0]
	for _, p := range paths {
		shared = shared[:logs.CommonLen(shared, p)]
	}
	return strings.LastIndexByte(shared, '/') + 1
}

// shortNames returns for each path its shortest end that no other one has.
func shortNames(paths []string) []string {
	ends := map[string]int{}
	for _, p := range paths {
		for at := len(p); at >= 0; {
			at = strings.LastIndexByte(p[:at], '/')
			ends[p[at+1:]]++
		}
	}
	names := make([]string, len(paths))
	for i, p := range paths {
		names[i] = p
		for at := len(p); at >= 0; {
			at = strings.LastIndexByte(p[:at], '/')
			if ends[p[at+1:]] == 1 {
				names[i] = p[at+1:]
				break
			}
		}
	}
	return names
}

// headings are those of a document, outside of code.
func (d *document) headings() []landmark {
	var list []landmark
	fenced := false
	for i := range d.lines {
		l := &d.lines[i]
		if strings.HasPrefix(l.text, "```") || strings.HasPrefix(l.text, "~~~") && !(i > 0 && d.underlines(i)) {
			fenced = !fenced
		}
		name, ok := headingOf(l.text)
		if i+1 < len(d.lines) && d.underlines(i+1) {
			name, ok = l.text, true
		}
		if ok && !fenced && l.starts {
			name = lex.Clip(name, longestHeading)
			list = append(list, landmark{line: i, name: name, worth: headingWorth * float64(lex.Runes(name)+4)})
		}
	}
	return list
}

// below returns for each line the heading that it is below; none if there is none. One in bold that is indented, as an item of a list has it, ends
// with what it is in.
func (d *document) below(heads []landmark) []int32 {
	list := make([]int32, len(d.lines))
	var open []int32 // the last heading, in front of those in bold that are indented, each in the one before
	fenced, group := false, -1
	for i := range d.lines {
		l := &d.lines[i]
		if l.group != group {
			open, group = open[:0], l.group
		}
		if strings.HasPrefix(l.text, "```") {
			fenced = !fenced
		}
		isHead := len(heads) > 0 && heads[0].line == i
		for n := len(open); n > 0 && l.text != "" && l.starts && !fenced; n = len(open) {
			above := &d.lines[open[n-1]]
			if l.indent > above.indent || !isHead && (l.indent == above.indent || above.text[0] != '*') {
				break
			}
			open = open[:n-1]
		}
		if isHead {
			open, heads = append(open, int32(i)), heads[1:]
		}
		if list[i] = words.None; len(open) > 0 {
			list[i] = open[len(open)-1]
		}
	}
	return list
}

// underlines reports whether a line makes the one above it a heading.
func (d *document) underlines(i int) bool {
	rule, text, rules := d.lines[i].text, d.lines[i-1].text, "=-"
	if d.anyRule {
		rules = "=-~^"
	}
	return d.lines[i].starts && len(rule) >= leastRule && strings.IndexByte(rules, rule[0]) >= 0 && len(rule) >= lex.Runes(text) && strings.Trim(rule, rule[:1]) == "" && text != "" && text[0] != rule[0] && text[0] != '|'
}

const leastRule = 4

// headingOf returns the text of a heading: "## Usage", "== Usage", "\section{Usage}", or a line in bold.
func headingOf(text string) (name string, ok bool) {
	if text != "" && (text[0] == '#' || text[0] == '=') {
		name := strings.TrimLeft(text, text[:1])
		said := strings.Trim(name, " *#=")
		return said, said != "" && len(text)-len(name) <= 5 && name[0] == ' '
	}
	if before, rest, ok := strings.Cut(text, "section{"); ok && strings.HasPrefix(before, `\`) {
		name, _, _ = strings.Cut(rest, "}")
		return name, name != ""
	}
	if name, ok := strings.CutPrefix(text, "**"); ok && len(text) < 90 && strings.HasSuffix(strings.TrimSuffix(name, ":"), "**") {
		name = strings.Trim(name, "*: ")
		return name, name != "" && !strings.Contains(name, "**")
	}
	return "", false
}

// conclusive matches the headings under which a report says what it found.
var conclusive = regexp.MustCompile(`(?i)^(?:\d+[.)] )?\W*(?:executive |final |overall |review )?(?:summary|conclusions?|key findings?|findings|recommendations?|decisions?|outcome|resolution|verdict|root cause|answer|bottom line|(?:(?:critical|key|main) )?(?:takeaways?|insights?)|gaps?:?$|what is (?:not|missing)|tl;?dr|overall assessment|result|next steps)\b|^\W*(?:critical|blocking|must[ -]fix)(?: (?:issues?|findings?|problems?|bugs?))?(?: \(\d+\))?:?$|\b(?:coverage|tests?|analysis|review|changes?|results?|findings|investigation|research|status|impact) summary$`)

// summaryTitle matches titles of all of a report, which may be one: a verdict in a title says something itself.
var summaryTitle = regexp.MustCompile(`(?i)^(?:\d+[.)] )?\W*(?:executive |final |overall |review )?summary\b|\w summary$`)

// graveHeading matches those whose list says it all: what a review finds worst, what is missing.
var graveHeading = regexp.MustCompile(`(?i)^\W*(?:critical|blocking|must[ -]fix|(?:key |main )?(?:takeaways?|insights?):?$|gaps?:?$|what is (?:not|missing))`)

// conclusions are the first sentences below such headings, and those headings that say it themselves ("Verdict: approve"). The title of all of it
// counts if there is no other. A report without one ends with its conclusion.
func (d *document) conclusions(report bool) []int {
	title := d.titleOfAll()
	lines := d.concluding(title)
	if len(lines) == 0 && title >= 0 {
		lines = d.concluding(words.None)
	}
	if len(lines) == 0 && report {
		return d.lastParagraph()
	}
	most := 2 * mostConclusions
	if d.question != nil {
		most += mostAnswers
	}
	return lines[:min(len(lines), most)]
}

// titleOfAll returns the line of the first heading if several others come, all below it; none if not.
func (d *document) titleOfAll() int {
	title, level, others := words.None, 0, 0
	for i := range d.lines {
		l := &d.lines[i]
		if _, ok := headingOf(l.text); !ok || !l.starts {
			continue
		}
		switch at := headingLevel(l.text); {
		case title < 0:
			title, level = i, at
		case at <= level:
			return words.None
		default:
			others++
		}
	}
	if others < 2 {
		return words.None
	}
	return title
}

// concluding finds conclusions, other than below a title.
func (d *document) concluding(title int) (lines []int) {
	after := 0 // the level of the heading whose first sentence is to come
	items := 0 // how many items of the list are part of the sentence above
	grave, heading := false, 0
	add := func(i int) {
		lines = append(lines, i)
		if i != heading && !d.digest && d.above != nil && d.above[i] < 0 && len(d.lines[heading].text) <= longestHead {
			d.above[i] = int32(heading) // what it says depends on it: `Validated`, `Not validated`
		}
	}
	for i := range d.lines {
		l := &d.lines[i]
		if name, ok := headingOf(l.text); ok && l.starts {
			switch level := headingLevel(l.text); {
			case conclusive.MatchString(name) && (i != title || !summaryTitle.MatchString(name)):
				after, grave, heading = level, graveHeading.MatchString(name), i
				if _, said, ok := strings.Cut(name, ": "); ok && said != "" {
					add(i)
				}
			case level <= after:
				after = 0
			}
			continue
		}
		switch item := listItem.MatchString(l.text); {
		case after > 0 && isSentence(l.text):
			add(i)
			after, items = 0, 0
			if strings.HasSuffix(l.text, ":") {
				items = mostConclusions
			} else if item && grave {
				items = mostConclusions - 1
				if d.isAsked(d.lines[heading].text) {
					items = mostAnswers
				}
			}
		case items > 0 && item:
			add(i)
			items--
		case l.text != "" && l.starts:
			items = 0
		}
	}
	return lines
}

var listItem = regexp.MustCompile(`^(?:[-*•] |\d+[.)] )`)

// mostConclusions is how many lines say what a report found: a verdict, and the sentence under two headings.
const mostConclusions = 3

// mostAnswers is how many further items are the answer if what the heading says was asked for: `List the gaps.`
const mostAnswers = 4

// isAsked reports whether the call asks for what a heading says, by a word of it.
func (d *document) isAsked(heading string) bool {
	const shortest = 4
	for _, word := range strings.FieldsFunc(strings.ToLower(heading), func(r rune) bool { return r < 'a' || r > 'z' }) {
		if len(word) >= shortest && d.question[strings.TrimSuffix(word, "s")] {
			return true
		}
	}
	return false
}

// questionOf returns the words of what an agent was asked, in small letters and the singular.
func questionOf(args call.Arguments) map[string]bool {
	words := map[string]bool{}
	for _, word := range strings.FieldsFunc(strings.ToLower(args.Text("description")+" "+args.Text("prompt", "task", "question", "message")), func(r rune) bool { return r < 'a' || r > 'z' }) {
		words[strings.TrimSuffix(word, "s")] = true
	}
	return words
}

// headingLevel is 1 for the heading of a document; a line in bold is below all others.
func headingLevel(text string) int {
	const bold = 6
	if level := len(text) - len(strings.TrimLeft(text, "#")); level > 0 {
		return level
	}
	return bold
}

// isSentence reports whether a line says something, in words.
func isSentence(text string) bool {
	const fewest = 6
	return len(strings.Fields(text)) >= fewest && text[0] != '|' && !strings.HasPrefix(text, "```") && !opening.MatchString(text)
}

// lastParagraph is the first line of the last paragraph in words, or of the list that is there.
func (d *document) lastParagraph() []int {
	const farthest = 40 // lines
	found := words.None
	for i := len(d.lines) - 1; i >= max(0, len(d.lines)-farthest); i-- {
		l := &d.lines[i]
		switch {
		case found >= 0 && (l.text == "" || !isSentence(l.text)):
			return []int{found}
		case l.starts && isSentence(l.text):
			found = i
		}
	}
	return nil
}

// opening is how an agent begins before it says anything.
var opening = regexp.MustCompile(`^(?i:perfect|here(?:'s| is| are)|based on|i(?:'ve| have) (?:completed|searched|conducted|now))\b`)

// blocks are what opens a block at the top level of a file that declares nothing, and the sections of settings: `.toolbar {`, `spec:`, `[lib]`. In YAML
// so are what is right below those, such as jobs and services, and items with a name, such as steps.
func (d *document) blocks() (list []landmark) {
	second := d.secondLevel()
	for i := range d.lines {
		l := &d.lines[i]
		section := len(l.text) > 2 && len(l.text) <= longestOpener && l.text[0] == '[' && strings.HasSuffix(l.text, "]") && !strings.ContainsAny(strings.Trim(l.text, "[]"), "[],\"'")
		item, named := strings.CutPrefix(l.text, "- name: ")
		switch {
		case !l.starts:
		case l.indent == 0 && (section || l.opens()), second > 0 && l.indent == second && l.opens():
			list = append(list, landmark{line: i, name: strings.TrimRight(l.text, " {:["), worth: declarationWorth})
		case second > 0 && l.indent <= second && (l.indent == 0 && strings.HasPrefix(l.text, "kind: ") || strings.HasPrefix(l.text, "name: ")) && len(l.text) <= longestOpener: // what it is
			list = append(list, landmark{line: i, name: l.text, worth: fewWorth})
		case second > 0 && named && len(item) > 0:
			list = append(list, landmark{line: i, name: lex.Clip(strings.Trim(item, "'\""), longestHeading), worth: declarationWorth})
		}
	}
	return list
}

// secondLevel is the indentation of what is right below the top level of YAML, in columns; 0 if the text is none.
func (d *document) secondLevel() int {
	if !d.nested || d.shape == shapeSnapshot {
		return 0
	}
	level := 0
	for i := range d.lines {
		if l := &d.lines[i]; l.starts && l.indent > 0 && l.opens() && (level == 0 || l.indent < level) {
			level = l.indent
		}
	}
	return level
}

// outline finds the declarations of a file of code, those of the top level first.
func (d *document) outline() []landmark {
	var outer, inner []landmark
	files := shortNames(d.groups)
	for i := range d.lines {
		l := &d.lines[i]
		if !l.starts {
			continue
		}
		next := ""
		if i+1 < len(d.lines) {
			next = d.lines[i+1].text
		}
		if decl, ok := outline.In(l.text, l.indent, next); ok {
			m := landmark{line: i, name: decl.Name, worth: declarationWorth}
			l.mark = decl.End
			if d.several && l.group >= 0 {
				m.dir, m.base = files[l.group], m.name
				if l.number > 0 {
					m.base = itoa(l.number) + " " + m.name
				}
			}
			if decl.Deep {
				inner = append(inner, m)
			} else {
				outer = append(outer, m)
			}
		}
	}
	list := append(outer, inner...)
	if len(list) == 0 {
		list = d.blocks()
	}
	for i := range list {
		list[i].worth = min(fewWorth, max(declarationWorth, allWorth/float64(len(list))))
	}
	return list
}
