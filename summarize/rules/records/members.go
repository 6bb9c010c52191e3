package records

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

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

// WithoutMembers returns JSON, or a sequence of it, without the members that are named in drop. What follows an error in the JSON stays.
func WithoutMembers(source string, drop []string) (rest string, lines int) {
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

// valueNamed returns the first value that a text names: a string as it reads, anything else as JSON in one line.
func valueNamed(v jsontext.Value, text string, path []string) (string, bool) {
	switch v.Kind() {
	case '{':
		for _, m := range keysOf(v) {
			within := append(path, m.Name)
			if leadsTo(within, text) {
				return PlainValue(m.Value), true
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

func PlainValue(v jsontext.Value) string {
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
