package gateway

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
)

// defaultEventBytes is limits.event_bytes of a processor that is configured elsewhere.
const defaultEventBytes = 1 << 20

// lightBytes is the inline data that a message too large for an event keeps.
const lightBytes = 16 << 10

// lighten replaces images and documents of a message by their marks: it is too large for an event, and without it the thread would not have the
// conversation. Where the message stands whole in a prompt, it stands as the client sent it.
func (m *message) lighten() {
	data := m.published()
	if light := lighter(data["content"]); light != nil {
		data["content"] = light
	}
}

// lighter returns a content with marks; nil where it has nothing to replace.
func lighter(content jsontext.Value) jsontext.Value {
	list := listOf(content)
	changed := false
	for i, raw := range list {
		if len(raw) < lightBytes {
			continue
		}
		if text := markOf(raw); text != nil {
			list[i], changed = text, true
			continue
		}
		part := objectOf(raw)
		for _, inner := range []string{"content", "output"} { // of results and items
			if light := lighter(part[inner]); light != nil {
				part[inner] = light
				list[i], changed = part.json(), true
			}
		}
	}
	if !changed {
		return nil
	}
	return jsonOf(list)
}

// markOf is a text that stands for a part with much inline data; nil for any other part.
func markOf(raw jsontext.Value) jsontext.Value {
	var c events.Content
	if json.Unmarshal(jsonOf([]jsontext.Value{raw}), &c) != nil || len(c.Parts()) != 1 {
		return nil
	}
	part := c.Parts()[0]
	if part.Kind != events.PartMedia || part.Media.Bytes() < lightBytes/2 {
		return nil
	}
	typ := "text"
	if part.Shape == events.ShapeResponses {
		typ = "input_text"
	}
	return object{"type": quote(typ), "text": quote(part.Mark())}.json()
}
