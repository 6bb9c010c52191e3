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
	Content    jsontext.Value   `json:"content,omitzero"` // a text, a list of parts, or null; nothing beside calls where it was published so
	ToolCalls  []jsontext.Value `json:"tool_calls,omitempty"`
	ToolCallID string           `json:"tool_call_id,omitempty"`
	Native     jsontext.Value   `json:",embed"` // further members of the message as published
}

func (m *openAIMessage) isReady() bool {
	return len(m.ToolCalls) == 0 && len(m.Native) == 0 && len(m.Content) > 0
}

func (m *openAIMessage) append(list []byte) []byte {
	list = append(append(list, `{"role":`...), quoted(m.Role)...)
	list = append(append(list, `,"content":`...), m.Content...)
	if m.ToolCallID != "" {
		list = append(append(list, `,"tool_call_id":`...), quoted(m.ToolCallID)...)
	}
	return append(list, '}')
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
	p.Messages, err = written(d, w.messages)
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
		m.Native = own.native(FormatOpenAI)
	}
	switch {
	case len(raws(u.blocks)) > 0:
		m.Content = encoded(raws(u.blocks))
	case len(u.calls) > 0 && (u.blocks != nil || u.message == nil || u.message.Content.IsNull()),
		u.message != nil && u.message.Content.IsNull() && speaks(m.Native):
		if m.Content = jsontext.Value("null"); u.message != nil && u.message.Content.IsZero() {
			m.Content = nil
		}
	case u.blocks != nil:
		m.Content = encoded(noText)
	}
	legacy := u.legacy()
	if !legacy {
		if u.message != nil && u.message.Legacy() != nil {
			m.Native = without(m.Native, "function_call")
		}
		for n := range u.calls {
			m.ToolCalls = append(m.ToolCalls, u.calls[n].openAI())
		}
		if len(m.ToolCalls) > 0 {
			m.Native = without(m.Native, "tool_calls") // which is null
		}
	}
	w.add(m)
	w.from.said(w.size() - 1)
	for _, n := range u.order {
		if legacy {
			w.add(openAIMessage{Role: roleFunction, Content: encoded(u.calls[n].shown), Native: encoded(map[string]string{"name": u.calls[n].Name})})
		} else {
			w.add(u.calls[n].openAIResult())
		}
		w.from.result(n, w.size()-1)
	}
	for _, t := range u.beside() {
		if content := raws(t.blocks); len(content) > 0 {
			w.add(openAIMessage{Role: events.RoleUser, Content: encoded(content)})
		}
		w.from.tail(t, w.size()-1)
	}
}

// roleFunction is the role of a result in chat completions before tools.
const roleFunction = "function"

// legacy reports whether the unit's one call is the function_call of its message, with arguments as the API takes them.
func (u *unit) legacy() bool {
	return len(u.calls) == 1 && u.message != nil && u.message.shown() && u.message.Legacy() != nil && u.calls[0].ID == u.message.Legacy().ID &&
		u.message.Legacy().Arguments.Kind() == '"' &&
		u.calls[0].own == nil && toolName(u.calls[0].Name) == u.calls[0].Name
}

// The further members of messages in the chat completions of any provider.
var (
	// dialectMembers are those of a message of any role.
	dialectMembers = []string{
		"name", "reasoning_content", "reasoning_details", "reasoning", "thinking_blocks", "reasoning_text",
		"reasoning_opaque", "extra_content", "provider_specific_fields", "cache_control", "images", "prefix",
	}
	spokenMembers = append(slices.Clip(dialectMembers), "refusal", "audio", "annotations")
	openAIMembers = append(slices.Clip(spokenMembers), "function_call", "tool_calls")
	plainMembers  = append(slices.Clip(spokenMembers), "id", "status", "phase", "providerOptions")
)

// native are the further members of a message that a format writes.
func (m *Message) native(format string) jsontext.Value {
	switch format {
	case FormatOpenAI:
		return m.nativeOpenAI()
	case FormatResponses:
		return m.nativeResponses()
	case FormatMessages:
		return members(m.Native, plainMembers)
	}
	return nil
}

// nativeOpenAI are those that chat completions take in the message's role. A function_call that is none is left out.
func (m *Message) nativeOpenAI() jsontext.Value {
	if m.Role != events.RoleAssistant {
		return members(m.Native, dialectMembers)
	}
	native := members(m.Native, openAIMembers)
	if m.Legacy() == nil && !isNull(native, "function_call") {
		native = without(native, "function_call")
	}
	return native
}

// isNull reports whether a member of an object is null.
func isNull(object jsontext.Value, name string) bool {
	has := map[string]jsontext.Value{}
	return len(object) > 0 && json.Unmarshal(object, &has) == nil && has[name].Kind() == 'n'
}

// resultMembers are those of a message with the result of a call.
var resultMembers = []string{"name", "cache_control"}

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

// without is an object without one of its members; nil where nothing is left.
func without(object jsontext.Value, name string) jsontext.Value {
	has := map[string]jsontext.Value{}
	if len(object) == 0 || json.Unmarshal(object, &has) != nil || has[name] == nil {
		return object
	}
	if delete(has, name); len(has) == 0 {
		return nil
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
		m.Native = members(c.result.Native, resultMembers)
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
