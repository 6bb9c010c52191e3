package rules

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/summarize/lex"

	"precis/summarize/envelope"
)

// What a policy says of the outputs of one's own tools: what is shown first, and what is not shown. Of JSON, each text names members: by
// their name, or by the names that lead to them, joined by dots (`status.name` is the member name in any member status). Of any other
// text, it is a part of the lines.

// leadsTo reports whether the names that lead to a member end in what a text names.
func leadsTo(path []string, text string) bool {
	for i := len(path) - 1; i >= 0; i-- {
		if text == path[i] {
			return true
		}
		rest, ok := strings.CutSuffix(text, "."+path[i])
		if !ok {
			return false
		}
		text = rest
	}
	return false
}

// withoutDropped returns a source without what is named in drop, and how many of its lines have gone. Line breaks stay, so that the others
// keep their numbers.
func withoutDropped(source string, drop []string) (rest string, lines int) {
	if len(drop) == 0 {
		return source, 0
	}
	if shapeOf(source) == shapeJSON {
		return withoutMembers(source, drop)
	}
	var b strings.Builder
	for line := range strings.Lines(source) {
		text := strings.TrimRight(line, "\r\n")
		if slices.ContainsFunc(drop, func(part string) bool { return strings.Contains(text, part) }) {
			lines++
			line = line[len(text):]
		}
		b.WriteString(line)
	}
	return b.String(), lines
}

// withoutMembers returns JSON, or a sequence of it, without the members that are named in drop. What follows an error in the JSON stays.
func withoutMembers(source string, drop []string) (rest string, lines int) {
	m := copier{source: source, d: jsontext.NewDecoder(strings.NewReader(source), envelope.Lenient)}
	m.found = func(path []string) bool {
		return slices.ContainsFunc(drop, func(text string) bool { return leadsTo(path, text) })
	}
	for m.value() {
	}
	m.b.WriteString(source[m.copied:])
	return m.b.String(), m.lines
}

// copier copies JSON without some members.
type copier struct {
	source string
	d      *jsontext.Decoder
	found  func(path []string) bool
	path   []string
	b      strings.Builder
	copied int // how much of the source is copied or left out
	lines  int // left out
}

// value reads one value; false: there is none.
func (m *copier) value() bool {
	kind := m.d.PeekKind()
	if kind != '{' && kind != '[' {
		return m.d.SkipValue() == nil
	}
	if _, err := m.d.ReadToken(); err != nil {
		return false
	}
	if kind == '[' {
		for m.d.PeekKind() != ']' {
			if !m.value() {
				return false
			}
		}
	} else if !m.object() {
		return false
	}
	_, err := m.d.ReadToken()
	return err == nil
}

func (m *copier) object() bool {
	kept, left := 0, 0
	for m.d.PeekKind() == '"' {
		from := int(m.d.InputOffset()) // the comma is before the name
		key, err := m.d.ReadToken()
		if err != nil {
			return false
		}
		m.path = append(m.path, key.String())
		found := m.found(m.path)
		switch {
		case found:
			left++
			if m.d.SkipValue() != nil {
				return false
			}
			m.leave(from, int(m.d.InputOffset()))
		default:
			if kept++; kept == 1 && left > 0 {
				comma := from + strings.IndexByte(m.source[from:], ',')
				m.leave(comma, comma+1)
			}
			if !m.value() {
				return false
			}
		}
		m.path = m.path[:len(m.path)-1]
	}
	return m.d.PeekKind() == '}'
}

// leave leaves out a part of the source, but for its line breaks.
func (m *copier) leave(from, to int) {
	m.b.WriteString(m.source[m.copied:from])
	n := strings.Count(m.source[from:to], "\n")
	m.b.WriteString(strings.Repeat("\n", n))
	m.lines += n
	m.copied = to
}

// mostKept bounds how many lines are shown first.
const mostKept = 100

// kept returns the lines that hold what is named in keep: a member's name, in JSON.
func (d *document) kept(keep []string) (list []int) {
	if len(keep) == 0 {
		return nil
	}
	parts := slices.Clone(keep)
	if d.shape == shapeJSON {
		for i, text := range parts {
			parts[i] = `"` + text[strings.LastIndexByte(text, '.')+1:] + `"`
		}
	}
	for i := range d.lines {
		text := d.lines[i].text
		if slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) }) {
			if list = append(list, i); len(list) == mostKept {
				break
			}
		}
	}
	return list
}

// find adds to a record the values that are named in keep, from any depth.
func (r *dataRecord) find(v jsontext.Value, keep []string) {
	for _, text := range keep {
		if _, ok := r.values[text]; ok {
			continue
		}
		if found, ok := valueNamed(v, text, nil); ok {
			r.values[text] = lex.OneLine(found)
		}
	}
}

// valueNamed returns the first value that a text names: a string as it reads, anything else as JSON in one line.
func valueNamed(v jsontext.Value, text string, path []string) (string, bool) {
	switch v.Kind() {
	case '{':
		for _, m := range keysOf(v) {
			within := append(path, m.Name)
			if leadsTo(within, text) {
				return plainValue(m.Value), true
			}
			if found, ok := valueNamed(m.Value, text, within); ok {
				return found, true
			}
		}
	case '[':
		var list []jsontext.Value
		if json.Unmarshal(v, &list, envelope.Lenient) != nil {
			return "", false
		}
		for _, x := range list {
			if found, ok := valueNamed(x, text, path); ok {
				return found, true
			}
		}
	}
	return "", false
}

func plainValue(v jsontext.Value) string {
	var text string
	switch {
	case v.Kind() == 'n':
		return ""
	case v.Kind() == '"' && json.Unmarshal(v, &text, envelope.Lenient) == nil:
		return text
	}
	v = v.Clone()
	if v.Compact(envelope.Lenient) != nil {
		return ""
	}
	return string(v)
}

// keptColumns returns the columns for what is named in keep and stands in any record.
func keptColumns(records []dataRecord, keep []string) (names []string) {
	for _, text := range keep {
		if len(names) < mostColumns && slices.ContainsFunc(records, func(r dataRecord) bool { return r.values[text] != "" }) {
			names = append(names, text)
		}
	}
	return names
}

// keptWidth returns about how many characters columns take in the rows that a table should have at least.
func keptWidth(records []dataRecord, names []string) (width int) {
	for _, name := range names {
		width += lex.Runes(name) + 3
		for _, r := range records[:min(len(records), leastRows)] {
			width += min(lex.Runes(r.values[name]), widest) + 3
		}
	}
	return width
}
