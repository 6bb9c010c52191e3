package rules

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

func (f *facts) data(in Input, args arguments, doc *document) {
	f.asked(args)
	f.add("Exit", f.exit)
	s := outlineOf(in.Content)
	f.add("Shape", s.shape())
	s.keys = slices.DeleteFunc(s.keys, func(key string) bool { return slices.Contains(in.Drop, key) })
	if len(s.keys) > 0 {
		f.add("Keys", quoted(strings.Join(s.keys, ", "), mostKeys*maxCommand))
		f.note("keys", strings.Join(s.keys, ", "))
	}
	if s.items > 0 {
		f.note("items", s.items)
	}
	f.add("Lines", itoa(doc.total))
	f.note("lines", doc.total)
}

// outline is the structure of a JSON text.
type outline struct {
	kind   jsontext.Kind // of the first value: '{', '[' or a scalar's; 0: not valid JSON
	inner  jsontext.Kind // of an array's first element
	items  int           // elements of the array, members of the object
	values int           // values in the text, in sequence
	keys   []string      // of the first object, at most mostKeys
	broken bool          // it ends before it is complete
	depth  int           // of the first object's members while it is open
}

const mostKeys = 8

// outlineOf reads the tokens of a text, up to the first error.
func outlineOf(content string) outline {
	var o outline
	d := jsontext.NewDecoder(strings.NewReader(content), lenient)
	for {
		depth := d.StackDepth()
		within, length := d.StackIndex(depth)
		kind := d.PeekKind()
		token, err := d.ReadToken()
		if err != nil {
			o.broken = o.kind != 0 && depth > 0
			return o
		}
		isKey := within == '{' && length%2 == 0 && kind == '"'
		o.read(kind, depth, isKey)
		if isKey && depth == o.depth && len(o.keys) < mostKeys {
			o.keys = append(o.keys, clip(oneLine(token.String()), maxCommand/2))
		}
	}
}

func (o *outline) read(kind jsontext.Kind, depth int, isKey bool) {
	ends := kind == '}' || kind == ']'
	switch {
	case depth == 0:
		o.values++
		if o.values == 1 {
			o.kind = kind
		}
	case o.values == 1 && depth == 1 && !ends && (isKey || o.kind == '['):
		o.items++
		if o.items == 1 {
			o.inner = kind
		}
	}
	switch {
	case kind == '{' && o.depth == 0:
		o.depth = depth + 1
	case kind == '}' && depth == o.depth:
		o.depth = -1 // the first object is closed; no other is examined
	}
}

// shape describes it: "array of 12 objects", "object with 5 keys", "40 JSON lines".
func (o outline) shape() string {
	text := ""
	switch {
	case o.values > 1:
		text = thousands(o.values) + " JSON lines"
	case o.kind == '[':
		text = "array of " + counted(o.items, kindName(o.inner))
	case o.kind == '{':
		text = "object with " + counted(o.items, "key")
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
