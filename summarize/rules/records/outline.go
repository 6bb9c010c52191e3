package records

import (
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"precis/summarize/envelope"
	"precis/summarize/lex"
)

// outline is the structure of a JSON text.
type outline struct {
	kind   jsontext.Kind // of the first value: '{', '[' or a scalar's; 0: not valid JSON
	inner  jsontext.Kind // of an array's first element
	Items  int           // elements of the array, members of the object
	values int           // values in the text, in sequence
	Keys   []string      // of the first object, at most mostKeys
	broken bool          // it ends before it is complete
}

// Bounds on the keys: how many, and their length.
const MostKeys, longestKey = 8, 30

// Outline reads the values of a text, up to the first error.
func Outline(content string) outline {
	var o outline
	d := jsontext.NewDecoder(strings.NewReader(content), envelope.Lenient)
	for {
		from := d.InputOffset()
		v, err := d.ReadValue()
		if err != nil {
			rest := jsontext.Value(strings.TrimSpace(content[from:]))
			o.broken = (o.values > 0 || rest.Kind() == '{' || rest.Kind() == '[') && !errors.Is(err, io.EOF)
			if o.broken && o.values == 0 {
				o.first(rest)
			}
			return o
		}
		if o.values++; o.values == 1 {
			o.first(v)
		}
	}
}

// first reads the first value: of an array its elements, of the first object the keys.
func (o *outline) first(v jsontext.Value) {
	o.kind = v.Kind()
	for depth := 0; v.Kind() == '['; depth++ {
		list := elements(v)
		if depth == 0 && len(list) > 0 {
			o.Items, o.inner = len(list), list[0].Kind()
		}
		if len(list) == 0 {
			return
		}
		v = list[0]
	}
	members := keysOf(v)
	if o.kind == '{' {
		o.Items = len(members)
	}
	for _, m := range members[:min(len(members), MostKeys)] {
		o.Keys = append(o.Keys, lex.Clip(lex.OneLine(m.Name), longestKey))
	}
}

// elements returns an array's elements; of one that ends before it is complete also what there is of the last one.
func elements(v jsontext.Value) (list []jsontext.Value) {
	d := jsontext.NewDecoder(strings.NewReader(string(v)), envelope.Lenient)
	if _, err := d.ReadToken(); err != nil {
		return nil
	}
	for d.PeekKind() != ']' {
		from := d.InputOffset()
		e, err := d.ReadValue()
		if err != nil {
			if rest := strings.TrimLeft(string(v[from:]), ", \t\r\n"); rest != "" {
				list = append(list, jsontext.Value(rest))
			}
			return list
		}
		list = append(list, e.Clone())
	}
	return list
}

// Shape describes it: "array of 12 objects", "object with 5 keys", "40 JSON lines".
func (o outline) Shape() string {
	text := ""
	switch {
	case o.values > 1:
		text = lex.Thousands(o.values) + " JSON lines"
	case o.kind == '[':
		text = "array of " + lex.Counted(o.Items, kindName(o.inner))
	case o.kind == '{':
		text = "object with " + lex.Counted(o.Items, "key")
	default:
		return ""
	}
	if o.broken {
		text += ", cut off"
	}
	return text
}

func kindName(k jsontext.Kind) string {
	switch k {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case '0':
		return "number"
	}
	return "value"
}
