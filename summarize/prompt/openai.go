package prompt

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
)

type openAIMessage struct {
	Role       string       `json:"role"`
	Content    *string      `json:"content"` // null beside calls without a text
	ToolCalls  []openAICall `json:"tool_calls,omitempty"`
	ToolCallID string       `json:"tool_call_id,omitempty"`
}

type openAICall struct {
	ID       string         `json:"id"`
	Type     string         `json:"type"`
	Function openAIFunction `json:"function"`
}

type openAIFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // JSON in a string
}

// writeOpenAI writes chat completion messages: results follow their call one by one.
func writeOpenAI(p *Prompt, d draft) error {
	list := []openAIMessage{}
	text := func(role, text string) { list = append(list, openAIMessage{Role: role, Content: &text}) }
	d.each(func() int { return len(list) }, text, func(u unit) { list = append(list, openAIUnit(u)...) })
	var err error
	p.Messages, err = json.Marshal(list)
	return err
}

func openAIUnit(u unit) []openAIMessage {
	m := openAIMessage{Role: u.role, Content: &u.text}
	if u.text == "" && len(u.calls) > 0 {
		m.Content = nil
	}
	list := []openAIMessage{m}
	for _, c := range u.calls {
		f := openAIFunction{Name: toolName(c.Name), Arguments: argumentText(c.Arguments)}
		list[0].ToolCalls = append(list[0].ToolCalls, openAICall{ID: c.id, Type: "function", Function: f})
	}
	for _, c := range u.calls {
		list = append(list, openAIMessage{Role: events.RoleTool, Content: &c.shown, ToolCallID: c.id})
	}
	return list
}

// argumentText is a call's arguments as JSON text, which is how OpenAI takes them.
func argumentText(v jsontext.Value) string {
	var s string
	if v.Kind() == '"' && json.Unmarshal(v, &s) == nil && s != "" { // models give none as ""
		return s
	}
	if v.Kind() == '"' {
		return "{}"
	}
	if len(v) == 0 {
		return "{}"
	}
	v = v.Clone()
	if err := v.Compact(); err != nil {
		return "{}"
	}
	return string(v)
}
