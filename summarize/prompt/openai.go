package prompt

import (
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
)

type openAIMessage struct {
	Role       string           `json:"role"`
	Content    jsontext.Value   `json:"content"` // a text, a list of parts, or null
	ToolCalls  []jsontext.Value `json:"tool_calls,omitempty"`
	ToolCallID string           `json:"tool_call_id,omitempty"`
	Native     jsontext.Value   `json:",embed"` // further members of the message as published
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
	w := &openAIWriter{messages: []openAIMessage{}, from: d.from}
	d.each(w.size, func(role, text string) { w.add(openAIMessage{Role: role, Content: encoded(text)}) }, w.unit)
	var err error
	p.Messages, err = json.Marshal(w.messages)
	return err
}

type openAIWriter struct {
	messages []openAIMessage
	from     *sources
}

func (w *openAIWriter) size() int { return len(w.messages) }

func (w *openAIWriter) add(m openAIMessage) { w.messages = append(w.messages, m) }

func (w *openAIWriter) unit(u unit) {
	m := openAIMessage{Role: u.role, Content: encoded(u.text)}
	if own := u.message; own != nil && own.shown() {
		m.Native = members(own.Native, openAIMembers)
	}
	switch {
	case len(raws(u.blocks)) > 0:
		m.Content = encoded(raws(u.blocks))
	case len(u.calls) > 0 && (u.blocks != nil || u.message == nil || u.message.Content.IsNull()):
		m.Content = jsontext.Value("null")
	case u.blocks != nil:
		m.Content = encoded(noText)
	case u.message != nil && u.message.Content.IsNull() && speaks(m.Native):
		m.Content = jsontext.Value("null")
	}
	for n := range u.calls {
		m.ToolCalls = append(m.ToolCalls, u.calls[n].openAI())
	}
	w.add(m)
	w.from.said(w.size() - 1)
	for _, n := range u.order {
		w.add(u.calls[n].openAIResult())
		w.from.result(n, w.size()-1)
	}
	for _, t := range u.beside() {
		if content := raws(t.blocks); len(content) > 0 {
			w.add(openAIMessage{Role: events.RoleUser, Content: encoded(content)})
		}
		w.from.tail(t, w.size()-1)
	}
}

// openAIMembers are what chat completions know of a message's further members.
var openAIMembers = []string{"name", "refusal", "audio", "annotations", "reasoning_content", "reasoning_details"}

// nativeMembers are the further members of a message that each format writes.
var nativeMembers = map[string][]string{FormatOpenAI: openAIMembers, FormatResponses: responsesMembers}

// members are some of an object's; nil for none.
func members(object jsontext.Value, names []string) jsontext.Value {
	if len(object) == 0 {
		return nil
	}
	has := map[string]jsontext.Value{}
	if err := json.Unmarshal(object, &has); err != nil {
		return nil
	}
	all := len(has)
	maps.DeleteFunc(has, func(name string, _ jsontext.Value) bool { return !slices.Contains(names, name) })
	switch len(has) {
	case 0:
		return nil
	case all:
		return object
	}
	return encoded(has)
}

// speaks reports whether a message without a content says something: it refuses, or it is a recording.
func speaks(native jsontext.Value) bool {
	var m struct {
		Refusal *string        `json:"refusal"`
		Audio   jsontext.Value `json:"audio"`
	}
	return len(native) > 0 && json.Unmarshal(native, &m) == nil && (m.Refusal != nil || m.Audio.Kind() == '{')
}

// openAI is a call: its own form as long as its id stands.
func (c *call) openAI() jsontext.Value {
	name := toolName(c.Name)
	if len(c.Raw) > 0 && name == c.Name && string(c.Arguments) != `""` && len(c.Arguments) > 0 {
		if c.id == c.ID {
			return c.Raw
		}
		return with(c.Raw, "id", c.id)
	}
	return encoded(openAICall{ID: c.id, Type: "function", Function: openAIFunction{Name: name, Arguments: argumentText(c.Arguments)}})
}

func (c *call) openAIResult() openAIMessage {
	m := openAIMessage{Role: events.RoleTool, Content: encoded(c.shown), ToolCallID: c.id}
	if !c.verbatim() {
		return m
	}
	if len(raws(c.blocks)) > 0 {
		m.Content = encoded(raws(c.blocks))
	}
	if c.answer == nil {
		m.Native = members(c.result.Native, []string{"name"})
	}
	return m
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
