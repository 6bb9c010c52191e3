package rules

import "strings"

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
		d.under = d.group(path)
		for len(d.changes) < len(d.groups) {
			d.changes = append(d.changes, change{})
		}
		return true
	}
	if d.under == none {
		return false
	}
	if text == "" || strings.IndexByte(" +-@\\", text[0]) < 0 {
		if strings.HasPrefix(text, "index ") || strings.HasPrefix(text, "similarity index") || strings.HasPrefix(text, "dissimilarity index") {
			return true
		}
		if text != "" && !aboutFile(text) {
			d.under = none // of the next commit
			return false
		}
	}
	if strings.HasPrefix(text, "--- ") || strings.HasPrefix(text, "+++ ") {
		return true
	}
	c := &d.changes[d.under]
	if strings.HasPrefix(text, "+") {
		c.added++
	} else if strings.HasPrefix(text, "-") {
		c.removed++
	}
	l.group = d.under
	return false
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
			list = append(list, landmark{line: i, worth: fileWorth})
			paths = append(paths, path)
		}
	}
	for i, name := range shortNames(paths) {
		list[i].name = name
	}
	return list
}
