package prompt

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
)

// anthropicMessage has a text alone where a message was published so, and nothing else stands in the same turn.
type anthropicMessage struct {
	role   string
	text   *string
	blocks []block
}

// MarshalJSON implements json.Marshaler.
func (m anthropicMessage) MarshalJSON() ([]byte, error) {
	var content any = m.text
	if m.text == nil {
		content = raws(m.blocks)
	}
	return json.Marshal(struct {
		Role    string `json:"role"`
		Content any    `json:"content"`
	}{m.role, content})
}

// writeAnthropic writes messages of alternating roles. A message's content stands as it was published; where several
// make one turn it is a list of blocks: a text that is appended makes a new block, so that the ones before stay as they
// were. Results stand in the user's message right behind the call, before any text.
func writeAnthropic(p *Prompt, d draft) error {
	a := &anthropicWriter{system: []jsontext.Value{}, messages: []anthropicMessage{}, apart: d.apart, from: d.from}
	d.each(a.size, a.made, a.unit)
	if !a.apart {
		a.close()
		a.breakpoints()
	}
	p.OmittedParts = append(p.OmittedParts, a.orphans...)
	var err error
	if p.System, err = json.Marshal(a.system); err != nil {
		return err
	}
	p.Messages, err = written(d, a.messages)
	return err
}

// anthropicText are the members of a text block.
var anthropicText = []string{"type", "text", "cache_control", "citations"}

type anthropicWriter struct {
	system   []jsontext.Value
	messages []anthropicMessage
	orphans  []OmittedPart // reasoning without what it was for
	apart    bool          // see Request.Apart
	next     bool          // what is added next begins a message
	from     *sources
}

func (a *anthropicWriter) size() int { return len(a.messages) }

func (a *anthropicWriter) unit(u unit) {
	placed := map[int]bool{}
	a.next = a.apart
	for _, b := range u.blocks {
		switch {
		case b.call >= 0:
			placed[b.call] = true
			b.raw = u.calls[b.call].toolUse()
			a.add(u.speaker(), b)
		case b.raw == nil:
		case isSystem(u.speaker()):
			a.system = append(a.system, b.raw)
		default:
			a.add(u.speaker(), b)
		}
	}
	switch {
	case u.blocks == nil && (strings.TrimSpace(u.text) != "" || len(u.calls) == 0):
		a.text(u.speaker(), u.text, u.message != nil && !u.inline && len(u.calls) == 0)
	case u.blocks != nil && len(raws(u.blocks)) == 0 && len(placed) == 0 && len(u.calls) == 0:
		a.made(u.speaker(), "")
	}
	for n := range u.calls {
		if !placed[n] {
			a.add(u.role, block{raw: u.calls[n].toolUse()})
		}
	}
	a.from.said(a.size() - 1)
	before := (*Message)(nil)
	for _, n := range u.order {
		if a.apart && u.calls[n].result == nil {
			continue
		}
		a.next = a.apart && u.calls[n].result != before
		before = u.calls[n].result
		a.add(events.RoleUser, block{raw: u.calls[n].toolResult()})
		a.from.result(n, a.size()-1)
	}
	for _, t := range u.beside() {
		a.next = a.apart && t.message != before
		for _, b := range t.blocks {
			a.add(events.RoleUser, b)
		}
		a.from.tail(t, a.size()-1)
	}
}

// toolUse is a call's block: its own as long as the id stands.
func (c *call) toolUse() jsontext.Value {
	name := toolName(c.Name)
	if c.own != nil && c.own.Shape == events.ShapeAnthropic && name == c.Name && c.Arguments.Kind() == '{' {
		if c.id == c.ID {
			return c.own.Raw
		}
		return with(c.own.Raw, "id", c.id)
	}
	return encoded(struct {
		Type  string         `json:"type"`
		ID    string         `json:"id"`
		Name  string         `json:"name"`
		Input jsontext.Value `json:"input"`
	}{"tool_use", c.id, name, argumentObject(c.Arguments)})
}

// toolResult is a result's block.
func (c *call) toolResult() jsontext.Value {
	whole := c.verbatim()
	if whole && c.answer != nil && c.answer.Shape == events.ShapeAnthropic {
		return c.itself("tool_use_id", "content")
	}
	var content any = visible(c.shown)
	if whole && len(raws(c.blocks)) > 0 {
		content = raws(c.blocks)
	}
	return encoded(struct {
		Type      string `json:"type"`
		ToolUseID string `json:"tool_use_id"`
		Content   any    `json:"content"`
		IsError   bool   `json:"is_error,omitzero"`
	}{"tool_result", c.id, content, c.failed()})
}

// made adds a text that belongs to no message.
func (a *anthropicWriter) made(role, text string) { a.text(role, text, false) }

// text adds a text. Blank ones are refused by the API.
func (a *anthropicWriter) text(role, text string, alone bool) {
	raw := textPart(FormatAnthropic, role, text)
	if isSystem(role) {
		a.system = append(a.system, raw)
		return
	}
	if role != events.RoleAssistant {
		role = events.RoleUser
	}
	b := block{raw: raw, text: visible(text), isText: true, made: true, call: -1}
	if n := len(a.messages); alone && (n == 0 || a.messages[n-1].role != role || a.next) {
		a.next = false
		a.messages = append(a.messages, anthropicMessage{role: role, text: &b.text, blocks: []block{b}})
		return
	}
	a.add(role, b)
}

func (a *anthropicWriter) add(role string, b block) {
	if b.raw == nil {
		return
	}
	n := len(a.messages)
	if n > 0 && a.messages[n-1].role == role && !a.next {
		m := &a.messages[n-1]
		m.text, m.blocks = nil, append(m.blocks, b)
		return
	}
	a.next = false
	a.messages = append(a.messages, anthropicMessage{role: role, blocks: []block{b}})
}

// close mends what the API refuses of a turn as a whole: reasoning at its end, and white space at the end of the last, which
// the assistant would go on from.
func (a *anthropicWriter) close() {
	for i := range a.messages {
		m := &a.messages[i]
		for n := len(m.blocks); n > 0 && m.blocks[n-1].reasoning; n-- {
			a.orphans = append(a.orphans, m.blocks[n-1].orphan())
			m.blocks = m.blocks[:n-1]
		}
		if len(m.blocks) == 0 {
			m.blocks = []block{{raw: textPart(FormatAnthropic, m.role, "")}}
		}
	}
	n := len(a.messages)
	if n == 0 || a.messages[n-1].role != events.RoleAssistant {
		return
	}
	m := &a.messages[n-1]
	last := &m.blocks[len(m.blocks)-1]
	if trimmed := strings.TrimRight(last.text, " \t\r\n"); last.isText && trimmed != last.text {
		last.text, last.raw = trimmed, with(last.raw, "text", trimmed)
		if m.text != nil {
			m.text = &last.text
		}
	}
}

func visible(text string) string {
	if strings.TrimSpace(text) == "" {
		return noText
	}
	return text
}

// argumentObject is a call's arguments as an object, which is all that Anthropic takes.
func argumentObject(v jsontext.Value) jsontext.Value {
	text := jsontext.Value(argumentText(v))
	if text.Kind() == '{' && text.IsValid() {
		return text
	}
	wrapped, err := json.Marshal(map[string]string{"arguments": string(text)})
	if err != nil {
		return jsontext.Value("{}")
	}
	return wrapped
}
