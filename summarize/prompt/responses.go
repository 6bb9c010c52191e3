package prompt

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
)

// responseItem is an input item of OpenAI's Responses API: a message, a function call or its output.
type responseItem struct {
	Type      string         `json:"type,omitempty"`
	Role      string         `json:"role,omitempty"`
	Content   jsontext.Value `json:"content,omitzero"`
	CallID    string         `json:"call_id,omitempty"`
	Name      string         `json:"name,omitempty"`
	Arguments string         `json:"arguments,omitempty"` // JSON in a string, never empty
	Output    jsontext.Value `json:"output,omitzero"`
	Native    jsontext.Value `json:",embed"` // further members of the message as published
}

// writeResponses writes input items: a message's text, its calls, then their outputs. Items that a message was published as
// stand as they were.
func writeResponses(p *Prompt, d draft) error {
	w := &responsesWriter{items: []block{}, from: d.from}
	d.each(w.size, func(role, text string) { w.message(role, encoded(text)) }, w.unit)
	w.close()
	p.OmittedParts = append(p.OmittedParts, w.orphans...)
	var err error
	p.Messages, err = written(d, append([]jsontext.Value{}, raws(w.items)...))
	return err
}

// The further members of a message of the Responses API. The type may be left out.
var (
	inputMembers  = []string{"type", "phase"}
	itemMembers   = append(slices.Clip(inputMembers), "status")
	outputMembers = append(slices.Clip(itemMembers), "id")
)

// nativeResponses are those that the API takes: an id and a status at what the model said, a status alone at others' lists of parts. Ids of
// other providers and of frameworks are refused.
func (m *Message) nativeResponses() jsontext.Value {
	var of struct {
		ID string `json:"id"`
	}
	if m.Role != events.RoleAssistant && m.consists("input_text", "input_image", "input_file") {
		return members(m.Native, itemMembers)
	}
	if m.Role != events.RoleAssistant || !m.consists("output_text", "refusal") || json.Unmarshal(m.Native, &of) != nil || !strings.HasPrefix(of.ID, "msg_") {
		return members(m.Native, inputMembers)
	}
	return members(m.Native, outputMembers)
}

// consists reports whether the content is a list of parts of some types.
func (m *Message) consists(types ...string) bool {
	list := m.Content.Parts()
	return len(list) > 0 && !slices.ContainsFunc(list, func(p events.Part) bool { return !slices.Contains(types, p.Type) })
}

type responsesWriter struct {
	items   []block
	orphans []OmittedPart // reasoning without what it was for
	from    *sources
}

func (w *responsesWriter) size() int { return len(w.items) }

func (w *responsesWriter) add(b block) { w.items = append(w.items, b) }

// message adds a message that was made here.
func (w *responsesWriter) message(role string, content jsontext.Value) {
	w.add(block{raw: encoded(responseItem{Type: "message", Role: role, Content: content}), output: role == events.RoleAssistant})
}

// published adds a unit's message with the members that it has.
func (w *responsesWriter) published(u unit, content jsontext.Value) {
	item := responseItem{Role: u.role, Content: content, Native: u.message.native(FormatResponses)}
	w.add(block{raw: encoded(item), output: u.role == events.RoleAssistant})
}

func (w *responsesWriter) unit(u unit) {
	first := w.size()
	placed := map[int]bool{}
	var open []block // parts of the next message
	flush := func() {
		if len(open) > 0 {
			w.parts(u, open)
		}
		open = nil
	}
	for _, b := range u.blocks {
		switch {
		case b.call >= 0:
			flush()
			placed[b.call] = true
			w.add(block{raw: u.calls[b.call].functionCall(), call: b.call, output: true})
		case b.item:
			flush()
			w.add(b)
		case b.raw != nil:
			open = append(open, b)
		}
	}
	flush()
	switch {
	case u.blocks == nil && len(u.calls) == 0 && u.asPublished():
		w.published(u, encoded(u.text))
	case u.blocks == nil && (u.text != "" || len(u.calls) == 0):
		w.message(u.role, encoded(u.text))
	case u.blocks != nil && len(u.calls) == 0 && len(raws(u.blocks)) == 0:
		w.message(u.role, encoded(noText))
	}
	for n := range u.calls {
		if !placed[n] {
			w.add(block{raw: u.calls[n].functionCall(), output: true})
		}
	}
	for i := first; i < w.size(); i++ {
		w.from.said(i)
	}
	for _, n := range u.order {
		w.add(block{raw: u.calls[n].functionOutput()})
		w.from.result(n, w.size()-1)
	}
	for _, t := range u.beside() {
		if content := raws(t.blocks); len(content) > 0 {
			w.message(events.RoleUser, encoded(content))
		}
		w.from.tail(t, w.size()-1)
	}
}

// parts writes content parts as a message. Those of an assistant that were made here are its text: an output_text of its own
// has annotations and comes in a message with an id.
func (w *responsesWriter) parts(u unit, list []block) {
	made, all := false, true
	for _, b := range list {
		made, all = made || b.made, all && b.made
	}
	switch {
	case all && u.role == events.RoleAssistant:
		w.message(u.role, encoded(textOf(list)))
	case !made && u.message != nil && len(list) == len(u.blocks):
		w.published(u, encoded(raws(list)))
	default:
		w.message(u.role, encoded(raws(list)))
	}
}

// asPublished reports whether the unit's text is all that its message says.
func (u *unit) asPublished() bool {
	m := u.message
	return m != nil && m.shown() && !m.Content.IsNull() && u.text == m.Content.Text()
}

// close leaves out reasoning that nothing follows which it was for: the API refuses an item of reasoning without it, and a prompt
// without items.
func (w *responsesWriter) close() {
	follows, stand := false, 0
	gone := make([]bool, len(w.items))
	for i, b := range slices.Backward(w.items) {
		if b.reasoning && !follows {
			gone[i], w.items[i].raw = true, nil
			w.orphans = append(w.orphans, b.orphan())
			continue
		}
		stand++
		follows = b.reasoning || b.output
	}
	slices.Reverse(w.orphans)
	if stand == 0 && len(gone) > 0 {
		gone[0], w.items[0].raw = false, encoded(responseItem{Type: "message", Role: events.RoleAssistant, Content: encoded(noText)})
	}
	w.from.remove(gone)
}

// functionCall is a call: its own item as long as its id stands. An item other than a function's needs an output of its own
// kind, and stands only with that.
func (c *call) functionCall() jsontext.Value {
	if c.ownItem() {
		if c.id == c.ID {
			return c.own.Raw
		}
		return with(c.own.Raw, "call_id", c.id)
	}
	return encoded(responseItem{Type: "function_call", CallID: c.id, Name: toolName(c.Name), Arguments: argumentText(c.Arguments)})
}

func (c *call) ownItem() bool {
	if c.own == nil || c.own.Shape != events.ShapeResponses || toolName(c.Name) != c.Name {
		return false
	}
	switch c.own.Type {
	case "function_call":
		return string(c.Arguments) != `""` && len(c.Arguments) > 0
	case "custom_tool_call":
		return true
	}
	return c.ownOutput()
}

// ownOutput reports whether the result stands as the item that it was published as.
func (c *call) ownOutput() bool {
	return c.verbatim() && c.answer != nil && c.answer.Shape == events.ShapeResponses && c.own != nil && c.answer.Type == c.own.Type+"_output"
}

// functionOutput is the item of a call's result.
func (c *call) functionOutput() jsontext.Value {
	whole := c.verbatim()
	if whole && c.answer != nil && c.answer.Shape == events.ShapeResponses && (c.ownOutput() && c.ownItem() || c.own == nil && c.answer.Type == "function_call_output") {
		return c.itself("call_id", "output")
	}
	item := responseItem{Type: "function_call_output", CallID: c.id, Output: encoded(c.shown)}
	if whole && len(raws(c.blocks)) > 0 {
		item.Output = encoded(raws(c.blocks))
	}
	if c.ownItem() && c.own.Type == "custom_tool_call" {
		item.Type = "custom_tool_call_output"
	}
	return encoded(item)
}
