package prompt

import (
	"precis/events"
)

// unit is what stands or goes together: a message, or an assistant's message with the results of its
// calls.
type unit struct {
	role    string
	text    string
	message *Message // nil where the message was made up for a result without its call
	calls   []call
	ordinal uint64

	fixed   bool // stays whatever happens: system, pinned
	inline  bool // a system message that stands among the others, in a format that has system messages apart
	dropped bool
	cost    int
}

// call is one tool call and what came of it.
type call struct {
	events.ToolCall
	id     string   // unique in the prompt, and fit for a provider
	result *Message // nil: it has none
	shown  string   // the result's text, or what stands in for it
	cut    bool     // the result's text had to go to hold the limit
	whole  *Message // the result, where its spare summary stands so far: see keepWhole
}

// failed reports whether the call's result is an error.
func (c call) failed() bool { return c.result != nil && c.result.IsError != nil && *c.result.IsError }

// Marks in the place of a text.
const (
	noResult = "[no result]"
	// systemMark precedes a system message that a format has no place for.
	systemMark = "[system message]\n"
	noText     = "[empty message]"
)

// assemble sorts the messages into units. Waiting are the messages at the end that can't be shown yet.
func assemble(messages []Message) (units []unit, waiting []string) {
	p := pairUp(messages)
	last := lastSpeaker(messages)
	for i := range messages {
		m := &messages[i]
		if p.caller[i] >= 0 {
			continue // stands with its call
		}
		u := newUnit(m, p, messages, i)
		if i == last && u.open() && !u.fixed {
			waiting = append(waiting, u.ids()...)
			continue
		}
		units = append(units, u)
	}
	rename(units)
	return units, waiting
}

// lastSpeaker is the index of the newest user or assistant message; -1 for none.
func lastSpeaker(messages []Message) int {
	for i := len(messages) - 1; i >= 0; i-- {
		if r := messages[i].Role; r == events.RoleUser || r == events.RoleAssistant {
			return i
		}
	}
	return -1
}

func newUnit(m *Message, p pairs, messages []Message, i int) unit {
	u := unit{role: m.Role, text: m.Content.Text(), message: m, ordinal: m.Ordinal}
	u.fixed = m.Pinned || isSystem(m.Role)
	u.dropped = m.Gone && m.Summary == nil
	switch m.Role {
	case events.RoleTool:
		u.role, u.text, u.message = events.RoleAssistant, "", nil
		made := events.ToolCall{ID: m.ToolCallID, Name: m.ToolName, Arguments: m.Arguments}
		u.calls = []call{{ToolCall: made, result: m}}
	case events.RoleAssistant:
		for n, c := range m.ToolCalls {
			next := call{ToolCall: c}
			if r := p.result[callKey{i, n}]; r >= 0 {
				next.result = &messages[r]
				u.fixed = u.fixed || messages[r].Pinned
			}
			u.calls = append(u.calls, next)
		}
	}
	if m.trimmed() && m.Role != events.RoleTool {
		u.text = truncated(messages, m.Ordinal, m.TrimmedAt)
	}
	for n := range u.calls {
		u.calls[n].spare()
		u.calls[n].shown = shown(u.calls[n].result, messages)
	}
	return u
}

// shown says that the content itself stands in the prompt, where the message does.
func (m *Message) shown() bool { return m.Summary == nil && m.TrimmedAt == 0 }

func isSystem(role string) bool {
	return role == events.RoleSystem || role == events.RoleDeveloper
}

// shown is what stands in a tool result.
func shown(m *Message, messages []Message) string {
	switch {
	case m == nil:
		return noResult
	case m.Summary != nil:
		return m.Summary.Content
	case m.TrimmedAt > 0:
		return truncated(messages, m.Ordinal, m.TrimmedAt)
	}
	return m.Content.Text()
}

// speaker is the role under which a unit's text stands where system messages are apart.
func (u *unit) speaker() string {
	if u.inline {
		return events.RoleUser
	}
	return u.role
}

// open says that a call of the unit waits.
func (u *unit) open() bool {
	for _, c := range u.calls {
		if c.result == nil {
			return true
		}
	}
	return false
}

// ids are the messages that a unit is made of, without deleted ones.
func (u *unit) ids() []string {
	var ids []string
	if u.message != nil {
		ids = append(ids, u.message.MessageID)
	}
	for _, c := range u.calls {
		if c.result != nil && !c.result.Deleted {
			ids = append(ids, c.result.MessageID)
		}
	}
	return ids
}
