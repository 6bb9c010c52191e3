package rules

import (
	"regexp"
	"strings"

	"precis/summarize/lex"
	"precis/summarize/rules/outline"
	"precis/summarize/rules/words"
)

// A diff is shown by file: `src/store.go +12 -3` above its lines. What git writes around them (index, ---, +++) is left out. A line of which nothing
// tells the file, since a part of the output is missing in front of it, stands below no file.

// aroundWorth is the factor on the worth of a line that did not change, and changedWorth the worth of one that did, apart from its identifiers: what
// changed mostly comes first, even if it has none.
const aroundWorth, changedWorth = 0.2, 0.03

// change is how much of a file a diff changes; in part, if lines of it are missing.
type change struct {
	added, removed int
	partly         bool
}

// looksDiff recognizes diffs of whatever tool, also below commits or a remark; a file's own text is one only if it begins as one.
func looksDiff(text string, category Category) bool {
	begins := strings.HasPrefix(text, "diff ") || strings.HasPrefix(text, "--- ") || strings.HasPrefix(text, "*** Begin Patch")
	if !begins && category == FileContent && !strings.HasPrefix(text, "From ") && !strings.HasPrefix(text, "Index: ") {
		return false
	}
	const git, new = "diff --git ", "\n+++ "
	if category == SearchResults || strings.HasPrefix(text, git) || strings.HasPrefix(text, "*** Begin Patch") || strings.Contains(text, "\n"+git) {
		return category != SearchResults || begins
	}
	for at := 0; ; {
		next := strings.Index(text[at:], new)
		if next < 0 {
			return strings.HasPrefix(text, "diff -")
		}
		at += next + 1
		name, below, _ := strings.Cut(text[at:], "\n")
		above := text[strings.LastIndexByte(text[:at-1], '\n')+1 : at-1]
		if strings.HasPrefix(above, "--- ") && pathOf(above) != "" && pathOf(name) != "" && below != "" && strings.IndexByte("@+- ", below[0]) >= 0 {
			return true
		}
	}
}

// pathOf reads the path behind `--- ` or `+++ `, in front of a time; empty if it is none.
func pathOf(text string) string {
	path, _, _ := strings.Cut(text[len("--- "):], "\t")
	if isPath(path) || strings.ContainsAny(path, "./") && !strings.ContainsAny(path, " ()") {
		return path
	}
	return ""
}

// newName is what a diff calls a file whose old and new names are given: without git's `a/` and `b/`.
func newName(old, now string) string {
	const none = "/dev/null"
	was, is := unprefixed(old), unprefixed(now)
	switch {
	case now == none:
		return was
	case was != old && is != now, old == none:
		return is
	}
	return now
}

// unprefixed cuts what git puts in front of a path: `a/`, `b/`, `i/`, `w/`.
func unprefixed(path string) string {
	if len(path) > 2 && path[1] == '/' && lex.IsLower(path[0]) {
		return path[2:]
	}
	return path
}

// fileOfDiff returns the file that a line says the next ones are of: "diff --git a/x b/x", "diff --cc x", "*** Update File: x", "diff -r a/x b/x".
func fileOfDiff(text string) (path string, ok bool) {
	for _, head := range []string{"diff --git ", "diff --cc ", "diff --combined ", "*** Update File: ", "*** Add File: ", "*** Delete File: ", "diff -"} {
		if path, ok = strings.CutPrefix(text, head); ok {
			break
		}
	}
	if !ok || text[0] == '*' {
		return path, ok
	}
	if half := len(path) / 2; path != "" && path[half] == ' ' && unprefixed(path[:half]) == unprefixed(path[half+1:]) {
		return newName(path[:half], path[half+1:]), true
	}
	if at := strings.LastIndex(path, " b/"); at >= 0 {
		return path[at+3:], true
	}
	return path[strings.LastIndexByte(path, ' ')+1:], true
}

// ofFile puts the lines to come under a file.
func (d *document) ofFile(path string, h hunk) {
	d.under, d.hunk, d.pieces = d.group(path), h, d.pieces+1 // a patch as agents write it has changes without `@@`
	for len(d.changes) < len(d.groups) {
		d.changes = append(d.changes, change{})
	}
}

// ofDiff puts a line of a diff under its file; it reports whether the line is only git's.
func (d *document) ofDiff(l *line) (drop bool) {
	text, old := l.text, d.old
	d.old = ""
	if strings.Contains(text, " truncated…") && cutWithin.MatchString(text) { // it ends as a line of who knows what
		d.cutDiff()
		d.under, d.hunk = words.None, hunk{}
		return false
	}
	if path, ok := fileOfDiff(text); ok {
		d.ofFile(path, hunk{free: !strings.HasPrefix(text, "diff --")})
		return true
	}
	if i := strings.Index(text, "]? "); i > 0 && text[0] == '(' && strings.Contains(text[:i], " this hunk [") { // git add -p asks before each hunk
		if text = text[i+len("]? "):]; !strings.HasPrefix(text, "@@ -") {
			return true
		}
		l.text = text
	}
	if next, ok := hunkOf(text); ok {
		d.pieces++
		d.hunk, l.group, l.around, l.piece = next, d.under, true, d.pieces // what stands behind the numbers is around the change, and not changed
		return false
	}
	switch {
	case d.hunk.open() && d.hunk.has(text) || d.hunk.begun && strings.HasPrefix(text, "\\"):
		return d.take(l)
	case d.hunk.open():
		if isMiddle(text) {
			d.cutDiff()
		}
		d.under = words.None // of the next commit, of the next command, or a remark that something is left out
		return false
	case strings.HasPrefix(text, "--- ") && pathOf(text) != "":
		d.old, d.oldAt = pathOf(text), len(d.lines)
		if !d.hunk.begun {
			l.group = d.under // unless the next line says that it names a file
		}
		return false
	case old != "" && strings.HasPrefix(text, "+++ ") && pathOf(text) != "":
		d.lines = d.lines[:min(len(d.lines), d.oldAt)]
		d.ofFile(newName(old, pathOf(text)), hunk{})
		return true
	case strings.HasPrefix(text, "*** Begin Patch") || strings.HasPrefix(text, "*** End Patch"):
		d.under = words.None
		return true
	case d.under == words.None || text == "":
	case d.hunk.begun, !d.hunk.free && strings.IndexByte(" +-@\\", text[0]) < 0 && !aboutFile(text), d.hunk.free && !classic.MatchString(text):
		for _, head := range []string{"index ", "similarity index", "dissimilarity index"} {
			if strings.HasPrefix(text, head) {
				return true
			}
		}
		d.under = words.None
	default:
		return d.take(l)
	}
	return false
}

// cutDiff notes that lines are missing of the file whose lines come.
func (d *document) cutDiff() {
	d.diffCut = true
	if d.under >= 0 && d.under < len(d.changes) {
		d.changes[d.under].partly = true
	}
}

// cutAtEnd notes that lines are missing behind or in front of a diff.
func (d *document) cutAtEnd() {
	if n := len(d.changes); d.cutOff && n > 0 {
		d.diffCut = true
		if d.capped == "last" {
			d.changes[0].partly = true
		} else {
			d.changes[n-1].partly = true
		}
	}
}

// changedInAll states how many files and lines a diff changes, and that it is a part of one.
func (d *document) changedInAll() string {
	var all change
	for _, c := range d.changes {
		all.added += c.added
		all.removed += c.removed
	}
	text := lex.Counted(len(d.changes), "file") + "," + all.String()
	switch {
	case d.capped != "":
		return text + " in " + d.capped + " " + lex.Counted(d.total, "line")
	case d.diffCut:
		return text + " in part"
	}
	return text
}

// take puts a line under the file, and counts it.
func (d *document) take(l *line) (drop bool) {
	if l.group = d.under; l.group >= 0 {
		d.changes[l.group].count(l.text)
	}
	switch {
	case l.text == "":
	case l.text[0] == ' ':
		l.favour, l.around, l.piece = aroundWorth, true, d.pieces // it did not change
	case l.text[0] == '@':
		d.pieces++
	case strings.IndexByte("+-<>", l.text[0]) >= 0:
		l.piece = d.pieces
	}
	return false
}

// cutWithin matches where an agent's program left out the middle of an output without a line break.
var cutWithin = regexp.MustCompile(`…[\d,]+ (?:tokens|chars|characters|bytes|lines) truncated…`)

// classic matches the lines of a diff without lengths: of the oldest form, and of a patch as agents write it.
var classic = regexp.MustCompile(`^(?:[-+<> @\\]|\d+(?:,\d+)?[acd]\d)`)

// hunk is the part of a file's diff that the next lines are of.
type hunk struct {
	begun bool   // the file has had one
	free  bool   // it has no lengths
	signs int    // columns of signs: one for each old version
	left  [4]int // lines to come, of the old versions and of the new one
}

func (h *hunk) open() bool { return h.left != [4]int{} }

// has takes a line as the hunk's next one; it is false for a line that is not the hunk's.
func (h *hunk) has(text string) bool {
	if strings.HasPrefix(text, "\\") {
		return true // "No newline at end of file"
	}
	signs := (text + "   ")[:h.signs]
	if strings.Trim(signs, "+- ") != "" {
		return false
	}
	left, missing, gone := h.left, false, strings.Contains(signs, "-")
	for i := range signs {
		if signs[i] == '-' || signs[i] == ' ' && !gone {
			left[i]--
			missing = missing || left[i] < 0
		}
	}
	if !gone {
		left[h.signs]--
		missing = missing || left[h.signs] < 0
	}
	if !missing {
		h.left = left
	}
	return !missing
}

// hunkOf reads how many lines of the old and of the new file a hunk has: `@@ -9,8 +9,10 @@`, of a merge `@@@ -9,8 -9,7 +9,10 @@@`. A missing number is 1.
func hunkOf(text string) (h hunk, ok bool) {
	rest := strings.TrimLeft(text, "@")
	h.begun, h.signs = true, len(text)-len(rest)-1
	ranges, _, closed := strings.Cut(rest, " @@")
	if h.signs < 1 || h.signs >= len(h.left) || !strings.HasPrefix(rest, " -") || !closed {
		return hunk{}, false
	}
	for i, part := range strings.Fields(ranges) {
		if i > h.signs {
			return hunk{}, false
		}
		h.left[i] = 1
		if _, n, ok := strings.Cut(part, ","); ok {
			h.left[i] = lex.Atoi(n)
		}
	}
	return h, true
}

// count counts a line that is added or removed.
func (c *change) count(text string) {
	switch {
	case text == "":
	case text[0] == '+' || text[0] == '>':
		c.added++
	case text[0] == '-' || text[0] == '<':
		c.removed++
	}
}

// aboutFile matches what git says of a whole file.
func aboutFile(text string) bool {
	for _, head := range []string{"new file", "deleted file", "old mode", "new mode", "rename ", "copy ", "Binary files", "GIT binary patch"} {
		if strings.HasPrefix(text, head) {
			return true
		}
	}
	return false
}

// groupName is what stands above the lines of a file.
func (d *document) groupName(g int) string {
	if g < len(d.changes) {
		return d.groups[g] + d.changes[g].String()
	}
	return d.groups[g]
}

// String is empty if no line changed, as of a file that was renamed, and if lines are missing.
func (c change) String() string {
	if c.partly || c == (change{}) {
		return ""
	}
	return " +" + itoa(c.added) + " -" + itoa(c.removed)
}

// declaresAt reports whether a changed line of code declares something: a file that is deleted is what it declared.
func (d *document) declaresAt(i int) bool {
	text := d.lines[i].text
	switch words.FileType(d.groups[d.lines[i].group]) {
	case "Markdown", "text", "reStructuredText", "AsciiDoc", "LaTeX":
		return false
	}
	indent, next := 0, ""
	if d.lines[i].indentedInDiff() {
		indent = 1
	}
	if i+1 < len(d.lines) && d.lines[i+1].text != "" {
		next = strings.TrimLeft(d.lines[i+1].text[1:], " ")
	}
	_, ok := outline.In(strings.TrimLeft(text[1:], " "), indent, next)
	return ok
}

// indentedInDiff reports whether a line of a diff has its text to the right of the margin.
func (l *line) indentedInDiff() bool {
	switch {
	case len(l.text) < 2 || l.text[0] == '@':
		return false
	case l.text[0] == ' ':
		return l.indent > 1
	}
	return l.text[1] == ' ' || l.text[1] == '\t'
}

// changedIn reads the path in a line of git's that names a changed file, of --stat, a merge or a status, and where the line
// may end: before the bars of --stat. It is empty for other lines.
func changedIn(text string) (path string, end int) {
	if name, rest, ok := strings.Cut(text, " | "); ok && isPath(name) {
		number := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		graph := strings.Trim(rest[number:], " +-")
		if number > 0 && graph == "" {
			return name, len(name) + len(" | ") + number
		}
		if strings.HasPrefix(rest, "Bin ") {
			return name, len(text)
		}
	}
	for _, what := range []string{"modified: ", "new file: ", "deleted: ", "renamed: ", "both modified: ", "both added: "} {
		if name, ok := strings.CutPrefix(text, what); ok && isPath(name) {
			return name, len(text)
		}
	}
	return "", 0
}

// changedFiles are the files that git's lines name, by the shortest end of their paths that tells them apart, with how many of their lines changed if it
// is said: those of which more did are worth more.
func (d *document) changedFiles() []landmark {
	var list []landmark
	var paths []string
	var counts []int
	most := 0
	for i := range d.lines {
		if path, end := changedIn(d.lines[i].text); end > 0 && len(list) < mostLandmarks {
			list = append(list, landmark{line: i, worth: fileWorth, place: true})
			_, number, _ := strings.Cut(d.lines[i].text, " | ")
			n := lex.Atoi(number)
			paths, counts, most = append(paths, path), append(counts, n), max(most, n)
		}
	}
	for i, name := range shortNames(paths) {
		m := &list[i]
		if m.name = name; counts[i] > 0 {
			m.count = " " + itoa(counts[i])
		}
		if most > 0 {
			m.share = float64(counts[i]) / float64(most)
			m.worth *= (1 + m.share) / 2
		}
	}
	return list
}
