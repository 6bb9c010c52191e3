package prompt

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
)

// plainMessage is a message in the thread's own shape; a field that does not apply is left out.
type plainMessage struct {
	MessageID  string            `json:"message_id,omitempty"`
	SummaryID  string            `json:"summary_id,omitempty"` // what stands here is this summary
	Role       string            `json:"role"`
	Content    jsontext.Value    `json:"content,omitzero"` // a text, or the parts as published; null or nothing where it was published so
	ToolCalls  []events.ToolCall `json:"tool_calls,omitempty"`
	ToolCallID string            `json:"tool_call_id,omitempty"`
	// ToolCallIDs are the calls of a message that has the results of several.
	ToolCallIDs []string `json:"tool_call_ids,omitempty"`
	ToolName    string   `json:"tool_name,omitempty"`
	Pinned      bool     `json:"pinned,omitzero"`
	// Native are further members of the message as published.
	Native jsontext.Value `json:",embed"`
}

// writePlain writes the messages as the thread has them, calls and results side by side.
func writePlain(p *Prompt, d draft) error {
	w := &plainWriter{messages: []plainMessage{}, from: d.from}
	d.each(w.size, func(role, text string) { // the compaction: this format has no opening
		m := plainMessage{Role: role, Content: encoded(text)}
		if d.summarized() { // else a mark stands there
			m.SummaryID = d.id
		}
		w.add(m)
	}, w.unit)
	var err error
	p.Messages, err = written(d, w.messages)
	return err
}

type plainWriter struct {
	messages []plainMessage
	from     *sources
}

func (w *plainWriter) size() int { return len(w.messages) }

func (w *plainWriter) add(m plainMessage) { w.messages = append(w.messages, m) }

func (w *plainWriter) unit(u unit) {
	m := plainMessage{Role: u.role, Content: encoded(u.text)}
	inside := false
	if own := u.message; own != nil {
		m.MessageID, m.Pinned = own.MessageID, own.Pinned
		if inside = own.shown() && len(own.Content.Parts()) > 0; inside {
			m.Content = encoded(own.Content)
		}
		if own.shown() {
			m.Native = own.native(FormatMessages)
		}
		switch {
		case !own.shown() || !own.Content.IsNull():
		case own.Content.IsZero():
			m.Content = nil
		default:
			m.Content = jsontext.Value("null")
		}
	}
	for _, c := range u.calls {
		if inside && c.own != nil && !c.listed && c.id == c.ID {
			continue // its part says it
		}
		made := events.ToolCall{ID: c.id, Name: c.Name}
		if len(c.Arguments) > 0 {
			made.Arguments = c.Arguments
		}
		m.ToolCalls = append(m.ToolCalls, made)
	}
	w.add(m)
	w.from.said(w.size() - 1)
	of := map[*Message][]*call{} // the calls that a message has the results of
	for _, n := range u.order {
		if c := &u.calls[n]; c.result != nil {
			of[c.result] = append(of[c.result], c)
		}
	}
	besides := map[*Message]string{}
	for _, t := range u.beside() {
		besides[t.message] = t.text
	}
	at := map[*Message]int{} // where the results of a message stand
	for _, n := range u.order {
		c := &u.calls[n]
		if _, stands := at[c.result]; c.result == nil || !stands {
			at[c.result] = w.size()
			text, ok := besides[c.result]
			w.add(plainResult(c, of[c.result], text, ok))
		}
		w.from.result(n, at[c.result])
	}
	for _, t := range u.beside() {
		w.from.tail(t, at[t.message])
	}
}

// plainResult is the message of the results of calls, c the first of them, with what it says besides.
func plainResult(c *call, calls []*call, besides string, says bool) plainMessage {
	r := plainMessage{Role: events.RoleTool, Content: encoded(c.shown), ToolCallID: c.id, ToolName: c.Name}
	if c.result == nil {
		return r
	}
	r.MessageID, r.Pinned, r.Role = c.result.MessageID, c.result.Pinned, c.result.Role
	whole, texts, ids := true, []string{}, []string{}
	for _, o := range calls {
		ids = append(ids, o.id)
		if o.gone() {
			continue
		}
		whole = whole && o.verbatim() && (o.part < 0 || o.id == o.ID)
		if o.shown != sharedResult {
			texts = append(texts, o.shown)
		}
	}
	if says {
		texts = append(texts, besides)
	}
	switch {
	case whole && len(c.result.Content.Parts()) > 0:
		r.Content = encoded(c.result.Content)
		r.Native = members(c.result.Native, plainMembers)
	case len(texts) > 1:
		r.Content = encoded(strings.Join(texts, "\n"))
	}
	if len(ids) > 1 {
		r.ToolCallID, r.ToolName, r.ToolCallIDs = "", "", ids
	}
	if c.result.Summary != nil && !c.cut {
		r.SummaryID = c.result.Summary.ID
	}
	return r
}
