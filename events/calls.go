package events

import (
	"slices"
	"strings"
)

// Calls returns the calls that a message makes: its tool calls, and those that parts of its content make. A call that the same
// content answers is its provider's own affair.
func (m *Message) Calls() []ToolCall {
	calls, _ := m.CallParts()
	return calls
}

// CallParts returns the calls of Calls, and of each the index of the part of the content that makes it; -1 for none. A tool call that a
// part repeats under its id is one call.
func (m *Message) CallParts() (calls []ToolCall, parts []int) {
	if m.Role != RoleAssistant {
		return nil, nil
	}
	calls, parts = slices.Clip(m.ToolCalls), slices.Repeat([]int{-1}, len(m.ToolCalls))
	listed := map[string]int{}
	for n, c := range slices.Backward(m.ToolCalls) {
		listed[c.ID] = n
	}
	answered := map[string]bool{}
	for _, p := range m.Content.list {
		if p.Kind == PartResult {
			answered[p.Result.CallID] = true
		}
	}
	for i, p := range m.Content.list {
		if p.Kind != PartCall || answered[p.Call.ID] {
			continue
		}
		n, ok := listed[p.Call.ID]
		switch {
		case !ok:
			calls, parts = append(calls, *p.Call), append(parts, i)
		case parts[n] < 0:
			parts[n] = i
		}
	}
	return calls, parts
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
