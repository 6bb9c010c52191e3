package events

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
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
	calls = slices.Clip(m.Listed())
	parts = slices.Repeat([]int{-1}, len(calls))
	listed := map[string]int{}
	for n, c := range slices.Backward(calls) {
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
	return m.Role == RoleAssistant && len(m.Listed()) == 0 && len(list) > 0 &&
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
	rest.Metadata, rest.Native, rest.ToolCalls, rest.legacy = nil, nil, m.Calls(), nil
	results := m.Results()
	if len(results) == 0 {
		rest.Content = Content{kind: m.Content.kind, text: m.said()}
		if rest.Content.kind == contentParts || rest.Content.text != "" {
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

// Listed returns the calls that the message has as members, and not in its content.
func (m *Message) Listed() []ToolCall {
	if m.legacy == nil {
		return m.ToolCalls
	}
	return append(slices.Clip(m.ToolCalls), *m.legacy)
}

// Legacy is the message's function_call, which chat completions had before tools; nil if there is none.
func (m *Message) Legacy() *ToolCall { return m.legacy }

// Aside is what a member of a message says beside its content.
type Aside struct {
	Member  string
	Text    string // empty: nothing that is a text
	Reasons bool   // it is what the model thought
}

// Asides are the members beside the content that say something: a refusal, a recording, reasoning, citations, a name. Those
// that steer a provider or name something in its storage are none.
func (m *Message) Asides() (list []Aside) {
	if len(m.Native) == 0 {
		return nil
	}
	members := map[string]jsontext.Value{}
	_ = json.Unmarshal(m.Native, &members) // an object: native made it
	for _, f := range nativeFields {
		v := members[f.String()]
		if !says(v) {
			continue
		}
		a := Aside{Member: f.String()}
		switch f {
		case fieldID, fieldStatus, fieldPhase, fieldProviderOptions, fieldCacheControl, fieldPrefix, fieldFunctionCall:
			continue
		case fieldRefusal:
			if a.Text = (object{"text": v}).text("text"); a.Text == m.Content.Text() {
				continue
			}
		case fieldAudio:
			a.Text = objectOf(v).text("transcript")
		case fieldName:
			if m.Role == RoleTool {
				continue // the tool's, which its call says
			}
		}
		for _, reasons := range reasonFields {
			a.Reasons = a.Reasons || f == reasons
		}
		list = append(list, a)
	}
	return list
}

// MaskBeside masks what the message says beside its content, and drops what is not said.
func (m *Message) MaskBeside(mask func(string) string, maskJSON func(jsontext.Value) jsontext.Value) {
	said := map[string]any{}
	for _, a := range m.Asides() {
		switch a.Member {
		case "refusal":
			said[a.Member] = mask(a.Text)
		case "audio":
			said[a.Member] = map[string]string{"transcript": mask(a.Text)}
		}
	}
	if m.Native = nil; len(said) > 0 {
		m.Native, _ = json.Marshal(said, json.Deterministic(true))
	}
	if c := m.legacy; c != nil {
		m.legacy = &ToolCall{ID: c.ID, Name: mask(c.Name), Arguments: maskJSON(c.Arguments)}
	}
}

// said is the content's text, and the texts beside it.
func (m *Message) said() string {
	var texts []string
	if text := m.Content.Text(); text != "" {
		texts = append(texts, text)
	}
	for _, a := range m.Asides() {
		if a.Text != "" {
			texts = append(texts, a.Text)
		}
	}
	return strings.Join(texts, "\n")
}
