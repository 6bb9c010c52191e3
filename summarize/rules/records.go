package rules

import (
	"cmp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Records in JSON are shown as a table: how many there are, their fields, and rows of the fields that tell them apart.

// record is one object: its members in order, scalars as text.
type dataRecord struct {
	keys   []string
	values map[string]string // of scalars
}

// mostRecords bounds how many are read.
const mostRecords = 2000

// recordsOf finds the largest array of objects in a text of JSON, or its lines of objects.
func recordsOf(text string, keep []string) []dataRecord {
	text = strings.TrimSpace(text)
	var list []jsontext.Value
	value := jsontext.Value(text)
	switch {
	case text == "":
		return nil
	case value.IsValid(lenient):
		list = largestArray(value, 0)
	case text[0] == '{':
		for line := range strings.SplitSeq(text, "\n") {
			if v := jsontext.Value(strings.TrimSpace(line)); len(v) > 0 && v.Kind() == '{' && v.IsValid(lenient) && len(list) < mostRecords {
				list = append(list, v)
			} else if len(v) > 0 {
				return nil
			}
		}
	}
	if len(list) < 2 {
		return nil
	}
	records := make([]dataRecord, 0, len(list))
	for _, v := range list[:min(len(list), mostRecords)] {
		r := readRecord(v)
		r.find(v, keep)
		for _, s := range r.values {
			if len(s) > longestCell && (len(list) <= fewRecords || isBlob(s)) {
				return nil // texts, of which a table would show nothing
			}
		}
		records = append(records, r)
	}
	return records
}

// numberedRecords returns a numbered view of JSON lines without the numbers; empty if a line is no object.
func numberedRecords(text string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		_, record, ok := cutNumber(line)
		switch {
		case strings.TrimSpace(line) == "" || ok && record == "":
		case !ok || !strings.HasPrefix(record, "{") || !strings.HasSuffix(record, "}"):
			return ""
		default:
			b.WriteString(record)
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// largestArray returns the elements of the largest array of objects, at most three levels deep.
func largestArray(v jsontext.Value, depth int) (best []jsontext.Value) {
	const deepest = 3
	switch v.Kind() {
	case '[':
		var list []jsontext.Value
		if json.Unmarshal(v, &list, lenient) != nil || len(list) == 0 {
			return nil
		}
		if !slices.ContainsFunc(list, func(x jsontext.Value) bool { return x.Kind() != '[' }) {
			var inner []jsontext.Value
			for _, x := range list {
				inner = append(inner, largestArray(x, depth)...)
			}
			return inner
		}
		if !slices.ContainsFunc(list, func(x jsontext.Value) bool { return x.Kind() != '{' }) {
			return list
		}
	case '{':
		if depth >= deepest {
			return nil
		}
		for _, key := range keysOf(v) {
			if list := largestArray(key.value, depth+1); len(list) > len(best) {
				best = list
			}
		}
	}
	return best
}

type jsonField struct {
	key   string
	value jsontext.Value
}

// keysOf returns an object's members, in order.
func keysOf(v jsontext.Value) (list []jsonField) {
	d := jsontext.NewDecoder(strings.NewReader(string(v)), lenient)
	if _, err := d.ReadToken(); err != nil {
		return nil
	}
	for d.PeekKind() == '"' {
		key, err := d.ReadToken()
		if err != nil {
			return list
		}
		name := key.String()
		value, err := d.ReadValue()
		if err != nil {
			return list
		}
		list = append(list, jsonField{name, slices.Clone(value)})
	}
	return list
}

func readRecord(v jsontext.Value) dataRecord {
	r := dataRecord{values: map[string]string{}}
	for _, m := range keysOf(v) {
		r.keys = append(r.keys, m.key)
		switch m.value.Kind() {
		case '"':
			var s string
			if json.Unmarshal(m.value, &s, lenient) == nil {
				r.values[m.key] = oneLine(s)
			}
		case '0', 't', 'f':
			r.values[m.key] = string(m.value)
		}
	}
	return r
}

// column is a field of the records.
type column struct {
	name   string
	filled int // in how many records it is a scalar
	width  int // of all its values together, each at most widest
	kinds  map[string]bool
}

const (
	longestCell = 4000 // bytes
	fewRecords  = 3
	widest      = 40 // characters of a cell
	mostColumns = 8
	leastRows   = 5 // that a table has room for
)

// about returns the scalars of an object around its records: `state=OPEN, title=Retry on timeout`.
func about(text string, room int) string {
	if !strings.HasPrefix(strings.TrimSpace(text), "{") || strings.Contains(strings.TrimSpace(text), "}\n{") {
		return ""
	}
	r := readRecord(jsontext.Value(strings.TrimSpace(text)))
	var parts []string
	for _, k := range r.keys {
		if v, ok := r.values[k]; ok && v != "" {
			part := k + "=" + clip(v, widest)
			if room -= runes(part) + 2; room < 0 {
				break
			}
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ", ")
}

// recordTable writes records in at most room characters, below what stands around them.
func recordTable(text string, records []dataRecord, keep []string, room int) string {
	around := about(text, room/3)
	if around != "" {
		room -= runes(around) + 1
	}
	return joinLines(around, rows(records, keep, room))
}

// rows writes a line with the fields, one with the columns' names, and the first records, equal rows once with their count.
func rows(records []dataRecord, keep []string, room int) string {
	var all []string
	by := map[string]*column{}
	for _, r := range records {
		for _, k := range r.keys {
			c := by[k]
			if c == nil {
				c = &column{name: k, kinds: map[string]bool{}}
				by[k] = c
				all = append(all, k)
			}
			if s, ok := r.values[k]; ok && s != "" {
				c.filled++
				c.width += min(runes(s), widest)
				c.kinds[s] = true
			}
		}
	}
	lines := []string{clip(thousands(len(records))+" records: "+strings.Join(all, ", "), room*2/5)}
	left := room - runes(lines[0]) - 1
	columns := keptColumns(records, keep)
	for _, name := range columnsOf(all, by, len(records), left-keptWidth(records, columns)) {
		if !slices.Contains(columns, name) && len(columns) < mostColumns {
			columns = append(columns, name)
		}
	}
	if len(columns) == 0 {
		return lines[0]
	}
	head := strings.Join(columns, " | ")
	left -= runes(head) + 1
	lines = append(lines, head)
	var list []string
	count := map[string]int{}
	for _, r := range records {
		cells := make([]string, len(columns))
		for i, name := range columns {
			cells[i] = strings.ReplaceAll(clip(r.values[name], widest), "|", "/")
		}
		row := strings.TrimRight(strings.Join(cells, " | "), " ")
		if count[row]++; count[row] == 1 {
			list = append(list, row)
		}
	}
	for _, row := range list {
		if n := count[row]; n > 1 {
			row += repeatMark(n - 1)
		}
		if left -= runes(row) + 1; left < 0 {
			break
		}
		lines = append(lines, row)
	}
	return strings.Join(lines, "\n")
}

// columnsOf chooses the fields of the rows: ids, names and states first, then what differs; narrow ones, so that some
// records can be shown.
func columnsOf(all []string, by map[string]*column, n, room int) []string {
	var list []*column
	for _, k := range all {
		if c := by[k]; c.filled*2 >= n && plainName(k) {
			list = append(list, c)
		}
	}
	rank := func(c *column) int {
		low := strings.ToLower(c.name)
		switch {
		case low == "id" || strings.HasSuffix(low, "_id") || strings.HasSuffix(c.name, "Id") || low == "number" || low == "key" || low == "path" || low == "sha":
			return 0
		case strings.HasSuffix(low, "name") || strings.HasSuffix(low, "title") || low == "status" || low == "state" || low == "type":
			return 1
		case len(c.kinds) == 1:
			return 3
		}
		return 2
	}
	slices.SortStableFunc(list, func(a, b *column) int { return cmp.Or(rank(a)-rank(b), a.width/a.filled-b.width/b.filled) })
	const leastColumns = 3
	rows := min(n, leastRows)
	var names []string
	width := 0
	for _, c := range list {
		w := (c.width/c.filled+3)*rows + runes(c.name) + 3
		if len(names) >= mostColumns || len(names) >= leastColumns && width+w > room {
			continue
		}
		width += w
		names = append(names, c.name)
	}
	slices.SortFunc(names, func(a, b string) int { return slices.Index(all, a) - slices.Index(all, b) })
	return names
}

func plainName(k string) bool {
	for i := range len(k) {
		if !wordByte[k[i]] && k[i] != '.' {
			return false
		}
	}
	return k != ""
}
