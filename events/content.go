package events

import (
	"bytes"
	"fmt"
	"slices"
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
		list.add(index, p, &texts)
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

// callsApart returns the content of an assistant's message without the calls among its parts, which is how Anthropic has them
// (tool_use), and the calls: those given, or else those of the parts. A part whose call is not among them stays as a mark.
func (c Content) callsApart(calls []ToolCall) (Content, []ToolCall) {
	if !slices.ContainsFunc(c.other, func(p OtherPart) bool { return p.Type == partToolUse }) {
		return c, calls
	}
	var parts []part
	_, _ = walk(c.parts, func(_, element []byte) { // it was walked before
		p, _ := parsePart("", element)
		parts = append(parts, p)
	})
	if len(calls) == 0 {
		for _, p := range parts {
			if p.call != nil {
				calls = append(calls, *p.call)
			}
		}
	}
	apart := Content{kind: c.kind, parts: c.parts}
	var texts []string
	for i, p := range parts {
		if p.call != nil && slices.ContainsFunc(calls, func(given ToolCall) bool { return given.ID == p.call.ID }) {
			continue
		}
		apart.add(i, p, &texts)
	}
	apart.text = strings.Join(texts, "\n")
	return apart, calls
}

// add notes a part of the list.
func (c *Content) add(index int, p part, texts *[]string) {
	*texts = append(*texts, p.text)
	if p.kind != partText {
		c.other = append(c.other, OtherPart{Index: index, Type: p.kind})
	}
}

// Masked returns the content with its text masked. A list of parts becomes its text.
func (c Content) Masked(mask func(string) string) Content {
	if c.kind == contentNull {
		return c
	}
	return Content{kind: contentText, text: mask(c.text), other: c.other}
}

// Types of parts that are read; all others are counted and named.
const (
	partText    = "text"
	partToolUse = "tool_use" // Anthropic's calls
)

// otherTexts are the types of text parts of OpenAI's Responses API and chat completions, and the member that has the text.
// Without one they are counted and named.
var otherTexts = map[string]string{"input_text": "text", "output_text": "text", "refusal": "refusal"}

// maxMarkType bounds a part's type in its mark, in bytes; real ones ("input_audio") are short.
const maxMarkType = 64

// part is one element of a content list: its type, and its text or the mark that stands for it.
type part struct {
	kind, text string
	call       *ToolCall // of a tool_use
}

func parsePart(field string, v []byte) (part, *RejectError) {
	var kind, text, refusal, id, tool, input []byte
	top, err := walk(v, func(name, value []byte) {
		switch string(name) {
		case "type":
			kind = value
		case "text":
			text = value
		case "refusal":
			refusal = value
		case "id":
			id = value
		case "name":
			tool = value
		case "input":
			input = value
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
	p := part{kind: name, text: mark(name)}
	if name == partToolUse && isString(id) && isString(tool) && (len(input) == 0 || isNull(input) || input[0] == '{') {
		p.call = &ToolCall{ID: unquote(id), Name: unquote(tool), Arguments: clonePresent(input)}
	}
	return p, nil
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
