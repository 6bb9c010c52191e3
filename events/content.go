package events

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Content is the content of a message: a text, null, or a list of parts. The zero Content is null.
// A round trip through JSON keeps the form.
type Content struct {
	kind  contentKind
	text  string         // Text(); for a list, its parts joined
	parts jsontext.Value // a list as received
	other []OtherPart    // a list's non-text parts, in order
}

type contentKind uint8

const (
	contentNull contentKind = iota
	contentText
	contentParts
)

// TextContent returns the text s as content.
func TextContent(s string) Content { return Content{kind: contentText, text: s} }

// IsNull reports whether the content is null: neither a text (not even an empty one) nor a list.
func (c Content) IsNull() bool { return c.kind == contentNull }

// Text returns the content as text: text parts joined by line breaks, every other part as a visible mark such
// as "[image_url part]", so that nothing is dropped silently.
func (c Content) Text() string { return c.text }

// OtherPart is a non-text part of a list: its 0-based index in the list and its type, which the publisher chooses.
type OtherPart struct {
	Index int
	Type  string
}

// OtherParts returns the non-text parts in order; nil if there are none.
func (c Content) OtherParts() []OtherPart { return c.other }

// MarshalJSON implements json.Marshaler.
func (c Content) MarshalJSON() ([]byte, error) {
	switch c.kind {
	case contentText:
		return jsontext.AppendQuote(make([]byte, 0, len(c.text)+2), c.text)
	case contentParts:
		return c.parts, nil
	}
	return []byte("null"), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *Content) UnmarshalJSON(b []byte) error {
	if !jsontext.Value(b).IsValid() {
		return reject(CodeInvalidJSON, "content", "not valid JSON")
	}
	got, rej := parseContent("content", bytes.TrimSpace(b))
	if rej != nil {
		return rej
	}
	*c = got
	return nil
}

// parseContent reads a content from valid JSON; field is the path to it.
func parseContent(field string, v []byte) (Content, *RejectError) {
	switch jsontext.Value(v).Kind() {
	case jsontext.KindNull:
		return Content{}, nil
	case jsontext.KindString:
		return TextContent(unquote(v)), nil
	case jsontext.KindBeginArray:
		return parseParts(field, v)
	}
	return Content{}, schemaError(field, "must be a string, null or an array of parts")
}

func parseParts(field string, v []byte) (Content, *RejectError) {
	list := Content{kind: contentParts, parts: jsontext.Value(v).Clone()}
	var texts []string
	var rej *RejectError
	index := 0
	_, err := walk(v, func(_, element []byte) {
		if rej != nil {
			return
		}
		var p part
		if p, rej = parsePart(fmt.Sprintf("%s[%d]", field, index), element); rej != nil {
			return
		}
		texts = append(texts, p.text)
		if p.kind != partText {
			list.other = append(list.other, OtherPart{Index: index, Type: p.kind})
		}
		index++
	})
	if err != nil {
		return Content{}, invalidJSON(field, err)
	}
	if rej != nil {
		return Content{}, rej
	}
	list.text = strings.Join(texts, "\n")
	return list, nil
}

// Masked returns the content with its text masked. A list of parts becomes its text.
func (c Content) Masked(mask func(string) string) Content {
	if c.kind == contentNull {
		return c
	}
	return Content{kind: contentText, text: mask(c.text), other: c.other}
}

// partText is the type of the parts that are read; all other types but otherTexts are counted and named.
const partText = "text"

// otherTexts are the types of text parts of OpenAI's Responses API and chat completions, and the member that has the text.
// Without one they are counted and named.
var otherTexts = map[string]string{"input_text": "text", "output_text": "text", "refusal": "refusal"}

// maxMarkType bounds a part's type in its mark, in bytes; real ones ("input_audio") are short.
const maxMarkType = 64

// part is one element of a content list: its type, and its text or the mark that stands for it.
type part struct{ kind, text string }

func parsePart(field string, v []byte) (part, *RejectError) {
	var kind, text, refusal []byte
	top, err := walk(v, func(name, value []byte) {
		switch string(name) {
		case "type":
			kind = value
		case "text":
			text = value
		case "refusal":
			refusal = value
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
	if otherTexts[name] == "refusal" {
		text = refusal
	}
	switch {
	case (name == partText || otherTexts[name] != "") && isString(text):
		return part{kind: partText, text: unquote(text)}, nil
	case name == partText:
		return part{}, schemaError(field+".text", "must be a string")
	}
	return part{kind: name, text: mark(name)}, nil
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
