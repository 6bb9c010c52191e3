package records

import (
	"cmp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/summarize/envelope"
	"precis/summarize/lex"
	"precis/summarize/rules/words"
	"precis/summarize/verdict"
)

// find adds to a record the values that are named in keep, from any depth.
func (r *Record) find(v jsontext.Value, keep []string) {
	for _, text := range keep {
		if _, ok := r.values[text]; ok {
			continue
		}
		if found, ok := valueNamed(v, text, nil); ok {
			r.values[text] = lex.OneLine(found)
		}
	}
}

// Records in JSON are shown as a table: how many there are, their fields, and rows of the fields that tell them apart.

// record is one object: its members in order, scalars as text.
type Record struct {
	keys   []string
	inner  []string            // scalars in members, `user.login`
	values map[string]string   // of scalars, and of small objects: `112/237/325`
	shapes map[string][]string // the names in those objects: basic, economy, business
	size   int                 // of its text, in characters
	group  int                 // of the inner arrays that have several records, the number of its own; 0: there are none
}

// mostRecords bounds how many are read.
const mostRecords = 2000

// Of finds the largest array of objects in a text of JSON, or its lines of objects.
func Of(text string, keep []string) []Record {
	text = strings.TrimSpace(text)
	var list []jsontext.Value
	var groups []int
	if value := jsontext.Value(text); value.IsValid(envelope.Lenient) {
		largest := LargestArray(value, 0)
		if list, groups = largest.Elements, largest.groups; len(list) == 0 {
			list = keyed(value, 0)
		}
		size := 0
		for _, v := range list {
			size += len(v)
		}
		if size*leastShare < len(text) {
			return nil // such as the labels of an issue
		}
	} else {
		list = objectLines(text)
	}
	if len(list) < 2 {
		return nil
	}
	records := make([]Record, 0, len(list))
	for i, v := range list[:min(len(list), mostRecords)] {
		r := readRecord(v)
		r.size = lex.Runes(string(v))
		if groups != nil {
			r.group = groups[i]
		}
		r.find(v, keep)
		for _, s := range r.values {
			if len(s) > longestCell && (len(list) <= fewRecords || words.IsBlob(s)) {
				return nil // texts, of which a table would show nothing
			}
		}
		records = append(records, r)
	}
	apart(records)
	return records
}

// objectLines returns the lines of JSON lines that are objects, or nil if they are less than nine tenths of all: a program that shortens
// an output leaves notes and broken lines in it. Nil too if one of the others tells of an error.
func objectLines(text string) (list []jsontext.Value) {
	others := 0
	for line := range strings.SplitSeq(text, "\n") {
		switch v := jsontext.Value(strings.TrimSpace(line)); {
		case len(v) == 0:
		case v[0] == '{' && v.IsValid(envelope.Lenient):
			list = append(list, v)
		case verdict.TellsError(string(v)):
			return nil // what a table would not show
		default:
			others++
		}
	}
	if others*9 > len(list) {
		return nil
	}
	return list
}

// namedArray is an array of objects in a text of JSON.
type namedArray struct {
	Name     string // of the member that it is; empty for the whole
	Elements []jsontext.Value
	groups   []int // of an array of arrays of which one has several objects: the number of the array that each is in
}

// LargestArray returns the largest array of objects, at most three levels deep; of equal ones that with the most scalars, of which a table
// shows most.
func LargestArray(v jsontext.Value, depth int) (best namedArray) {
	const deepest = 3
	switch v.Kind() {
	case '[':
		var list []jsontext.Value
		if json.Unmarshal(v, &list, envelope.Lenient) != nil || len(list) == 0 {
			return best
		}
		if !slices.ContainsFunc(list, func(x jsontext.Value) bool { return x.Kind() != '[' }) {
			for i, x := range list {
				inner := LargestArray(x, depth).Elements
				best.Elements = append(best.Elements, inner...)
				best.groups = append(best.groups, slices.Repeat([]int{i + 1}, len(inner))...)
			}
			if len(best.Elements) <= len(list) {
				best.groups = nil
			}
			return best
		}
		if !slices.ContainsFunc(list, func(x jsontext.Value) bool { return x.Kind() != '{' }) {
			if len(list) == 1 { // the one job of a run, with its steps
				if inner := LargestArray(list[0], depth); len(inner.Elements) > 1 {
					return inner
				}
			}
			return namedArray{Elements: list}
		}
	case '{':
		if depth >= deepest {
			return best
		}
		for _, m := range keysOf(v) {
			inner := LargestArray(m.Value, depth+1)
			if inner.Name == "" {
				inner.Name = m.Name
			}
			if n, most := len(inner.Elements), len(best.Elements); n > most || n == most && n > 0 && inner.scalars() > best.scalars() {
				best = inner
			}
		}
	}
	return best
}

// keyed returns the members of the first object that holds records by their keys, `{"p1": {"price": 3, …}, "p2": …}`, at most two levels
// deep; nil if there is none. The key becomes a field, unless a field has it.
func keyed(v jsontext.Value, depth int) []jsontext.Value {
	const least, deepest = 4, 2
	if v.Kind() != '{' || depth > deepest {
		return nil
	}
	members := keysOf(v)
	var list []jsontext.Value
	var first []envelope.Member
	for _, m := range members {
		fields := keysOf(m.Value)
		if list == nil {
			first = fields
		}
		if len(fields) < 2 || len(fields)*2 < len(first) || fields[0].Name != first[0].Name {
			list = nil
			break
		}
		value := m.Value
		if !slices.ContainsFunc(fields, func(f envelope.Member) bool { return PlainValue(f.Value) == m.Name }) {
			name, err := jsontext.AppendQuote([]byte(`{"key":`), m.Name)
			if err != nil {
				return nil
			}
			value = append(append(name, ','), value[1:]...)
		}
		list = append(list, value)
	}
	if len(list) >= least {
		return list
	}
	for _, m := range members {
		if list := keyed(m.Value, depth+1); list != nil {
			return list
		}
	}
	return nil
}

// scalars returns how many members of the first element are scalars.
func (a namedArray) scalars() int {
	r := readRecord(a.Elements[0])
	return len(r.values) - len(r.inner)
}

// keysOf returns an object's members, in order.
func keysOf(v jsontext.Value) []envelope.Member {
	list, _ := envelope.Members(v)
	return list
}

func readRecord(v jsontext.Value) Record {
	r := Record{values: map[string]string{}, shapes: map[string][]string{}}
	for _, m := range keysOf(v) {
		r.keys = append(r.keys, m.Name)
		switch m.Value.Kind() {
		case '"':
			var s string
			if json.Unmarshal(m.Value, &s, envelope.Lenient) == nil {
				r.values[m.Name] = lex.OneLine(s)
			}
		case '0', 't', 'f':
			r.values[m.Name] = string(m.Value)
		case '{':
			r.within(m)
		}
	}
	return r
}

// within adds the scalars of a member that is a small object: `user.login`.
func (r *Record) within(m envelope.Member) {
	const small = 400 // bytes
	if len(m.Value) > small || r.together(m) {
		return
	}
	for _, inner := range keysOf(m.Value) {
		switch inner.Value.Kind() {
		case '"', '0', 't', 'f':
			name := m.Name + "." + inner.Name
			r.inner = append(r.inner, name)
			r.values[name] = lex.OneLine(PlainValue(inner.Value))
		}
	}
}

// together adds a small object as one value, if its values are short.
func (r *Record) together(m envelope.Member) bool {
	const most, longest = 4, 14
	var names, values []string
	for _, inner := range keysOf(m.Value) {
		value := PlainValue(inner.Value)
		if kind := inner.Value.Kind(); kind == '{' || kind == '[' || len(value) > longest || strings.ContainsAny(value, "/\n") {
			return false
		}
		names, values = append(names, inner.Name), append(values, cmp.Or(value, "-"))
	}
	if len(names) < 2 || len(names) > most {
		return false
	}
	r.values[m.Name], r.shapes[m.Name] = strings.Join(values, "/"), names
	return true
}
