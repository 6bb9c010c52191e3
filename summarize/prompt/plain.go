package prompt

import (
	"github.com/go-json-experiment/json"

	"precis/events"
)

// plainMessage is a message in the thread's own shape; a field that does not apply is left out.
type plainMessage struct {
	MessageID  string            `json:"message_id,omitempty"`
	SummaryID  string            `json:"summary_id,omitempty"` // what stands here is this summary
	Role       string            `json:"role"`
	Content    string            `json:"content"`
	ToolCalls  []events.ToolCall `json:"tool_calls,omitempty"`
	ToolCallID string            `json:"tool_call_id,omitempty"`
	ToolName   string            `json:"tool_name,omitempty"`
	Pinned     bool              `json:"pinned,omitzero"`
}

// writePlain writes the messages as the thread has them, calls and results side by side.
func writePlain(p *Prompt, d draft) error {
	list := []plainMessage{}
	d.each(func() int { return len(list) }, func(role, text string) { // the compaction: this format has no opening
		m := plainMessage{Role: role, Content: text}
		if d.summarized() { // else a mark stands there
			m.SummaryID = d.id
		}
		list = append(list, m)
	}, func(u unit) { list = append(list, plainUnit(u)...) })
	var err error
	p.Messages, err = json.Marshal(list)
	return err
}

func plainUnit(u unit) []plainMessage {
	m := plainMessage{Role: u.role, Content: u.text}
	if u.message != nil {
		m.MessageID, m.Pinned = u.message.MessageID, u.message.Pinned
	}
	list := []plainMessage{m}
	for _, c := range u.calls {
		made := events.ToolCall{ID: c.id, Name: c.Name}
		if len(c.Arguments) > 0 {
			made.Arguments = c.Arguments
		}
		list[0].ToolCalls = append(list[0].ToolCalls, made)
		r := plainMessage{Role: events.RoleTool, Content: c.shown, ToolCallID: c.id, ToolName: c.Name}
		if c.result != nil {
			r.MessageID, r.Pinned = c.result.MessageID, c.result.Pinned
		}
		if c.result != nil && c.result.Summary != nil && !c.cut {
			r.SummaryID = c.result.Summary.ID
		}
		list = append(list, r)
	}
	return list
}
