package events

import (
	"slices"
	"strings"
)

// Calls returns the calls that a message makes: its tool calls, and those that parts of its content make. A call that the same
// content answers is its provider's own affair.
func (m *Message) Calls() []ToolCall {
	if m.Role != RoleAssistant {
		return nil
	}
	calls := slices.Clip(m.ToolCalls)
	for i, p := range m.Content.list {
		if p.Kind == PartCall && m.Pending(i) && !slices.ContainsFunc(m.ToolCalls, func(c ToolCall) bool { return c.ID == p.Call.ID }) {
			calls = append(calls, *p.Call)
		}
	}
	return calls
}

// Pending reports whether the content does not answer the call of one of its own parts.
func (m *Message) Pending(part int) bool {
	id := m.Content.list[part].Call.ID
	return !slices.ContainsFunc(m.Content.list, func(p Part) bool { return p.Kind == PartResult && p.Result.CallID == id })
}

// Results returns the indexes of the parts that are results of other messages' calls, in order.
func (m *Message) Results() (parts []int) {
	if m.Role != RoleUser && m.Role != RoleTool {
		return nil
	}
	for i, p := range m.Content.list {
		if p.Kind == PartResult {
			parts = append(parts, i)
		}
	}
	return parts
}

// Answers returns the ids of the calls that a message is the result of: of its parts, or the one that it names.
func (m *Message) Answers() (ids []string) {
	for _, i := range m.Results() {
		ids = append(ids, m.Content.list[i].Result.CallID)
	}
	if len(ids) == 0 && m.ToolCallID != "" {
		return []string{m.ToolCallID}
	}
	return ids
}

// OnlyReasons reports whether an assistant's message is nothing but reasoning: what it led to comes with the next one.
func (m *Message) OnlyReasons() bool {
	list := m.Content.list
	return m.Role == RoleAssistant && len(m.ToolCalls) == 0 && len(list) > 0 &&
		!slices.ContainsFunc(list, func(p Part) bool { return p.Kind != PartReasoning })
}

// resultsAlone reports whether the content is nothing but results.
func (m *Message) resultsAlone() bool {
	list := m.Content.list
	return len(list) > 0 && !slices.ContainsFunc(list, func(p Part) bool { return p.Kind != PartResult })
}

// Spoken splits a message into the messages of plain texts that it stands for, in order: each result of a call by itself,
// and the rest with its calls. Non-text parts are gone, which may be as large as the event.
func (m *Message) Spoken() []*Message {
	rest := *m
	rest.Metadata, rest.Native, rest.ToolCalls = nil, nil, m.Calls()
	results := m.Results()
	if len(results) == 0 {
		rest.Content = Content{kind: m.Content.kind, text: m.Content.text}
		if rest.Content.kind == contentParts {
			rest.Content.kind = contentText
		}
		return []*Message{&rest}
	}
	list := make([]*Message, 0, len(results)+1)
	for _, i := range results {
		r := m.Content.list[i].Result
		own := rest
		own.Role, own.ToolCallID, own.Content, own.ToolCalls = RoleTool, r.CallID, TextContent(r.Text), nil
		if own.ToolName == "" {
			own.ToolName = r.Name
		}
		if r.IsError {
			own.IsError = &r.IsError
		}
		list = append(list, &own)
	}
	if m.resultsAlone() {
		return list
	}
	rest.Content = TextContent(m.Content.besidesResults())
	return append(list, &rest)
}

// besidesResults is the text without the results of calls.
func (c Content) besidesResults() string {
	var texts []string
	for _, p := range c.list {
		if text, ok := p.shown(); ok && p.Kind != PartResult {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}
