package ledger

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
	"precis/summarize/lex"
)

// Message is one message of a thread, at its current revision.
type Message struct {
	Ordinal uint64 // its position in the thread; ascending
	*events.Message
}

// arguments are the arguments of a call: names to values, or a text alone if they are not an object.
type arguments struct {
	fields map[string]any
	raw    string
}

// parseArguments reads an object, or a JSON string that contains one; anything else stays text.
func parseArguments(v jsontext.Value) arguments {
	text := string(v)
	var s string
	if v.Kind() == '"' && json.Unmarshal(v, &s) == nil {
		text = s
	}
	var fields map[string]any
	if err := json.Unmarshal([]byte(text), &fields, jsontext.AllowDuplicateNames(true)); err != nil {
		return arguments{raw: text}
	}
	return arguments{fields: fields}
}

// text returns the string under the first of the names that has one.
func (a arguments) text(names ...string) string {
	for _, n := range names {
		if s, ok := a.fields[n].(string); ok && s != "" {
			return s
		}
	}
	return ""
}

// brief describes a call in one line: the tool and its arguments.
func (a arguments) brief(tool string) string {
	out := oneLine(tool)
	a.strings(func(_, s string) {
		if s = oneLine(s); s != "" && len(out) < 100 {
			out += " " + lex.Clip(s, 40)
		}
	})
	return out
}

// strings calls found for every text in the arguments with its name, in the order of the names.
func (a arguments) strings(found func(name, s string)) {
	if a.fields == nil && a.raw != "" {
		found("", a.raw)
	}
	eachString("", a.fields, found)
}

func eachString(name string, v any, found func(name, s string)) {
	switch v := v.(type) {
	case string:
		found(name, v)
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			eachString(k, v[k], found)
		}
	case []any:
		for _, e := range v {
			eachString(name, e, found)
		}
	}
}

// oneLine folds white space, so that a quote takes one line.
func oneLine(s string) string {
	if spaced(s) {
		return s
	}
	return strings.Join(strings.Fields(s), " ")
}

// spaced reports whether a text is plain ASCII with single spaces between words, as most lines are.
func spaced(s string) bool {
	before := byte(' ')
	for i := range len(s) {
		c := s[i]
		if c < ' ' || c >= utf8.RuneSelf || c == ' ' && before == ' ' {
			return false
		}
		before = c
	}
	return s == "" || before != ' '
}
