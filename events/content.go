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
