package prompt

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
)

// block is a content block of Anthropic's messages.
type block struct {
	Type      string         `json:"type"`
	Text      string         `json:"text,omitempty"`
	ID        string         `json:"id,omitempty"`
	Name      string         `json:"name,omitempty"`
	Input     jsontext.Value `json:"input,omitzero"` // an empty object stands
	ToolUseID string         `json:"tool_use_id,omitempty"`
	Content   string         `json:"content,omitempty"`
	IsError   bool           `json:"is_error,omitzero"`
}

type anthropicMessage struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

// writeAnthropic writes messages of alternating roles, each a list of blocks: a text that is appended
// makes a new block, so that the ones before stay as they were. Results stand in the user's message
// right behind the call, before any text.
func writeAnthropic(p *Prompt, d draft) error {
	a := &anthropicWriter{system: []block{}}
	d.each(func() int { return len(a.messages) }, a.text, a.unit)
	var err error
	if p.System, err = json.Marshal(a.system); err != nil {
		return err
	}
	p.Messages, err = json.Marshal(a.messages)
	return err
}

type anthropicWriter struct {
	system   []block
	messages []anthropicMessage
}

func (a *anthropicWriter) unit(u unit) {
	if strings.TrimSpace(u.text) != "" || len(u.calls) == 0 {
		a.text(u.speaker(), u.text)
	}
	for _, c := range u.calls {
		a.add(u.role, block{Type: "tool_use", ID: c.id, Name: toolName(c.Name), Input: argumentObject(c.Arguments)})
	}
	for _, c := range u.calls {
		a.add(events.RoleUser, block{Type: "tool_result", ToolUseID: c.id, Content: visible(c.shown), IsError: c.failed()})
	}
}

// text adds a text block. Blank ones are refused by the API, and so is white space at the end of an
// assistant's last text.
func (a *anthropicWriter) text(role, text string) {
	switch {
	case isSystem(role):
		a.system = append(a.system, block{Type: "text", Text: visible(text)})
	case role == events.RoleAssistant:
		a.add(role, block{Type: "text", Text: visible(strings.TrimRight(text, " \t\r\n"))})
	default:
		a.add(events.RoleUser, block{Type: "text", Text: visible(text)})
	}
}

func visible(text string) string {
	if strings.TrimSpace(text) == "" {
		return noText
	}
	return text
}

func (a *anthropicWriter) add(role string, b block) {
	n := len(a.messages)
	if n > 0 && a.messages[n-1].Role == role {
		a.messages[n-1].Content = append(a.messages[n-1].Content, b)
		return
	}
	a.messages = append(a.messages, anthropicMessage{Role: role, Content: []block{b}})
}

// argumentObject is a call's arguments as an object, which is all that Anthropic takes.
func argumentObject(v jsontext.Value) jsontext.Value {
	text := jsontext.Value(argumentText(v))
	if text.Kind() == '{' && text.IsValid() {
		return text
	}
	wrapped, err := json.Marshal(map[string]string{"arguments": string(text)})
	if err != nil {
		return jsontext.Value("{}")
	}
	return wrapped
}
