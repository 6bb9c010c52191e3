package columns

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"precis/summarize/lex"
)

const (
	leastRows    = 4
	leastColumns = 3
	mostRows     = 400  // that are read: a longer table is cut there
	mostLines    = 3    // around the table, such as a program's warning
	longestLine  = 160  // of those, in characters
	longestRow   = 2000 // bytes
	longestText  = 1 << 16
	manyRows     = 12 // of which texts are clipped more
	gap          = "  "
)

// table is a table as it was printed.
type table struct {
	head  []string // empty: it has none
	rows  [][]string
	other []string // lines that are none of its rows
	more  int      // rows that are not read
}

// Sketch shows a table in at most room characters; empty if the text is none.
func Sketch(text string, room int) string {
	text = strings.Trim(text, "\n")
	behind := 0
	if len(text) > longestText {
		end := strings.LastIndexByte(text[:longestText], '\n')
		if end < 0 {
			return ""
		}
		behind = strings.Count(text[end+1:], "\n") + 1
		text = text[:end]
	}
	lines := strings.Split(text, "\n")
	for _, read := range []func([]string) (table, bool){ruled, aligned, tabbed} {
		if t, ok := read(lines); ok && len(t.rows) >= leastRows && len(t.other) <= mostLines {
			t.more += behind
			return t.sketch(room)
		}
	}
	return ""
}

// add takes a row, or counts it.
func (t *table) add(cells []string) {
	if len(t.rows) == mostRows {
		t.more++
		return
	}
	t.rows = append(t.rows, cells)
}

// ruled reads what psql, MySQL and SQLite print: `id | name`, a rule below it.
func ruled(lines []string) (t table, ok bool) {
	bars := func(line string) string {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "|") && strings.HasSuffix(line, "|") && len(line) > 1 { // MySQL's
			line = line[1 : len(line)-1]
		}
		return line
	}
	cells := func(line string) []string {
		list := strings.Split(bars(line), "|")
		for i := range list {
			list[i] = lex.OneLine(strings.TrimSpace(list[i]))
		}
		return list
	}
	rule := func(i int) bool { return i >= 0 && i < len(lines) && isRule(strings.TrimSpace(lines[i])) }
	head := 0
	for i, line := range lines {
		switch bare := strings.TrimSpace(line); {
		case bare == "" || isRule(bare):
		case t.head == nil && strings.Contains(bare, "|") && rule(i+1):
			t.head, head = cells(line), i
		case t.head != nil && rule(i+1) && (bare[0] != '|' || rule(i-1) && i > head+2): // of a second table; MySQL has a rule behind the last row, too
			return t, false
		case t.head != nil && strings.Count(bars(line), "|") == len(t.head)-1:
			t.add(cells(line))
		default:
			if t.other = append(t.other, bare); len(t.other) > mostLines {
				return t, false
			}
		}
	}
	return t, len(t.head) >= leastColumns
}

func isRule(line string) bool {
	return len(line) >= 3 && strings.Trim(line, "-+|") == "" && strings.Contains(line, "--") && strings.Contains(line, "+")
}

// heading matches the names of columns in capitals: CONTAINER ID, %CPU, PORT(S).
var heading = regexp.MustCompile(`^[A-Z%][A-Z0-9 ()/%_.-]*$`)

// aligned reads columns below their names in capitals.
func aligned(lines []string) (t table, ok bool) {
	if strings.Contains(lines[0], "\t") || !heading.MatchString(strings.TrimSpace(lines[0])) {
		return t, false
	}
	var at []int
	for i := range lines[0] { // the names are ASCII
		if lines[0][i] != ' ' && (len(at) == 0 || i > 1 && lines[0][i-2:i] == gap) {
			at = append(at, i)
		}
	}
	if len(at) < leastColumns {
		return t, false
	}
	t.head = cutAt(lines[0], at)
	for _, line := range lines[1:] {
		if strings.Count(strings.Join(strings.Fields(line), " "), " ") >= leastColumns-1 && strings.Contains(strings.TrimSpace(line), gap) && heading.MatchString(strings.TrimSpace(line)) {
			return t, false // the names of a second table's columns
		}
		cells := cutAt(line, at)
		if cells == nil {
			if t.other = append(t.other, strings.TrimSpace(line)); len(t.other) > mostLines {
				return t, false
			}
			continue
		}
		t.add(cells)
	}
	return t, true
}

// cutAt cuts a line at columns; nil if something runs over the border between two.
func cutAt(line string, at []int) []string {
	if len(line) > longestRow {
		return nil
	}
	runes := []rune(line)
	cells := make([]string, len(at))
	for i, from := range at {
		to := len(runes)
		if i+1 < len(at) {
			to = min(to, at[i+1])
		}
		if from >= len(runes) {
			continue
		}
		if from > 0 && runes[from-1] != ' ' {
			return nil
		}
		cells[i] = strings.TrimSpace(string(runes[from:to]))
	}
	if cells[0] == "" || !slices.ContainsFunc(cells[1:], func(c string) bool { return c != "" }) {
		return nil
	}
	return cells
}

// tabbed reads rows that have tabs between their cells, with names above them or not.
func tabbed(lines []string) (t table, ok bool) {
	n := strings.Count(lines[0], "\t")
	if n+1 < leastColumns {
		return t, false
	}
	for i, line := range lines {
		if strings.Count(line, "\t") != n || len(line) > longestRow {
			return t, false
		}
		cells := strings.Split(line, "\t")
		for k := range cells {
			cells[k] = lex.OneLine(strings.TrimSpace(cells[k]))
		}
		if i == 0 && !slices.ContainsFunc(cells, func(c string) bool { return !heading.MatchString(c) }) {
			t.head = cells
			continue
		}
		t.add(cells)
	}
	return t, true
}

// failing matches what a row says that is not as it should be.
var failing = regexp.MustCompile(`(?i)\b(?:fail(?:ed|ing|ure|s)?|err(?:or|ored)?|crashloopbackoff|\w+backoff|backoff|errimage\w+|oomkilled|evicted|pending|notready|unhealthy|restarting|exited \([1-9]\d*\)|terminating|warning|cancel{1,2}ed|time[d-]?[ _-]?out|lost|degraded|unavailable|unreachable|dead|stopped|overdue|disputed|refused|suspended|blocked|conflict)\b`)

// fails reports whether a cell says that something is not as it should be; a title may speak of failures.
func fails(cell string) bool {
	const mostWords = 5 // `Exited (137) 26 hours ago`
	return strings.Count(cell, " ") < mostWords && failing.MatchString(cell)
}

// sketch writes the rows.
func (t *table) sketch(room int) string {
	t.other = slices.DeleteFunc(t.other, func(line string) bool { return line == "" })
	for i := range t.other {
		t.other[i] = lex.Clip(t.other[i], longestLine)
	}
	said, shown := t.constant()
	size := func(lines []string) int { return lex.Runes(strings.Join(lines, "\n")) + 1 }
	left := room - size(t.other) - lex.Runes(said) - 1
	widths := t.widths(shown, left)
	rows := t.chosen(shown, widths, left)
	var out []string
	if said != "" {
		out = append(out, said)
	}
	if len(t.head) > 0 {
		out = append(out, row(t.head, shown, widths))
	}
	for _, i := range rows {
		out = append(out, row(t.rows[i], shown, widths))
	}
	if n := len(t.rows) - len(rows) + t.more; n > 0 {
		out = append(out, more(n))
		out[len(out)-1] += t.named(rows, room-size(out)-size(t.other))
	}
	text := strings.Join(append(out, t.other...), "\n")
	if len(rows) == 0 || lex.Runes(text) > room {
		return ""
	}
	return text
}

func more(n int) string { return "+" + lex.Counted(n, "row") }

// named names the rows that are not shown, as far as there is room: `: redis-master-0, redis-master-1`.
func (t *table) named(shown []int, room int) string {
	column := max(0, slices.IndexFunc(t.head, func(h string) bool { return strings.EqualFold(h, "NAMES") || strings.EqualFold(h, "NAME") }))
	seen := map[string]bool{}
	for _, r := range t.rows {
		if r[column] == "" || seen[r[column]] {
			return "" // they are no names
		}
		seen[r[column]] = true
	}
	var b strings.Builder
	for i, r := range t.rows {
		if _, found := slices.BinarySearch(shown, i); found {
			continue
		}
		text := ", " + r[column]
		if b.Len() == 0 {
			text = ": " + r[column]
		}
		if lex.Runes(text) > room {
			break
		}
		room -= lex.Runes(text)
		b.WriteString(text)
	}
	return b.String()
}

// constant says what all rows have, `NAMESPACE=ledger`, and returns the other columns.
func (t *table) constant() (said string, shown []int) {
	var list []string
	for k := range t.rows[0] {
		value := t.rows[0][k]
		differs := len(t.head) == 0 || k == 0 || t.more > 0 || // rows that were not read may differ
			slices.ContainsFunc(t.rows, func(r []string) bool { return r[k] != value })
		switch {
		case differs:
			shown = append(shown, k)
		case value != "":
			list = append(list, t.head[k]+"="+lex.Clip(value, longestLine/4))
		}
	}
	if len(list) > 0 {
		said = "all " + lex.Counted(len(t.rows)+t.more, "row") + ": " + strings.Join(list, ", ")
	}
	return said, shown
}

// leasts are to how many characters columns are clipped, by their names: what names a row and its state are told, a message by its beginning.
var leasts = map[string]int{
	"NAME": 44, "NAMES": 44, "STATUS": 44, "STATE": 44, "OBJECT": 36, "REASON": 24, "MESSAGE": 90, "TITLE": 60, "IMAGE": 30, "CONTAINER ID": 12, "IMAGE ID": 12,
	"COMMAND": 8, "CREATED": 8, "PORTS": 12, "UPDATED": 10, "LABELS": 12, "CONTAINERS": 16, "SELECTOR": 12,
}

// least is to what a column is clipped: one of texts less than one of values.
func (t *table) least(k int) int {
	const first, other, text, words = 40, 14, 64, 3
	if len(t.head) > 0 {
		if n := leasts[strings.ToUpper(t.head[k])]; n > 0 {
			return n
		}
	}
	blanks := 0
	for _, r := range t.rows {
		blanks += strings.Count(r[k], " ")
	}
	switch {
	case blanks > words*len(t.rows) && len(t.rows) > manyRows:
		return text * 2 / 3
	case blanks > words*len(t.rows):
		return text
	case k == 0:
		return first
	}
	return other
}

// widths clips the widest column until all rows fit, or none can be clipped any more.
func (t *table) widths(shown []int, room int) []int {
	widths, least := make([]int, len(t.rows[0])), make([]int, len(t.rows[0]))
	for _, k := range shown {
		least[k] = t.least(k)
		for _, r := range t.rows {
			widths[k] = max(widths[k], lex.Runes(r[k]))
		}
		if len(t.head) > 0 {
			widths[k] = max(widths[k], lex.Runes(t.head[k]))
		}
	}
	for t.size(shown, widths) > room {
		widest := -1
		for _, k := range shown {
			if widths[k] > least[k] && (widest < 0 || widths[k] > widths[widest]) {
				widest = k
			}
		}
		if widest < 0 {
			break
		}
		widths[widest] = max(least[widest], widths[widest]-max(1, widths[widest]/10))
	}
	return widths
}

// size is what all rows take at most.
func (t *table) size(shown, widths []int) (n int) {
	of := func(cells []string) {
		n += (len(shown)-1)*len(gap) + 1
		for _, k := range shown {
			n += max(1, min(widths[k], utf8.RuneCountInString(cells[k])))
		}
	}
	if len(t.head) > 0 {
		of(t.head)
	}
	for _, r := range t.rows {
		of(r)
	}
	if t.more > 0 {
		n += len(more(t.more)) + 1
	}
	return n
}

// chosen returns the rows that fit, in order: those that say of a failure, then the first ones.
func (t *table) chosen(shown, widths []int, room int) (list []int) {
	if t.size(shown, widths) <= room {
		for i := range t.rows {
			list = append(list, i)
		}
		return list
	}
	room -= len(more(len(t.rows)+t.more)) + 1
	if len(t.head) > 0 {
		room -= lex.Runes(row(t.head, shown, widths)) + 1
	}
	for _, first := range []bool{true, false} {
		for i, r := range t.rows {
			if slices.ContainsFunc(r, fails) != first {
				continue
			}
			size := lex.Runes(row(r, shown, widths)) + 1
			if size > room {
				break
			}
			room -= size
			list = append(list, i)
		}
	}
	slices.Sort(list)
	return list
}

// row writes cells with two blanks between them; `-` is an empty one.
func row(cells []string, shown, widths []int) string {
	var b strings.Builder
	for n, k := range shown {
		if n > 0 {
			b.WriteString(gap)
		}
		cell := cells[k]
		if cell == "" {
			cell = "-"
		}
		b.WriteString(clip(cell, widths[k]))
	}
	return strings.TrimRight(strings.TrimSuffix(b.String(), gap+"-"), " ")
}

// clip cuts a cell, a path or an address in its middle: the file, the version, the number of a job are at its end.
func clip(cell string, most int) string {
	if utf8.RuneCountInString(cell) <= most {
		return cell
	}
	if strings.Contains(cell, "/") && !strings.Contains(cell, " ") {
		runes := []rune(cell)
		front := most / 3
		return string(runes[:front]) + lex.ClipMark + string(runes[len(runes)-most+front+1:])
	}
	return lex.Clip(cell, most)
}
