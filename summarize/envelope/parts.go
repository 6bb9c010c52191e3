package envelope

import (
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// partMembers are the members of content parts by MCP, Anthropic and OpenAI. An object with another one is a record.
var partMembers = map[string]bool{
	"type": true, "text": true, "annotations": true, "_meta": true, "meta": true, "citations": true, "cache_control": true, "logprobs": true, "id": true,
	"data": true, "mimeType": true, "source": true, "image_url": true, "resource": true, "uri": true, "name": true, "title": true, "description": true, "size": true,
}

// parts reads a list of content parts: texts, each from a line of its own, and marks of what is not text.
func (o *Opened) parts(v jsontext.Value) bool {
	var list []jsontext.Value
	if json.Unmarshal(v, &list, Lenient) != nil {
		return false
	}
	var texts []string
	found := false
	for _, part := range list {
		text, isText, ok := o.part(part)
		if !ok {
			return false
		}
		found = found || isText
		texts = append(texts, text)
	}
	o.Text = strings.Join(texts, "\n")
	return found
}

// part returns a part's text, or the mark of a part that has none; ok is false if it is not a content part.
func (o *Opened) part(v jsontext.Value) (text string, isText, ok bool) {
	members, ok := Members(v)
	if !ok {
		return "", false, false
	}
	var kind, media string
	var resource jsontext.Value
	hasText := false
	for _, m := range members {
		switch {
		case !partMembers[m.Name]:
			return "", false, false
		case m.Name == "type":
			kind = TextOf(m.Value)
		case m.Name == "mimeType":
			media = ": " + TextOf(m.Value)
		case m.Name == "text" && m.Value.Kind() == '"':
			text, hasText = TextOf(m.Value), true
		case m.Name == "resource":
			resource = m.Value
		}
	}
	switch kind {
	case "text", "input_text", "output_text":
		return text, true, hasText
	case "resource":
		inner, _ := Members(resource)
		for _, m := range inner {
			if m.Name == "text" {
				return TextOf(m.Value), true, true
			}
		}
		fallthrough
	case "resource_link", "image", "audio", "input_image", "image_url":
		o.Without += utf8.RuneCount(v)
		return "[" + kind + media + "]", false, true
	}
	return "", false, false
}
