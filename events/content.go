package events

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Content is what a message says: a text, nothing (null), or a list of parts. The zero Content is null.
// Going through JSON keeps the form it was given in.
type Content struct {
	kind  contentKind
	text  string         // Text(); for a list, its parts joined
	parts jsontext.Value // a list as it was given
	other []OtherPart    // a list's parts that are not text, in order
}

type contentKind uint8

const (
	contentNull contentKind = iota
	contentText
	contentParts
)

// TextContent returns the content that is the text s.
func TextContent(s string) Content { return Content{kind: contentText, text: s} }

// IsNull says whether the content is null: neither a text, however empty, nor a list.
func (c Content) IsNull() bool { return c.kind == contentNull }

// Text returns the content as text: text parts joined by line breaks, every other part as a visible mark such
// as "[image_url part]", so that nothing is dropped in silence.
func (c Content) Text() string { return c.text }

// OtherPart is a part of a list that is not text: its index in the list, from 0, and its type, the publisher's own word.
type OtherPart struct {
	Index int
	Type  string
}

// OtherParts returns the parts that are not text, in order; nil where there are none.
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

// parseContent reads a content of valid JSON; field is the path to it.
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
