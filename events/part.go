package events

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// partText is the type of the parts that are read; all other types are counted and named.
const partText = "text"

// maxMarkType bounds a part's type in its mark, in bytes; real ones ("input_audio") are short.
const maxMarkType = 64

// part is one element of a content list: its type, and its text or the mark that stands for it.
type part struct{ kind, text string }

func parsePart(field string, v []byte) (part, *RejectError) {
	var kind, text []byte
	top, err := walk(v, func(name, value []byte) {
		switch string(name) {
		case "type":
			kind = value
		case "text":
			text = value
		}
	})
	switch {
	case err != nil:
		return part{}, invalidJSON(field, err)
	case top != jsontext.KindBeginObject:
		return part{}, schemaError(field, "must be an object")
	case !isString(kind):
		return part{}, schemaError(field+".type", "must be a string")
	}
	name := unquote(kind)
	if name != partText {
		return part{kind: name, text: mark(name)}, nil
	}
	if !isString(text) {
		return part{}, schemaError(field+".text", "must be a string")
	}
	return part{kind: partText, text: unquote(text)}, nil
}

// mark names a part that can't be shown. The publisher chooses the type and it may end up in a prompt, so only
// the characters of a type name pass.
func mark(kind string) string {
	name := strings.Map(func(r rune) rune {
		if r < 0x80 && plain(byte(r)) || r == '.' || r == '/' {
			return r
		}
		return '_'
	}, kind)
	if len(name) > maxMarkType {
		name = name[:maxMarkType] + "…"
	}
	if name == "" {
		name = "unnamed"
	}
	return "[" + name + " part]"
}
