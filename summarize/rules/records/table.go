package records

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/summarize/envelope"
	"precis/summarize/lex"
)

// keptColumns returns the columns for what is named in keep and stands in any record.
func keptColumns(records []Record, keep []string) (names []string) {
	for _, text := range keep {
		if len(names) < mostColumns && slices.ContainsFunc(records, func(r Record) bool { return r.values[text] != "" }) {
			names = append(names, text)
		}
	}
	return names
}

// keptWidth returns about how many characters columns take in the rows that a table should have at least.
func keptWidth(records []Record, names []string) (width int) {
	for _, name := range names {
		width += lex.Runes(name) + 3
		for _, r := range records[:min(len(records), leastRows)] {
			width += min(lex.Runes(r.values[name]), widest) + 3
		}
	}
	return width
}

// MostlyRecords reports whether records are most of a text: a file of settings has arrays of objects too, but is read for its lines.
func MostlyRecords(text string) bool {
	v := jsontext.Value(strings.TrimSpace(text))
	if !v.IsValid(envelope.Lenient) {
		return true
	}
	n := 0
	for _, e := range LargestArray(v, 0).Elements {
		n += len(e)
	}
	return n*3 > len(text)*2
}

// apart names the members of objects that are not the same in all records, or whose names would be taken for two: `size L, in/out in`.
func apart(records []Record) {
	differ := map[string]bool{}
	for _, r := range records {
		for name, names := range r.shapes {
			differ[name] = differ[name] || !slices.Equal(records[0].shapes[name], names) || strings.Contains(strings.Join(names, ""), "/")
		}
	}
	for _, r := range records {
		for name, names := range r.shapes {
			if !differ[name] {
				continue
			}
			values := strings.Split(r.values[name], "/")
			for i, value := range values {
				values[i] = names[i] + " " + value
			}
			r.values[name] = strings.Join(values, ", ")
			delete(r.shapes, name)
		}
	}
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
	leastShare  = 25   // records that are less than a 25th of a text are not what it is about
	fewRecords  = 3
	widest      = 40 // characters of a cell
	mostColumns = 8
	leastRows   = 5 // that a table has room for
)

// About returns the scalars of an object, and how many objects its arrays have, but for the one that is shown: `state=OPEN, files: 12 objects`. If
// not all fit, ids, names and states do. Values that are cut are longer as far as there is more room.
func About(text, shown string, room, more int) string {
	text = strings.TrimSpace(text)
	if inner, ok := OnlyObject(text); ok {
		text = inner
	}
	if !strings.HasPrefix(text, "{") || !jsontext.Value(text).IsValid(envelope.Lenient) {
		return ""
	}
	return Scalars(keysOf(jsontext.Value(text)), shown, room, more)
}

// OnlyObject returns the object that is all that an array has.
func OnlyObject(text string) (object string, ok bool) {
	var list []jsontext.Value
	if !strings.HasPrefix(text, "[") || json.Unmarshal([]byte(text), &list, envelope.Lenient) != nil || len(list) != 1 || list[0].Kind() != '{' {
		return "", false
	}
	return string(list[0]), true
}

// holdsOne reports whether an array has one element: its name is not that of the objects within it.
func holdsOne(v jsontext.Value) bool {
	var list []jsontext.Value
	return json.Unmarshal(v, &list, envelope.Lenient) == nil && len(list) == 1
}

// heldScalars writes a small list of scalars, an object of them or a list of one such object: `new_items: [77, 78]`, `payment(amount=12.5)`.
func heldScalars(name string, v jsontext.Value) string {
	const small, most = 300, 160 // bytes, characters
	if len(v) > small {
		return ""
	}
	open, end := ": [", "]"
	var parts []string
	if object, ok := OnlyObject(string(v)); ok {
		v = jsontext.Value(object)
	}
	if v.Kind() == '{' {
		open, end = "(", ")"
		for _, m := range keysOf(v) {
			if kind := m.Value.Kind(); kind == '{' || kind == '[' {
				return ""
			}
			if value := PlainValue(m.Value); value != "" {
				parts = append(parts, m.Name+"="+value)
			}
		}
	} else {
		var list []jsontext.Value
		if json.Unmarshal(v, &list, envelope.Lenient) != nil {
			return ""
		}
		for _, x := range list {
			if kind := x.Kind(); kind == '{' || kind == '[' {
				return ""
			}
			parts = append(parts, PlainValue(x))
		}
	}
	said := lex.OneLine(name + open + strings.Join(parts, ", ") + end)
	if len(parts) == 0 || lex.Runes(said) > most {
		return ""
	}
	return said
}

// money names what is paid and how much of a thing there is: what a row is compared by.
var money = regexp.MustCompile(`(?i)(?:^|[_.(, ])(?:total|sub_?total|amount|price|cost|fee|fare|balance|quantity|qty)s?(?:$|[_=(.])|(?:Total|Amount|Price|Cost|Balance|Quantity)s?$`)

func isMoney(name string) bool { return money.MatchString(name) }

func Scalars(members []envelope.Member, shown string, room, more int) string {
	type part struct {
		text, whole string
		at, rank    int
	}
	var parts []part
	for at, m := range members {
		said, whole, rank, wide := "", "", (&column{name: m.Name}).rank(), widest
		switch {
		case rank == titleRank:
			rank, wide = 0, 2*widest
		case rank == 0 && strings.HasSuffix(strings.ToLower(m.Name), "id") && len(m.Name) > len("id"):
			rank = withinField // another object's
		}
		switch m.Value.Kind() {
		case '{':
			said = heldScalars(m.Name, m.Value)
		case '"', '0', 't', 'f':
			if v := lex.OneLine(PlainValue(m.Value)); v != "" {
				said, whole = m.Name+"="+lex.Clip(v, wide), m.Name+"="+v
				if strings.HasPrefix(v, "https://") || strings.HasPrefix(v, "http://") {
					rank = withinField // that of the next request
				}
			}
		case '[':
			if n := len(LargestArray(m.Value, 0).Elements); n > 1 && m.Name != shown && !holdsOne(m.Value) {
				said = m.Name + ": " + lex.Thousands(n) + " objects"
			} else if n <= 1 {
				said = heldScalars(m.Name, m.Value)
			}
		}
		if rank > 0 && isMoney(said) {
			rank = 0
		}
		if said != "" {
			parts = append(parts, part{said, cmp.Or(whole, said), at, rank})
		}
	}
	slices.SortStableFunc(parts, func(a, b part) int { return a.rank - b.rank })
	parts = slices.DeleteFunc(parts, func(p part) bool {
		size := lex.Runes(p.text) + 2
		if size > room {
			return true
		}
		room -= size
		return false
	})
	slices.SortStableFunc(parts, func(a, b part) int { return len(a.whole) - len(b.whole) })
	for i, p := range parts {
		if over := lex.Runes(p.whole) - lex.Runes(p.text); over > 0 && more > leastMore {
			parts[i].text = lex.Clip(p.whole, lex.Runes(p.text)+min(over, more))
			more -= over
		}
	}
	slices.SortFunc(parts, func(a, b part) int { return a.at - b.at })
	list := make([]string, len(parts))
	for i, p := range parts {
		list[i] = p.text
	}
	return strings.Join(list, ", ")
}

// Table writes records in at most room characters, below what stands around them: less of that if the records show another field then. Missing is how
// many characters of the text the records have that have no row.
func Table(text string, records []Record, keep []string, room int) (table string, missing int) {
	shown := LargestArray(jsontext.Value(strings.TrimSpace(text)), 0).Name
	around := About(text, shown, room/aroundShare, 0)
	if around == "" {
		table, missing, _ = rows(shown, records, keep, room)
		return table, missing
	}
	table, missing, columns := rows(shown, records, keep, room-lex.Runes(around)-1)
	if less := About(text, shown, room/aroundShare/2, 0); less != "" && less != around {
		if wider, size, more := rows(shown, records, keep, room-lex.Runes(less)-1); more > columns && size <= missing {
			table, missing = wider, size
		}
	}
	left := room - lex.Runes(table) - 1
	around = About(text, shown, left, 0)
	return lex.JoinLines(About(text, shown, left, left-lex.Runes(around)), table), missing
}

// aroundShare is the share of what stands around records, at most.
const aroundShare = 3

// leastMore is how much longer a value that is cut must become, in characters.
const leastMore = 12

// rows writes how many records there are, with the values that all have in common and the fields without a column, then the columns' names,
// and the first records, equal rows once with their count.
func rows(name string, records []Record, keep []string, room int) (table string, missing, columns int) {
	all, inner, by := columnsIn(records)
	var same, varying []string
	for _, k := range all {
		c := by[k]
		if c.filled == len(records) && len(c.kinds) == 1 && plainName(k) && c.width <= widest*c.filled && !slices.Contains(keep, k) {
			same = append(same, k+shapeOf(records[0].shapes[k])+"="+lex.Clip(records[0].values[k], widest))
		} else {
			varying = append(varying, k)
		}
	}
	if len(varying) == 0 {
		same, varying = nil, all
	}
	counted := lex.Thousands(len(records)) + " records"
	if n := records[len(records)-1].group; n > 0 {
		counted += " in " + lex.Thousands(n) + " groups"
	} else if name != "" {
		counted += " in " + lex.Clip(lex.OneLine(name), widest)
	}
	head := func(columns []string) string {
		fields := slices.Clone(same)
		var without []string // objects with a shape that the table does not show
		var last []string
		for _, k := range varying {
			names := records[0].shapes[k]
			switch {
			case !slices.ContainsFunc(columns, func(c string) bool { return c == k || strings.HasPrefix(c, k+".") }):
				if len(names) > 0 {
					without = append(without, k)
				} else { // a part of it may be a column
					fields, last = append(fields, k), nil
				}
			case len(names) > 0 && slices.Equal(names, last):
				before, _, _ := strings.Cut(fields[len(fields)-1], "(")
				fields[len(fields)-1] = strings.TrimRight(before, " ") + ", " + k + " " + shapeOf(names)
			case len(names) > 0:
				fields, last = append(fields, k+shapeOf(names)), names
			}
		}
		if len(without) > 0 {
			without[0] = "without " + without[0]
		}
		fields = append(fields, without...)
		if len(fields) == 0 {
			return counted
		}
		return lex.Clip(counted+": "+strings.Join(fields, ", "), room*2/5)
	}
	kept := keptColumns(records, keep)
	t := recordRows{records: failedFirst(records), columns: kept, room: room - lex.Runes(head(varying)) - 1}
	t.choose(append(slices.Clone(varying), inner...), by, t.room-keptWidth(records, kept))
	first := head(t.columns)
	if len(t.columns) == 0 {
		return first, 0, 0
	}
	t.room = room - lex.Runes(first) - 1
	text, left, missing := t.write(widest)
	for wide := widest + widest/4; wide <= 6*widest; wide += widest / 4 { // while as many records fit
		if wider, fewer, size := t.write(wide); fewer <= left {
			text, missing = wider, size
		}
	}
	return first + "\n" + text, missing, len(t.columns)
}

// shapeOf writes the names in an object.
func shapeOf(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "(" + strings.Join(names, "/") + ")"
}

// failedFirst moves records whose state is a failure in front of the others, which may not all have room.
func failedFirst(records []Record) []Record {
	failed := func(r Record) bool {
		return slices.ContainsFunc(stateFields, func(name string) bool { return failedState.MatchString(r.values[name]) })
	}
	if n := len(records); !slices.ContainsFunc(records[min(n, leastRows):], failed) {
		return records
	}
	list := slices.Clone(records)
	slices.SortStableFunc(list, func(a, b Record) int {
		switch {
		case failed(a) && !failed(b):
			return -1
		case failed(b) && !failed(a):
			return 1
		}
		return 0
	})
	return list
}

var (
	stateFields = []string{"status", "state", "conclusion", "result", "outcome"}
	failedState = regexp.MustCompile(`(?i)^(?:fail(?:ed|ure)?|error(?:ed)?|timed_out|cancelled|broken)$`)
)

// columnsIn returns the fields of records, and those within them that differ, in the order in which they come.
func columnsIn(records []Record) (all, inner []string, by map[string]*column) {
	by = map[string]*column{}
	add := func(names []string, r Record, list *[]string) {
		for _, k := range names {
			c := by[k]
			if c == nil {
				c = &column{name: k, kinds: map[string]bool{}}
				by[k] = c
				*list = append(*list, k)
			}
			if s, ok := r.values[k]; ok && s != "" {
				c.filled++
				c.width += min(lex.Runes(s), widest)
				c.kinds[s] = true
			}
		}
	}
	for _, r := range records {
		add(r.keys, r, &all)
		add(r.inner, r, &inner)
	}
	return all, slices.DeleteFunc(inner, func(k string) bool { return len(by[k].kinds) < 2 }), by
}

// recordRows is a table of some fields of records.
type recordRows struct {
	records []Record
	columns []string
	room    int // in characters
}

// write writes the columns' names and the rows that fit, with cells of at most wide characters, and returns how many records have no row, and their characters. A row
// of several groups, as a flight of several connections, stands once with their numbers: `1-3,7: HAT110 | …`.
func (t *recordRows) write(wide int) (text string, without, missing int) {
	lines := []string{strings.Join(t.columns, " | ")}
	left := t.room - lex.Runes(lines[0])
	type row struct {
		text    string
		records []Record
	}
	var list []row
	at := map[string]int{}
	for _, r := range t.records {
		cells := make([]string, len(t.columns))
		for i, name := range t.columns {
			cells[i] = cmp.Or(strings.ReplaceAll(lex.Clip(r.values[name], wide), "|", "/"), "-")
		}
		text := strings.Join(cells, " | ")
		i, ok := at[text]
		if !ok {
			i = len(list)
			at[text] = i
			list = append(list, row{text: text})
		}
		list[i].records = append(list[i].records, r)
	}
	shown := 0
	for i := range list {
		switch l := &list[i]; {
		case l.records[0].group > 0:
			l.text = groupsOf(l.records) + ": " + l.text
		case len(l.records) > 1:
			l.text += lex.RepeatMark(len(l.records) - 1)
		}
		size, more := lex.Runes(list[i].text)+1, 0
		if i+1 < len(list) {
			more = len("\n+9,999 records")
		}
		if size+more > left {
			break
		}
		left -= size
		shown++
	}
	rest := func(shown int) (records []Record) {
		for _, l := range list[shown:] {
			records = append(records, l.records...)
		}
		return records
	}
	var firsts []Record // of each row
	for _, l := range list {
		firsts = append(firsts, l.records[0])
	}
	without, named := len(rest(shown)), ""
	if without > 0 {
		if all := t.names(firsts, shown, left-len("\n+9,999 records: ")); all != "" {
			named = ": " + all
		}
	}
	for _, l := range list[:shown] {
		lines = append(lines, l.text)
	}
	if without > 0 && len(lines) > 1 {
		lines = append(lines, "+"+lex.Counted(without, "record")+named)
	}
	for _, r := range rest(shown) {
		missing += r.size
	}
	return strings.Join(lines, "\n"), without, missing
}

// names returns the ids of the records from one on, or else their names, if they have room; empty if they have not, or nothing short tells all apart.
func (t *recordRows) names(records []Record, from, room int) string {
	const longest = 20 // characters of a name
	best, rank := "", titleRank+1
	for _, k := range t.columns {
		distinct, size, ordinals, times, commas := map[string]bool{}, 0, true, false, false
		for _, r := range records {
			v := r.values[k]
			distinct[v] = true
			size += lex.Runes(v)
			ordinals, times = ordinals && len(v) < len("100"), times || strings.Contains(v, ":")
			commas = commas || strings.Contains(v, ",") // it would look like two names
		}
		c := (&column{name: k, kinds: distinct}).rank()
		if k == t.columns[0] && !times {
			c = min(c, titleRank)
		}
		if c < rank && !ordinals && !commas && !isMoney(k) && len(distinct) == len(records) && size <= longest*len(records) {
			best, rank = k, c
		}
	}
	if best == "" {
		return ""
	}
	var list []string
	for _, r := range records[from:] {
		list = append(list, r.values[best])
	}
	if all := strings.Join(list, ", "); lex.Runes(all) <= room && slices.Index(list, "") < 0 {
		return all
	}
	return ""
}

// groupsOf returns the numbers of the groups of records: `1-3,7`.
func groupsOf(records []Record) string {
	var b strings.Builder
	for i := 0; i < len(records); i++ {
		from := records[i].group
		for i+1 < len(records) && records[i+1].group <= records[i].group+1 {
			i++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(from))
		if to := records[i].group; to > from {
			b.WriteString("-" + strconv.Itoa(to))
		}
	}
	return b.String()
}

// choose adds the fields of the rows: ids, names and states first, narrow ones, so that some records can be shown; then what differs, as
// long as the table shows more with it.
func (t *recordRows) choose(names []string, by map[string]*column, room int) {
	n, kept := len(t.records), len(t.columns)
	var list []*column
	for _, k := range names {
		if c := by[k]; c.filled*2 >= n && plainName(k) && !slices.ContainsFunc(t.columns, func(kept string) bool { return leadsTo(strings.Split(k, "."), kept) }) {
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b *column) int { return cmp.Or(a.rank()-b.rank(), a.width/a.filled-b.width/b.filled) })
	const leastColumns = 4
	head, row := 0, 0 // widths
	for _, c := range list {
		h, r := head+lex.Runes(c.name)+3, row+c.width/c.filled+3
		fits := h+r*min(n, leastRows) <= room
		if c.rank() == withinField || len(t.records[0].shapes[c.name]) > 0 && len(t.columns) >= leastColumns && !isMoney(c.name) {
			fits = h+r*n <= room // no record makes room for it
		}
		if len(t.columns) >= mostColumns || !fits && (len(t.columns) >= leastColumns || c.rank() == withinField) {
			continue
		}
		head, row = h, r
		t.columns = append(t.columns, c.name)
	}
	slices.SortStableFunc(t.columns[kept:], func(a, b string) int { return slices.Index(names, a) - slices.Index(names, b) })
}

// Ranks: titleRank is that of names and states, withinField that of what is not a record's own.
const titleRank, withinField = 1, 4

// rank orders fields by how much they tell of a record.
func (c *column) rank() int {
	low := strings.ToLower(c.name)
	switch {
	case strings.Contains(low, "."):
		return withinField
	case low == "id" || strings.HasSuffix(low, "_id") || strings.HasSuffix(c.name, "Id") || low == "number" || low == "key" || low == "path" || low == "sha":
		return 0
	case isMoney(c.name):
		return titleRank
	case strings.HasSuffix(low, "name") || strings.HasSuffix(low, "title") || low == "status" || low == "state" || low == "conclusion" || low == "result" || low == "identifier" || low == "type" || low == "level" || low == "msg" || low == "message":
		return titleRank
	case len(c.kinds) == 1:
		return 3
	}
	return 2
}

func plainName(k string) bool {
	for i := range len(k) {
		if !lex.WordByte[k[i]] && k[i] != '.' {
			return false
		}
	}
	return k != ""
}
