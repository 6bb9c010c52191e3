package thread

import (
	"precis/events"
	"precis/summarize/cut"
	"precis/summarize/tokens"
)

// publish notes the calls that a new message makes, and those that it is the result of.
func (m *Message) publish(msg *events.Message, in Input) {
	m.GivenArgs.Tokens = int64(tokens.Members(msg.Native))
	if m.Role == events.RoleAssistant {
		m.CallID = msg.ToolCallID
		for _, call := range msg.Listed() {
			m.CallIDs = append(m.CallIDs, call.ID)
			m.GivenArgs = m.GivenArgs.plus(in.arguments(call), 1)
		}
		m.Given = uint64(len(m.CallIDs))
	} else {
		m.answer(msg.Answers())
		m.Given = uint64(len(m.Results()))
	}
	m.refer(msg.Content, in)
}

// refer notes the calls that a content makes, and those that it is the result of, in place of those of the content before.
func (m *Message) refer(c events.Content, in Input) {
	m.Args = m.GivenArgs
	said := events.Message{Role: m.Role, Content: c}
	if m.Role != events.RoleAssistant {
		given := m.Results()[:m.Given]
		left := map[string]int{}
		for _, id := range given {
			left[id]++
		}
		for _, id := range said.Answers() {
			if left[id]--; left[id] < 0 {
				given = append(given, id)
			}
		}
		m.answer(given)
		return
	}
	ids := append([]string(nil), m.CallIDs[:m.Given]...)
	for _, id := range ids {
		said.ToolCalls = append(said.ToolCalls, events.ToolCall{ID: id})
	}
	for _, call := range said.Calls()[m.Given:] {
		ids, m.Args = append(ids, call.ID), m.Args.plus(in.arguments(call), 1)
	}
	if said.OnlyReasons() {
		ids = append(ids, cut.Leads)
	}
	m.CallIDs = ids
}

// answer sets the calls that the message is the result of.
func (m *Message) answer(ids []string) {
	if m.CallID, m.CallIDs = "", nil; len(ids) > 0 {
		m.CallID, m.CallIDs = ids[0], ids[1:]
	}
}

// arguments is the size of a call's arguments, and the tokens of what else it has.
func (in Input) arguments(call events.ToolCall) Size {
	size := in.Measure(call.ArgumentsText())
	size.Tokens += int64(tokens.CallBeside(call))
	return size
}
