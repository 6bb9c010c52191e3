package main

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

func rawJSON(s string) jsontext.Value { return jsontext.Value(s) }

// edit changes or deletes one of a thread's messages. Large content stays large and small content
// stays small, or is deleted permanently: whether an edit across the threshold triggers a summary is up to the
// policy and not measured here.
func (a *agent) edit(t *thread) event {
	i := a.rng.IntN(len(t.editable))
	m := t.editable[i]
	if a.rng.IntN(5) == 0 {
		t.editable = slices.Delete(t.editable, i, i+1)
		return a.remove(t, m)
	}
	switch {
	case m.output != nil:
		return a.change(t, m, toolText(a.rng, "bash", largeChars+1+a.rng.IntN(4000)))
	case m.result:
		return a.change(t, m, toolText(a.rng, "bash", 1+a.rng.IntN(largeChars)))
	}
	return a.change(t, m, prose(a.rng, 1+a.rng.IntN(300)))
}

// change replaces a message's content. The edit's number in the text makes sure that it differs.
func (a *agent) change(t *thread, m *editable, text string) event {
	mark := fmt.Sprintf("(edit %d) ", a.n)
	runes := []rune(text)
	text = mark + string(runes[min(len(mark), len(runes)):])
	if m.output == nil && len([]rune(text)) > largeChars {
		text = string([]rune(text)[:largeChars])
	}
	t.Edits++
	t.Bytes += len(text) - m.bytes
	m.bytes = len(text)
	e := a.event(t, typeEdit, map[string]any{
		"message_id": m.id, "content": a.content(text), "edit_id": a.editID(), "agent_id": a.name, "created_at": a.createdAt(),
	})
	e.makes, e.retires = m.output, m.output
	return e
}

// remove deletes a message.
func (a *agent) remove(t *thread, m *editable) event {
	t.Edits++
	t.Bytes -= m.bytes
	t.live = slices.DeleteFunc(t.live, func(id string) bool { return id == m.id })
	e := a.event(t, typeEdit, map[string]any{
		"message_id": m.id, "deleted": true, "edit_id": a.editID(), "agent_id": a.name, "created_at": a.createdAt(),
	})
	e.retires = m.output
	return e
}

func (a *agent) editID() string { return fmt.Sprintf("%s-edit-%d", a.name, a.n) }
