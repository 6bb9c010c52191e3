package rules

import (
	"cmp"
	"slices"
	"strings"

	"precis/summarize/lex"
	"precis/summarize/rules/page"
)

// body is the text that write builds from fragments.
type body struct {
	text   string
	kept   int // characters of the source in it
	shown  int // source lines that it shows, completely or in part
	source int // its own characters in source lines
}

// write puts fragments in source order: numbered if it is a file, under their file's name
// if they are matches. What the gaps between them hold is named there, if anything is.
func (d *document) write(picks []pick, named func(above, below int) string) body {
	picks = d.withOpeners(picks)
	slices.SortFunc(picks, func(a, b pick) int {
		return cmp.Or(d.lines[a.line].group-d.lines[b.line].group, a.line-b.line, a.start-b.start)
	})
	var b strings.Builder
	var out body
	hits := d.hitsIn(picks)
	group, last := -1, nowhere // last: the fragment directly above
	titled := false            // a heading is shown: what comes would be taken for a part of what it is about
	for n, p := range picks {
		l := &d.lines[p.line]
		text := named(max(0, last.line), p.line)
		switch {
		case n == 0:
		case text == "" && d.sameLine(last, p.choice):
			b.WriteByte(' ') // behind the mark of what was cut
		case text != "" || !d.continues(last, p.choice) || !d.joins(p.line):
			b.WriteByte('\n')
		}
		if text != "" {
			b.WriteString(text + "\n")
			last = nowhere
		}
		if l.group >= 0 && l.group != group {
			name := d.groupName(l.group)
			b.WriteString(name)
			if l.group < len(hits) && d.hits[l.group] > hits[l.group] {
				b.WriteString(hitsMark(d.hits[l.group] - hits[l.group]))
			}
			b.WriteByte('\n')
			out.source += sourceLine(name, name)
			if d.shape == shapeDiff || d.headed || d.files || d.ruled { // a line of its own
				out.shown++
			}
		}
		if n > 0 && l.group == group && (d.parted(picks[n-1].line, p.line) || d.entersDocument(picks[n-1].line, p.line) || titled && d.underOther(picks[n-1].line, p.line) || d.runsOn(picks[n-1].choice, p.choice)) {
			b.WriteString(gapMark)
		}
		group = l.group
		_, heading := headingOf(l.text)
		titled = titled || heading && d.prose && !d.digest
		text = d.lead(p.choice, last) + d.shown(p.choice, n+1 < len(picks) && picks[n+1].line == p.line+1)
		b.WriteString(text)
		last = p.choice
		if !l.altered {
			out.source += sourceLine(text, l.text[p.start:p.end])
		}
		out.kept += lex.Runes(l.text[p.start:p.end])
		if row := d.row(p.line); n == 0 || row != d.row(picks[n-1].line) {
			out.shown += 1 + d.lines[row].repeat
		}
	}
	out.text = lex.JoinLines(b.String(), named(max(0, last.line), len(d.lines)))
	return out
}

// nowhere is a fragment that no line follows.
var nowhere = choice{line: -2}

// nothing names nothing in gaps.
func nothing(_, _ int) string { return "" }

// row is the line with which a source line starts that may be split into several.
func (d *document) row(line int) int {
	for line > 0 && !d.lines[line].starts {
		line--
	}
	return line
}

// withOpeners returns the fragments, and the lines that open the blocks that they are in.
func (d *document) withOpeners(picks []pick) []pick {
	picks = slices.Clone(picks)
	if d.above == nil {
		return picks
	}
	shown := make(map[int]bool, len(picks))
	for _, p := range picks {
		shown[p.line] = true
	}
	for _, p := range picks {
		for _, at := range d.openers(p.line) {
			if at >= 0 && !shown[at] {
				shown[at] = true
				picks = append(picks, pick{choice: choice{line: at, end: len(d.lines[at].text)}})
			}
		}
	}
	return picks
}

// hitsMark says how many matches of a file are missing.
func hitsMark(n int) string { return " [… +" + itoa(n) + "]" }

// hitsIn counts the matches among lines, by their file.
func (d *document) hitsIn(picks []pick) []int {
	hits := make([]int, len(d.hits))
	for _, p := range picks {
		if l := &d.lines[p.line]; l.group >= 0 && l.group < len(hits) && l.starts && !l.context {
			hits[l.group]++
		}
	}
	return hits
}

// gapMark stands between lines that do not belong together.
const gapMark = "…\n"

// parted reports whether a line would be taken for a part of what is shown above it: the line that it is indented below stands between
// them.
func (d *document) parted(above, line int) bool {
	if d.shape == shapeSnapshot && (d.hidesChoices(above, line) || d.entersItem(above, line) || d.hidesItem(above, line)) {
		return true
	}
	if l := &d.lines[line]; !d.nested || d.shape == shapeSnapshot && !page.IsText(l.text) && !strings.Contains(l.text, "] option ") {
		return false
	}
	if e, ok := page.ElementIn(d.lines[above].text); ok && d.shape == shapeSnapshot && e.Name != "" && !strings.HasPrefix(e.Role, "combo") && !strings.HasPrefix(e.Role, "list") && !strings.Contains(d.lines[line].text, "] option ") {
		return false // it says all of itself
	}
	for i := above + 1; i < line; i++ {
		if l := &d.lines[i]; l.indent < d.lines[line].indent && l.text != "" && l.text[0] != '#' {
			return true
		}
	}
	return false
}

// hidesChoices reports whether, between two lines of a page, others stand that a user could fill in or choose like one of those two: else that would
// read as the only one.
func (d *document) hidesChoices(above, line int) bool {
	a, _ := page.ElementIn(d.lines[above].text)
	b, _ := page.ElementIn(d.lines[line].text)
	if !page.TakesInput(a.Role) && !page.TakesInput(b.Role) {
		return false
	}
	for i := above + 1; i < line; i++ {
		if e, ok := page.ElementIn(d.lines[i].text); ok && (e.Role == a.Role || e.Role == b.Role) && page.TakesInput(e.Role) {
			return true
		}
	}
	return false
}

// underOther reports whether a line without a number is below another heading than the one shown above it, which is not shown.
func (d *document) underOther(above, line int) bool {
	if d.lines[line].number > 0 {
		return false
	}
	for i := above + 1; i < line; i++ {
		if _, ok := headingOf(d.lines[i].text); ok {
			return true
		}
	}
	return false
}

// runsOn reports whether a line without a number would be read as what follows directly on the one shown above it, although lines are left out between
// them: the one above opens something or breaks off within a sentence, this one goes on with a sentence, or it would be the new text for an old one.
func (d *document) runsOn(above, p choice) bool {
	a, b := &d.lines[above.line], &d.lines[p.line]
	if d.listing || d.shape == shapeSnapshot || a.number > 0 || b.number > 0 || p.start > 0 || !b.starts || !d.leftOut(above.line, p.line) {
		return false
	}
	old, current := strings.TrimRight(a.text[:above.end], " \t"), strings.TrimLeft(b.text, " \t")
	if old == "" || current == "" {
		return false
	}
	switch end := old[len(old)-1]; {
	case above.end < len(a.text), old[0] == '#', end == ',' && old[0] == '"': // a heading, a member of an object
	case strings.IndexByte("{[(,=+|&\\:", end) >= 0:
		return true
	}
	switch {
	case d.shape == shapeDiff:
		return old[0] == '-' && current[0] == '+' || d.leavesBlock(above.line, p.line) || current[0] != '@' && a.piece != b.piece && a.piece > 0 && b.piece > 0
	case !d.prose:
		return old[0] == '"' && current[0] == '"' && d.underOtherKey(above.line, p.line)
	case lex.IsLower(current[0]):
		first, _, _ := strings.Cut(current, " ")
		return !strings.HasSuffix(first, ":") // `status: done` goes on with no sentence
	}
	next := &d.lines[above.line+1]
	return above.end == len(a.text) && next.text != "" && next.text[0] >= 'a' && next.text[0] <= 'z'
}

// entersDocument reports whether a line is of another document than the one shown above it, of those that an output has one after another: JSON behind
// JSON, parts of YAML. Numbers tell that too.
func (d *document) entersDocument(above, line int) bool {
	if d.lines[line].number > 0 || d.shape == shapeSnapshot || d.prose {
		return false
	}
	closed := false // the line above ends a value
	for i := above; i < line; i++ {
		l := &d.lines[i]
		if i > above && l.indent == 0 && (l.text == "---" && d.nested || closed && (l.text == "{" || l.text == "[")) {
			return true
		}
		if l.text != "" {
			closed = l.text == "}" || l.text == "]"
		}
	}
	return false
}

// continues reports whether a fragment goes on with the line of the one above it.
func (d *document) continues(above, p choice) bool {
	return above.line >= 0 && above.line == p.line-1 && !d.lines[p.line].starts && p.start == 0 && above.end == len(d.lines[above.line].text)
}

// sameLine reports whether a fragment is a later part of the line without a number that the one above it is of.
func (d *document) sameLine(above, p choice) bool {
	return above.line == p.line && d.lines[p.line].number == 0 && p.start >= above.end
}

// glue is what stands between a part of a line and the one above it: nothing or a blank; ok is false if the line has something else there, such as a line
// break in a string.
func (d *document) glue(line int) (blank string, ok bool) {
	const known = 24
	if line == 0 || d.lines[line].starts {
		return "", false
	}
	a, b := d.lines[line-1].text, d.lines[line].text
	a, b = a[max(0, len(a)-known):], b[:min(len(b), known)]
	for _, blank := range []string{"", " "} {
		if strings.Contains(d.source, a+blank+b) {
			return blank, true
		}
	}
	return "", false
}

// leavesBlock reports whether a changed line that is indented is in another block than the one shown above it: a line at the margin, or the place of
// another hunk, stands between them.
func (d *document) leavesBlock(above, line int) bool {
	if !d.lines[line].indentedInDiff() {
		return false
	}
	for i := above + 1; i < line; i++ {
		if l := &d.lines[i]; l.starts && len(l.text) > 1 && !l.indentedInDiff() {
			return true
		}
	}
	return false
}

// underOtherKey reports whether a member in JSON is of a key that is left out between it and the line shown above it.
func (d *document) underOtherKey(above, line int) bool {
	for i := above + 1; i < line; i++ {
		l := &d.lines[i]
		if l.indent < d.lines[line].indent && l.text != "" && l.text[0] == '"' && strings.IndexByte("{[", l.text[len(l.text)-1]) >= 0 {
			return true
		}
	}
	return false
}

// leftOut reports whether lines that say something stand between two.
func (d *document) leftOut(above, line int) bool {
	for i := above + 1; i < line; i++ {
		if d.lines[i].text != "" {
			return true
		}
	}
	return false
}

// joins reports whether a part of a line goes on with the one above it.
func (d *document) joins(line int) bool {
	_, ok := d.glue(line)
	return ok
}

// shown returns a fragment's text with the marks after it; above: the next fragment follows directly.
func (d *document) shown(p choice, above bool) string {
	l := &d.lines[p.line]
	text := l.text[p.start:p.end]
	if d.clipped(p, above) {
		text += lex.ClipMark
	}
	if l.repeat > 0 {
		text += lex.RepeatMark(l.repeat)
	}
	return text
}

// clipped reports whether a fragment's line continues after it, other than in the next fragment shown.
func (d *document) clipped(p choice, above bool) bool {
	if l := &d.lines[p.line]; p.end == l.mark && strings.Trim(l.text[p.end:], " {:") == "" {
		return false // a signature without the block that it opens
	}
	return p.end < len(d.lines[p.line].text) || !above && p.line+1 < len(d.lines) && !d.lines[p.line+1].starts
}

// sourceLine returns the length of a summary line if enough of it occurs in the source, else 0.
func sourceLine(line, inSource string) int {
	if lex.Runes(withoutBullet(inSource)) < countedLine {
		return 0
	}
	return lex.Runes(line)
}

// withoutBullet removes the marker of a list item or a numbered line.
func withoutBullet(s string) string {
	if len(s) > 2 && strings.IndexByte("-*>", s[0]) >= 0 && s[1] == ' ' {
		s = strings.TrimLeft(s[2:], " ")
	}
	if n, rest, ok := cutNumber(s); ok && n >= 0 {
		s = strings.TrimLeft(rest, " ")
	}
	return s
}

// lead returns what precedes a fragment: `12|` before a whole line of a file, `• 12|` before a part from
// within it, a space before the line that follows the one above, `• ` before a part of a line without a number. That
// a log's stamp is missing needs no mark.
func (d *document) lead(p, last choice) string {
	number, within := d.lines[p.line].number, d.within(p)
	below := last.line == p.line-1
	switch {
	case d.continues(last, p):
		blank, joins := d.glue(p.line)
		if !joins {
			blank = " " // it has a line of its own
		}
		return blank
	case d.sameLine(last, p):
		return ""
	case number == 0 && within:
		return innerMark
	case number == 0:
		return ""
	case within && d.counted:
		return itoa(number) + ":" + lex.ClipMark
	case within: // `→` would be that of the tools that print files, which have it before whole lines
		return innerMark + itoa(number) + "|"
	case below && d.follows(p.line):
		return " "
	case d.around && d.lines[p.line].context: // as grep marks what is around its matches
		return itoa(number) + "-"
	case d.around:
		return itoa(number) + ":"
	case d.counted:
		return itoa(number) + ":"
	}
	return itoa(number) + "|"
}

const innerMark = "• "

// within reports whether a fragment does not begin at the start of its line.
func (d *document) within(p choice) bool {
	l := &d.lines[p.line]
	return p.start > 0 || !l.starts
}

// follows reports whether a line directly follows the previous one in its file, and so needs no number: one that is named has it all the same.
func (d *document) follows(i int) bool {
	return i > 0 && !d.pointedAt[d.lines[i].number] && d.lines[i].number > 1 && d.lines[i].number == d.lines[i-1].number+1 && d.lines[i].group == d.lines[i-1].group && d.lines[i].context == d.lines[i-1].context
}

// whole returns all lines if they take at most limit characters; otherwise ok is false.
func (d *document) whole(limit int) (text string, ok bool) {
	picks := make([]pick, 0, min(len(d.lines), limit+1))
	size := 0
	for i := range d.lines {
		if size += lex.Runes(d.lines[i].text) + 1; size > limit+1 {
			return "", false
		}
		picks = append(picks, pick{choice: choice{line: i, end: len(d.lines[i].text)}})
	}
	text = d.write(picks, nothing).text
	return text, lex.Runes(text) <= limit
}
