package rules

import (
	"strings"

	"precis/summarize/lex"
	"precis/summarize/rules/words"
)

// A diff is shown by file: `src/store.go +12 -3` above its lines. What git writes around them (index, ---, +++) is left out.

// change is how much of a file a diff changes.
type change struct{ added, removed int }

// looksDiff recognizes git's diffs, also below commits.
func looksDiff(text string, category Category) bool {
	const head = "diff --git "
	return strings.HasPrefix(text, head) || category == CommandOutput && strings.Contains(text, "\n"+head)
}

// ofDiff puts a line of a diff under its file; it reports whether the line is only git's.
func (d *document) ofDiff(l *line) (drop bool) {
	text := l.text
	if path, ok := strings.CutPrefix(text, "diff --git "); ok {
		if at := strings.LastIndex(path, " b/"); at >= 0 {
			path = path[at+3:]
		}
		d.under, d.hunk = d.group(path), hunk{}
		for len(d.changes) < len(d.groups) {
			d.changes = append(d.changes, change{})
		}
		return true
	}
	if d.under == words.None {
		return false
	}
	if i := strings.Index(text, "]? "); i > 0 && text[0] == '(' && strings.Contains(text[:i], " this hunk [") { // git add -p asks before each hunk
		if text = text[i+len("]? "):]; !strings.HasPrefix(text, "@@ -") {
			return true
		}
		l.text = text
	}
	c := &d.changes[d.under]
	if old, now, ok := hunkLengths(text); ok {
		d.hunk = hunk{begun: true, old: old, now: now}
		l.group = d.under
		return false
	}
	if d.hunk.begun {
		if !d.hunk.has(text) {
			if text != "" {
				d.under = words.None // of the next commit, or of the next command
			}
			return false
		}
		c.count(text)
		l.group = d.under
		if strings.HasPrefix(text, " ") {
			l.favour = dullWorth // it did not change
		}
		return false
	}
	for _, head := range []string{"index ", "similarity index", "dissimilarity index", "--- ", "+++ "} {
		if strings.HasPrefix(text, head) {
			return true
		}
	}
	if text != "" && strings.IndexByte(" +-@\\", text[0]) < 0 && !aboutFile(text) {
		d.under = words.None
		return false
	}
	c.count(text)
	l.group = d.under
	return false
}

// hunk is the part of a file's diff that the next lines are of.
type hunk struct {
	begun    bool // the file has had one
	old, now int  // lines to come, of the file as it was and as it is
}

// has takes a line as the hunk's next one; it is false for a line that is not the hunk's.
func (h *hunk) has(text string) bool {
	switch {
	case strings.HasPrefix(text, "\\"):
		return true // "No newline at end of file"
	case strings.HasPrefix(text, "+") && h.now > 0:
		h.now--
	case strings.HasPrefix(text, "-") && h.old > 0:
		h.old--
	case (text == "" || text[0] == ' ') && h.old > 0 && h.now > 0:
		h.old, h.now = h.old-1, h.now-1
	default:
		return false
	}
	return true
}

// hunkLengths reads how many lines of the old and of the new file a hunk has: `@@ -9,8 +9,10 @@`. A missing number is 1.
func hunkLengths(text string) (old, now int, ok bool) {
	rest, isHunk := strings.CutPrefix(text, "@@ -")
	ranges, _, closed := strings.Cut(rest, " @@")
	was, is, both := strings.Cut(ranges, " +")
	if !isHunk || !closed || !both {
		return 0, 0, false
	}
	length := func(s string) int {
		if _, n, ok := strings.Cut(s, ","); ok {
			return lex.Atoi(n)
		}
		return 1
	}
	return length(was), length(is), true
}

// count counts a line that is added or removed.
func (c *change) count(text string) {
	if strings.HasPrefix(text, "+") {
		c.added++
	} else if strings.HasPrefix(text, "-") {
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

// String is empty if no line changed: a file that was renamed.
func (c change) String() string {
	if c == (change{}) {
		return ""
	}
	return " +" + itoa(c.added) + " -" + itoa(c.removed)
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

// changedFiles are the files that git's lines name, by the shortest end of their paths that tells them apart.
func (d *document) changedFiles() []landmark {
	var list []landmark
	var paths []string
	for i := range d.lines {
		if path, end := changedIn(d.lines[i].text); end > 0 && len(list) < mostLandmarks {
			list = append(list, landmark{line: i, worth: fileWorth, place: true})
			paths = append(paths, path)
		}
	}
	for i, name := range shortNames(paths) {
		list[i].name = name
	}
	return list
}
