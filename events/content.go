package events

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Content is the content of a message: a text, null, or a list of parts. The zero Content is null.
// A round trip through JSON keeps the form.
type Content struct {
	kind  contentKind
	text  string         // Text(); for a list, its parts joined
	parts jsontext.Value // a list as received
	list  []Part         // its parts; they share its memory
}

type contentKind uint8

const (
	contentNull contentKind = iota
	contentText
	contentParts
	contentAbsent // as null, but JSON has no member for it
)

// TextContent returns the text s as content.
func TextContent(s string) Content { return Content{kind: contentText, text: s} }

// IsNull reports whether the content is null: neither a text (not even an empty one) nor a list.
func (c Content) IsNull() bool { return c.kind == contentNull || c.kind == contentAbsent }

// IsZero reports whether the message has no content member at all, as one that is nothing but calls may; null is a content.
func (c Content) IsZero() bool { return c.kind == contentAbsent }

// Text returns the content as text: text parts and results of calls joined by line breaks, every other part but calls as a
// visible mark such as "[image: image/png, 640x480, 12 kB]" or "[thinking part]", so that nothing is dropped silently.
func (c Content) Text() string { return c.text }

// partBytes is about what the structs of a part take besides its data.
const partBytes = 512

// Memory is about how many bytes the content takes: a list as it was received, and the texts that were read from it. Media data
// is part of the list.
func (c Content) Memory() int {
	return len(c.text) + len(c.parts) + partsMemory(c.list)
}

func partsMemory(list []Part) (n int) {
	for _, p := range list {
		n += partBytes + len(p.Text)
		if p.Call != nil {
			n += len(p.Call.Arguments)
		}
		if p.Result != nil {
			n += len(p.Result.Text) + partsMemory(p.Result.Parts)
		}
		if p.Item != nil {
			n += len(p.Item.Text) + partsMemory(p.Item.Parts)
		}
		if p.Media != nil {
			n += len(p.Media.Plain) + len(p.Media.URL)
		}
	}
	return n
}

// Parts returns the parts of a list; nil for a text and for null. They are not to be changed.
func (c Content) Parts() []Part { return c.list }

// OtherPart is a part of a list that is neither a text nor a call or its result: its 0-based index in the list and its
// type, which the publisher chooses.
type OtherPart struct {
	Index int
	Type  string
}

// OtherParts returns those parts in order, those within items as well; nil if there are none.
func (c Content) OtherParts() (other []OtherPart) {
	for i, p := range c.list {
		switch p.Kind {
		case PartText, PartCall, PartResult:
		case PartItem:
			for _, inner := range (Content{list: p.Item.Parts}).OtherParts() {
				other = append(other, OtherPart{Index: i, Type: inner.Type})
			}
		default:
			other = append(other, OtherPart{Index: i, Type: p.Type})
		}
	}
	return other
}

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
	got, rej := parseContent("content", bytes.TrimSpace(b), false)
	if rej != nil {
		return rej
	}
	*c = got
	return nil
}

// parseContent reads a content from valid JSON; field is the path to it. inner: it is that of a part.
func parseContent(field string, v []byte, inner bool) (Content, *RejectError) {
	switch jsontext.Value(v).Kind() {
	case jsontext.KindNull:
		return Content{}, nil
	case jsontext.KindString:
		return TextContent(unquote(v)), nil
	case jsontext.KindBeginArray:
		return parseParts(field, v, inner)
	}
	return Content{}, schemaError(field, "must be a string, null or an array of parts")
}

func parseParts(field string, v []byte, inner bool) (Content, *RejectError) {
	list := Content{kind: contentParts, parts: v}
	if !inner { // that of a part shares its memory
		list.parts = list.parts.Clone()
	}
	var texts []string
	var rej *RejectError
	_, err := walk(list.parts, func(_, element []byte) {
		if rej != nil {
			return
		}
		var p Part
		if p, rej = parsePart(partField(field, len(list.list)), element, inner); rej != nil {
			return
		}
		if text, ok := p.shown(); ok {
			texts = append(texts, text)
		}
		list.list = append(list.list, p)
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

// Masked returns the content with its text masked, for readers of texts: a list of parts becomes its text, beside which its
// calls and results are kept.
func (c Content) Masked(mask func(string) string, maskJSON func(jsontext.Value) jsontext.Value) Content {
	if c.IsNull() {
		return c
	}
	masked := Content{kind: contentText, text: mask(c.text)}
	for _, p := range c.list {
		p.Raw, p.Text = nil, mask(p.Text)
		switch p.Kind {
		case PartCall:
			call := ToolCall{ID: p.Call.ID, Name: mask(p.Call.Name), Arguments: maskJSON(p.Call.Arguments)}
			p.Call = &call
		case PartResult:
			result := Result{CallID: p.Result.CallID, Name: mask(p.Result.Name), Text: mask(p.Result.Text), IsError: p.Result.IsError}
			p.Result = &result
		case PartItem:
			p.Item = &Item{Role: p.Item.Role, Text: mask(p.Item.Text)}
		case PartMedia:
			p.Kind, p.Media = PartOther, nil
		}
		masked.list = append(masked.list, p)
	}
	return masked
}

// partText is the type of a text that most providers share.
const partText = "text"

// maxMarkType bounds a part's type in its mark, in bytes; real ones ("input_audio") are short.
const maxMarkType = 64

// mark names a part that can't be shown. The publisher chooses the type and it may end up in a prompt, so only
// the characters of a type name pass.
func mark(kind string) string { return "[" + typeName(kind) + " part]" }

func typeName(kind string) string {
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
	return name
}
