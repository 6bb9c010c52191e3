// Package envelope opens tool outputs that are JSON around a text. Frameworks encode what a function returns, so that an output of many
// lines arrives as one JSON string; MCP's results are lists of content parts; other tools put the text beside an exit code.
//
// Open returns the text and what is stated beside it. Records, settings and other data are no envelopes: they are read as JSON.
package envelope

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Opened is the text in an envelope, and what the envelope states about it.
type Opened struct {
	Text   string
	Exit   *int // nil: not stated
	Failed bool // an error is stated
	Quoted bool // the text is not what a program says of itself: a file, an issue's body
	Line   int  // of the text's first line in its file; 0: not stated
	// Beside are the other members of the envelope, those of small objects one by one (`user.name`), but for the exit code and a flag of success.
	Beside []Member
	// Without counts the characters of what is neither in Text nor in Beside: structured content, images.
	Without int
	// unsuccessful: a flag says so. An exit code beside it says more: for some programs a 1 is an answer.
	unsuccessful bool
}

// Member is a member of a JSON object.
type Member struct {
	Name  string
	Value jsontext.Value
}

const (
	deepest  = 4    // envelopes within each other
	small    = 300  // bytes of a member beside a text
	allSmall = 1500 // of all of them
	longText = 200  // from which a text needs no name that says what it is
)

// Lenient reads what models and tools write: a repeated name or an invalid byte must not cost the rest.
var Lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// Open returns the text that an output holds; ok is false if the output is not an envelope.
func Open(output string) (o Opened, ok bool) { return open(output, 0) }

func open(text string, depth int) (o Opened, ok bool) {
	text = strings.TrimSpace(text)
	if depth == deepest || len(text) < 2 {
		return o, false
	}
	switch v := jsontext.Value(text); text[0] {
	case '"':
		o.Text, ok = unquoted(v)
	case '[':
		if text[1:] != "" && strings.HasPrefix(strings.TrimLeft(text[1:], " \t\r\n"), "{") {
			ok = o.parts(v)
		}
	case '{':
		ok = o.object(v)
	}
	if !ok {
		return Opened{}, false
	}
	if inner, isEnvelope := open(o.Text, depth+1); isEnvelope {
		o.take(inner)
	}
	return o, true
}

// take puts the text of an inner envelope in place of the inner envelope.
func (o *Opened) take(inner Opened) {
	o.Text = inner.Text
	if o.Exit == nil {
		o.Exit = inner.Exit
	}
	o.Failed, o.Quoted = o.Failed || inner.Failed, o.Quoted || inner.Quoted
	if o.Line == 0 {
		o.Line = inner.Line
	}
	o.Beside = append(o.Beside, inner.Beside...)
	o.Without += inner.Without
}

// unquoted decodes a JSON string, also one whose end was cut off: its line breaks are escaped, and no quote ends it.
func unquoted(v jsontext.Value) (text string, ok bool) {
	if json.Unmarshal(v, &text, Lenient) == nil {
		return text, true
	}
	if slices.Contains(v, '\n') || !strings.Contains(string(v), `\n`) {
		return "", false
	}
	for i := 1; i < len(v); i++ {
		switch v[i] {
		case '"':
			return "", false
		case '\\':
			i++
		}
	}
	for cut := 0; cut < len(`\ud83d\ude00`) && cut < len(v); cut++ { // within an escape
		whole := append(slices.Clone(v[:len(v)-cut]), '"')
		if json.Unmarshal(whole, &text, Lenient) == nil {
			return text, true
		}
	}
	return "", false
}

// Members returns an object's members in order; of an invalid object those before the error, and ok is false.
func Members(v jsontext.Value) (list []Member, ok bool) {
	d := jsontext.NewDecoder(strings.NewReader(string(v)), Lenient)
	if d.PeekKind() != '{' {
		return nil, false
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, false
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return list, false
		}
		m := Member{Name: name.String()}
		value, err := d.ReadValue()
		if err != nil {
			return list, false
		}
		m.Value = value.Clone()
		list = append(list, m)
	}
	if _, err := d.ReadToken(); err != nil {
		return list, false
	}
	return list, len(strings.TrimSpace(string(v[d.InputOffset():]))) == 0
}

// squeezed is a name without case and separators: exitCode and exit_code are the same.
func squeezed(name string) string {
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(name))
}

// TextOf decodes a JSON string; anything else is empty.
func TextOf(v jsontext.Value) string {
	var text string
	if v.Kind() != '"' || json.Unmarshal(v, &text, Lenient) != nil {
		return ""
	}
	return text
}

func numberOf(v jsontext.Value) (n int, ok bool) {
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > math.MaxInt32 {
		return 0, false
	}
	return int(f), true
}
