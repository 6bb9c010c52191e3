package rules

import (
	"regexp"
	"slices"
	"strings"

	"precis/summarize/lex"
	"precis/summarize/rules/call"
	"precis/summarize/rules/words"
)

// unnumbered returns a numbered view without the numbers; empty if a line has none, or if the first begins with none of the given signs.
func unnumbered(text, first string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		_, rest, ok := cutNumber(line)
		if !ok && strings.TrimSpace(line) != "" {
			return ""
		}
		if b.Len() == 0 && rest != "" && strings.IndexByte(first, rest[0]) < 0 {
			return ""
		}
		b.WriteString(rest)
		b.WriteByte('\n')
	}
	return b.String()
}

// shape is the form of a text, whatever tool it came from.
type shape int

const (
	shapePlain    shape = iota
	shapeNumbered       // "12→text", "12: text": a numbered view of a file
	shapeMatches        // "path:12:text" and "path-12-text": grep's output
	shapeOneFile        // "12:text" and "12-text": grep's output for one file
	shapePaths          // one path per line
	shapeJSON           // one JSON value, or one per line
	shapeHTML
	shapeDiff
	shapeSnapshot // a browser's accessibility tree
)

// sampled is how many lines determine the shape: enough to pass a preamble, and cheap.
const sampled = 80

// shapeOf determines the shape of a text by the majority of its first lines.
func shapeOf(content string) shape {
	head := strings.TrimSpace(content[:min(len(content), 4096)])
	switch {
	case head == "":
		return shapePlain
	case looksJSON(head):
		return shapeJSON
	case looksHTML(head):
		return shapeHTML
	case strings.HasPrefix(head, "diff --git "):
		return shapeDiff
	}
	return shapeByLines(content)
}

func shapeByLines(content string) shape {
	var lines, numbered, matches, paths, last int
	for n := 0; n < sampled && content != ""; n++ {
		line, rest, _ := strings.Cut(content, "\n")
		content = rest
		if len(strings.TrimSpace(line)) == 0 || strings.TrimSpace(line) == "--" {
			continue
		}
		if isTableRule(line) {
			return shapePlain // the numbers before its bars are ids
		}
		lines++
		if num, _, ok := cutNumber(line); ok && num > last {
			last = num
			numbered++
		} else if _, _, _, ok := cutMatch(line); ok {
			matches++
		} else if isPath(strings.TrimSpace(line)) {
			paths++
		}
	}
	switch {
	case numbered >= 3 && numbered*2 > lines:
		return shapeNumbered
	case matches >= 2 && matches*2 > lines:
		return shapeMatches
	case paths >= 2 && paths*10 >= lines*6:
		return shapePaths
	}
	return shapePlain
}

// isTableRule matches the line below a table's head: "-----+-----", "|---|---|".
func isTableRule(line string) bool {
	line = strings.TrimSpace(line)
	return len(line) >= 3 && strings.Trim(line, "-+|:= ") == "" && strings.Contains(line, "--") && strings.ContainsAny(line, "+|")
}

// looksJSON requires more than a bracket: "[INFO] …" and "{{template}}" are not JSON.
func looksJSON(head string) bool {
	if head[0] != '{' && head[0] != '[' {
		return false
	}
	inner := strings.TrimLeft(head[1:], " \t\r\n[{")
	if inner == "" {
		return false
	}
	if inner[0] == '}' || inner[0] == ']' {
		return true
	}
	if inner[0] == '"' {
		return head[0] == '[' || strings.Contains(inner, "\":") || strings.Contains(inner, "\" :")
	}
	number := strings.TrimLeft(inner, "0123456789.-eE \t\r\n")
	return head[0] == '[' && len(number) < len(inner) && strings.HasPrefix(number, ",") // "[12] link" is not JSON
}

func looksHTML(head string) bool {
	low := strings.ToLower(head[:min(len(head), 1024)])
	return strings.HasPrefix(low, "<!doctype html") || strings.HasPrefix(low, "<html") || strings.Contains(low, "<html") && strings.Contains(low, "<head")
}

// cutNumber splits the line number from a numbered view's line: "   12→text", "12\ttext", "12: text", "12 | text".
func cutNumber(line string) (number int, text string, ok bool) {
	i := 0
	for i < len(line) && (line[i] == ' ' || line[i] == '\t') {
		i++
	}
	start := i
	for i < len(line) && line[i] >= '0' && line[i] <= '9' && i-start < 8 {
		number = number*10 + int(line[i]-'0')
		i++
	}
	if i == start || i >= len(line) {
		return 0, "", false
	}
	rest := line[i:]
	for _, mark := range []string{"→", "\t", ":", "|", " |"} {
		if strings.HasPrefix(rest, mark) {
			return number, rest[len(mark):], true
		}
	}
	return 0, "", false
}

// cutMatch splits a grep line, "path:12:text" or "path-12-text" (context). A path has a dot or a slash
// and no spaces, so that "Note: 12: x" and times don't match.
func cutMatch(line string) (path string, number int, text string, ok bool) {
	if len(line) == 0 || line[0] == ' ' || line[0] == '\t' {
		return "", 0, "", false
	}
	limit := min(len(line), 400)
	for i := 1; i < limit; i++ {
		c := line[i]
		if c == ' ' || c == '\t' || c == '"' || c == '(' || c == ',' { // columns of a record are not a path
			return "", 0, "", false
		}
		if c != ':' && c != '-' {
			continue
		}
		if n, end, found := digitsThen(line, i+1, c); found && namesFile(line[:i], c) {
			return line[:i], n, line[end:], true
		}
	}
	return "", 0, "", false
}

// namesFile recognizes a path before a line number. Paths may contain dashes ("issue-108-fix/a.go"), so before
// a dash the path must end like a file's.
func namesFile(path string, sep byte) bool {
	if sep == ':' {
		return strings.ContainsAny(path, "./")
	}
	base := path[strings.LastIndexByte(path, '/')+1:]
	dot := strings.LastIndexByte(base, '.')
	return dot >= 0 && len(base)-dot <= 8
}

// digitsThen reads digits from i on, up to the line's first separator.
func digitsThen(line string, i int, sep byte) (n, end int, ok bool) {
	start := i
	for i < len(line) && line[i] >= '0' && line[i] <= '9' && i-start < 8 {
		n = n*10 + int(line[i]-'0')
		i++
	}
	if i == start || i >= len(line) || line[i] != sep {
		return 0, 0, false
	}
	return n, i + 1, true
}

// isPath matches a line that is only a path.
func isPath(line string) bool {
	if line == "" || len(line) > 400 || strings.ContainsAny(line, " \t\"'()<>{}=;,|*`") {
		return false
	}
	if strings.Contains(line, "://") {
		return false
	}
	if strings.Contains(line, "/") {
		return !words.IsBlob(line)
	}
	dot := strings.LastIndexByte(line, '.')
	return dot >= 0 && dot < len(line)-1 && len(line)-dot <= 8 && !strings.HasSuffix(line, ".")
}

// fileName returns the path that stands on a line of its own above matches: "src/a.go", "src/a.go:". A line that begins like
// a match ("12:os.path") is none, but for a name that begins like a context line ("2024-notes.md") where a file may begin.
func fileName(line string, begins bool) (path string, ok bool) {
	path = strings.TrimSuffix(line, ":")
	if line == "" || line[0] == ' ' || line[0] == '\t' || !isPath(path) && !dotFile.MatchString(path) {
		return "", false
	}
	if _, _, match := digitsThen(line, 0, ':'); match {
		return "", false
	}
	if _, _, context := digitsThen(line, 0, '-'); context {
		return path, begins && namesFile(path, '-')
	}
	return path, true
}

// dotFile matches what isPath takes for a dot and a long extension: ".gitignore".
var dotFile = regexp.MustCompile(`^\.[\w-]{1,40}$`)

// printedAs is a line above a file that a command prints beside others: head's and tail's "==> a.go <==", what loops echo, "--- a.go ---".
var printedAs = regexp.MustCompile(`^(?:==> (\S+) <==|(?:-{2,}|={2,}|#{2,}|\*{2,}) ?(?:FILE:? |File:? )?([\w@./-]*\w\.[A-Za-z]\w{0,9}|[\w@.-]+(?:/[\w@.-]+)+)(?: ?(?:-{2,}|={2,}|#{2,}|\*{2,}))?)$`)

// printedName returns the path in such a line.
func printedName(line string) (path string, ok bool) {
	if line == "" || strings.IndexByte("=-#*", line[0]) < 0 || len(line) > 300 {
		return "", false
	}
	if m := printedAs.FindStringSubmatch(line); m != nil {
		return m[1] + m[2], true
	}
	return "", false
}

// printsFiles recognizes several files, each below its name.
func printsFiles(content string) bool {
	const least = 2
	found := map[string]bool{}
	for line := range strings.Lines(content) {
		if path, ok := printedName(strings.TrimRight(line, "\r\n")); ok {
			if found[path] = true; len(found) >= least {
				return true
			}
		}
	}
	return false
}

// cutBelow splits a match below its file's name: "12:text", "  Line 12: text". One with a column keeps its own numbers.
func cutBelow(line string) (number int, text string, ok bool) {
	line = strings.TrimLeft(line, " \t")
	if rest, isLine := strings.CutPrefix(line, "Line "); isLine {
		number, end, ok := digitsThen(rest, 0, ':')
		if ok {
			return number, rest[end:], true
		}
		_, _, ok = digitsThen(rest, 0, ',')
		return 0, line, ok
	}
	return cutContext(line)
}

// looksHeaded recognizes matches below the names of their files.
func looksHeaded(content string) bool {
	lines, found, matches, above, begins := 0, 0, 0, false, true
	for n := 0; n < sampled && content != ""; n++ {
		line, rest, _ := strings.Cut(content, "\n")
		content = rest
		if strings.TrimSpace(line) == "" {
			begins = true
			continue
		}
		lines++
		_, ok := fileName(line, begins)
		begins = false
		if ok {
			above = true
			found++
		} else if _, _, ok := cutBelow(line); ok && above {
			found++
			matches++
		}
	}
	return matches >= 2 && found*2 > lines
}

// underName puts a match under its file's name; it reports whether the line is that name.
func (d *document) underName(l *line) (drop bool) {
	begins := d.under == words.None || len(d.lines) > 0 && d.lines[len(d.lines)-1].text == ""
	if path, ok := fileName(l.text, begins); ok {
		d.under = d.group(path)
		return true
	}
	if n, text, ok := cutBelow(l.text); ok && d.under != words.None {
		number := strings.TrimLeft(l.text, " \t")
		l.context = strings.HasPrefix(number, itoa(n)+"-")
		l.number, l.text, l.group = n, text, d.under
	}
	return false
}

// cutContext splits a match or context line of a search in one file: "12:text", "12-text".
func cutContext(line string) (number int, text string, ok bool) {
	for _, sep := range []byte(":-") {
		if n, end, found := digitsThen(line, 0, sep); found {
			return n, line[end:], true
		}
	}
	return 0, "", false
}

// looksNumbered recognizes a search in one file by its first lines.
func looksNumbered(content string) bool {
	lines, found := firstOf(content, sampled, func(line string) bool {
		_, _, ok := cutContext(line)
		return ok
	})
	return found >= 2 && found*2 > lines
}

// firstOf counts the first lines of a text, without blank ones and grep's separators, and those that are of a form.
func firstOf(content string, most int, has func(line string) bool) (lines, found int) {
	for line := range strings.Lines(content) {
		if most--; most < 0 {
			break
		}
		if line = strings.TrimRight(line, "\n"); strings.TrimSpace(line) == "" || line == "--" {
			continue
		}
		if lines++; has(line) {
			found++
		}
	}
	return lines, found
}

// cutBare splits a match without a line number: "src/a.go:func Open() {".
func cutBare(line string) (path, text string, ok bool) {
	i := strings.IndexByte(line, ':')
	if i <= 0 || strings.HasPrefix(line[i:], "://") || line[0] == ' ' || line[0] == '\t' || !isPath(line[:i]) {
		return "", "", false
	}
	return line[:i], line[i+1:], true
}

// looksBare recognizes a search without line numbers by its first lines.
func looksBare(content string) bool {
	lines, found := firstOf(content, sampled, func(line string) bool {
		_, _, ok := cutBare(line)
		return ok
	})
	return found >= 2 && found*3 >= lines*2
}

// undotted returns a view whose numbers have dots, "12. text" on every line, with the numbers of other views. A list in a text is none: not
// all of its lines are items.
func undotted(content string) (numbered string, ok bool) {
	const least = 5
	var b strings.Builder
	lines, last := 0, 0
	for line := range strings.Lines(content) {
		number, text, found := strings.Cut(line, ".")
		n := lex.Atoi(strings.TrimSpace(number))
		if !found || n == 0 || lines > 0 && n != last+1 {
			if strings.TrimSpace(line) != "" {
				return "", false
			}
			b.WriteString(line)
			continue
		}
		lines, last = lines+1, n
		b.WriteString(itoa(n) + "→" + strings.TrimPrefix(text, " "))
	}
	return b.String(), lines >= least
}

// divide tells which lines of which files an output has.
func (d *document) divide(list []call.Part, text string) {
	numbered := slices.ContainsFunc(list, func(p call.Part) bool { return p.Numbered })
	switch {
	case d.shape == shapeNumbered && len(list) > 1 && numbered && !overlapping(list) && !saysMiddle(text) && apart(list, text):
		d.parts = list
	case d.shape == shapePlain && !numbered && !(len(list) > 1 && saysMiddle(text)):
		d.parts = call.Settled(list, text)
		d.counted = len(d.parts) > 1 || len(d.parts) == 1 && d.parts[0].From > 1
	}
	d.unsure = len(list) == 1 && !numbered && d.shape != shapeNumbered && call.Settled(list, text) == nil
	var first *call.Part
	for i := range d.parts {
		if p := &d.parts[i]; p.Path != "" || p.From == 0 {
			if first == nil {
				first = p
			}
			d.several = d.several || p.Path != first.Path || p.Revision != first.Revision
		}
	}
}

// overlapping reports whether a line with a number may be of either of two files: the first one may end in front of it.
func overlapping(list []call.Part) bool {
	last := -1
	for i, p := range list {
		if p.Path == "" {
			continue
		}
		if last >= 0 && (p.Path != list[last].Path || p.Revision != list[last].Revision) && p.From > list[last].From && list[last].Has(p.From) {
			return true
		}
		last = i
	}
	return false
}

// signed returns the first part from some on that echo prints as a line; -1: none.
func signed(list []call.Part, from int, text string) int {
	for i := min(from, len(list)); i < len(list); i++ {
		if list[i].Says == text {
			return i
		}
	}
	return -1
}

// apart reports whether numbered lines of several files can be told apart: no file failed, all have their numbers, and between two signs the numbers
// begin anew for each file, or lines with such numbers are of one of them only.
func apart(list []call.Part, text string) bool {
	if call.Failed(text) || slices.ContainsFunc(list, func(p call.Part) bool { return p.Path != "" && !p.Numbered }) {
		return false
	}
	part, runs, last := 0, 0, 0
	told := func(to int) bool {
		var files []call.Part
		for _, p := range list[part:to] {
			if n := len(files); p.Path != "" && (n == 0 || files[n-1].Path != p.Path || files[n-1].Revision != p.Revision || !p.Next) {
				files = append(files, p)
			}
		}
		if runs == len(files) || len(files) < 2 && runs <= len(files) {
			return true
		}
		for i, p := range files {
			for _, q := range files[i+1:] {
				if p.From == 0 || q.From == 0 || p.Has(q.From) || q.Has(p.From) {
					return false
				}
			}
		}
		return runs <= len(files)
	}
	for raw := range strings.Lines(text) {
		raw = strings.TrimRight(raw, " \t\n")
		n, _, ok := cutNumber(raw)
		if !ok {
			n = lex.Atoi(strings.TrimSpace(raw)) // a blank line
		}
		if n == 0 {
			if next := signed(list, part, raw); raw != "" && next >= 0 {
				if !told(next) {
					return false
				}
				part, runs, last = next+1, 0, 0
			}
			continue
		}
		if last == 0 || n <= last {
			runs++
		}
		last = n
	}
	return told(len(list))
}

// place gives a line the number that it has in its file, and the file if there are several; it reports whether the line is one that echo printed.
func (d *document) place(l *line) (drop bool) {
	if d.shape == shapeNumbered {
		if l.number == 0 && l.text != "" {
			if next := signed(d.parts, d.part+min(d.partLine, 1), l.text); next >= 0 {
				d.part, d.partLine = next, 1
				return true
			}
		}
		for next := d.part + 1; next < len(d.parts); next++ {
			if l.number == 0 || d.parts[next].Path != "" && d.parts[d.part].Path != "" && l.number >= d.partLine && d.parts[d.part].Has(l.number) {
				break
			}
			if d.parts[next].Path != "" {
				d.part, d.partLine = next, 0
			}
		}
		d.partLine = max(l.number, d.partLine)
		if p := &d.parts[d.part]; l.number > 0 && p.Path != "" {
			p.Lines = max(p.Lines, l.number-p.From+1)
		}
	} else {
		if d.partLine == d.parts[d.part].Lines && d.part+1 < len(d.parts) {
			d.part, d.partLine = d.part+1, 0
		}
		if l.number = 0; d.parts[d.part].From > 0 {
			l.number = d.parts[d.part].From + d.partLine
		}
		d.partLine++
	}
	switch p := d.parts[d.part]; {
	case p.Path == "" && p.From > 0:
		l.number = 0
		return d.shape == shapePlain
	case p.Path == "":
		l.number = 0
	case d.several:
		l.group = d.group(p.Name(d.parts))
	}
	return false
}
