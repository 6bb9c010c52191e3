package prompt

import (
	"github.com/go-json-experiment/json"
)

// responseItem is an input item of OpenAI's Responses API: a message, a function call or its output.
type responseItem struct {
	Type      string  `json:"type"`
	Role      string  `json:"role,omitempty"`
	Content   *string `json:"content,omitzero"`
	CallID    string  `json:"call_id,omitempty"`
	Name      string  `json:"name,omitempty"`
	Arguments string  `json:"arguments,omitempty"` // JSON in a string, never empty
	Output    *string `json:"output,omitzero"`
}

// writeResponses writes input items: a message's text, its calls, then their outputs.
func writeResponses(p *Prompt, d draft) error {
	list := []responseItem{}
	text := func(role, text string) {
		list = append(list, responseItem{Type: "message", Role: role, Content: &text})
	}
	d.each(func() int { return len(list) }, text, func(u unit) {
		if u.text != "" || len(u.calls) == 0 {
			text(u.role, u.text)
		}
		for _, c := range u.calls {
			list = append(list, responseItem{Type: "function_call", CallID: c.id, Name: toolName(c.Name), Arguments: argumentText(c.Arguments)})
		}
		for _, c := range u.calls {
			list = append(list, responseItem{Type: "function_call_output", CallID: c.id, Output: &c.shown})
		}
	})
	var err error
	p.Messages, err = json.Marshal(list)
	return err
}
