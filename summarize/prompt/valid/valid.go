package valid

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

var (
	validName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	validID   = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,40}$`)
)

// OpenAI holds chat completion messages against the API reference: known roles, results right
// behind their call, each call answered once, arguments a string.
func OpenAI(v jsontext.Value) error {
	var list []struct {
		Role       string  `json:"role"`
		Content    *string `json:"content"`
		ToolCallID string  `json:"tool_call_id"`
		ToolCalls  []struct {
			ID       string `json:"id"`
			Type     string `json:"type"`
			Function struct {
				Name      string  `json:"name"`
				Arguments *string `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	}
	if err := json.Unmarshal(v, &list, json.RejectUnknownMembers(true)); err != nil {
		return err
	}
	open := map[string]bool{}
	for i, m := range list {
		if len(open) > 0 && m.Role != "tool" {
			return fmt.Errorf("message %d: calls %v not answered", i, open)
		}
		switch m.Role {
		case "system", "developer", "user":
			if m.Content == nil || len(m.ToolCalls) > 0 || m.ToolCallID != "" {
				return fmt.Errorf("message %d: a %s message has content alone", i, m.Role)
			}
		case "assistant":
			if m.Content == nil && len(m.ToolCalls) == 0 {
				return fmt.Errorf("message %d: neither content nor calls", i)
			}
			for _, c := range m.ToolCalls {
				if !validID.MatchString(c.ID) || !validName.MatchString(c.Function.Name) || c.Type != "function" || c.Function.Arguments == nil || *c.Function.Arguments == "" || open[c.ID] {
					return fmt.Errorf("message %d: call %+v", i, c)
				}
				open[c.ID] = true
			}
		case "tool":
			if !open[m.ToolCallID] || m.Content == nil {
				return fmt.Errorf("message %d: result of %q without its call", i, m.ToolCallID)
			}
			delete(open, m.ToolCallID)
		default:
			return fmt.Errorf("message %d: role %q", i, m.Role)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("calls %v not answered at the end", open)
	}
	return nil
}

// Anthropic holds messages against the API reference: the user begins, roles alternate, no block is
// blank, ids are unique, and the message behind a call begins with the results of its calls.
func Anthropic(system, v jsontext.Value) error {
	type content struct {
		Type      string         `json:"type"`
		Text      string         `json:"text"`
		ID        string         `json:"id"`
		Name      string         `json:"name"`
		Input     jsontext.Value `json:"input"`
		ToolUseID string         `json:"tool_use_id"`
		Content   string         `json:"content"`
		IsError   bool           `json:"is_error"`
	}
	var list []struct {
		Role    string    `json:"role"`
		Content []content `json:"content"`
	}
	var sys []content
	if err := json.Unmarshal(system, &sys, json.RejectUnknownMembers(true)); err != nil {
		return fmt.Errorf("system: %w", err)
	}
	if err := json.Unmarshal(v, &list, json.RejectUnknownMembers(true)); err != nil {
		return err
	}
	if len(list) == 0 || list[0].Role != "user" {
		return fmt.Errorf("the user does not begin")
	}
	ids := map[string]bool{}
	var open []string
	for i, m := range list {
		if m.Role != "user" && m.Role != "assistant" || i > 0 && m.Role == list[i-1].Role || len(m.Content) == 0 {
			return fmt.Errorf("message %d: role %q, %d blocks", i, m.Role, len(m.Content))
		}
		answered := map[string]bool{}
		var calls []string
		for j, b := range m.Content {
			switch b.Type {
			case "text":
				if strings.TrimSpace(b.Text) == "" {
					return fmt.Errorf("message %d: blank text", i)
				}
				if i == len(list)-1 && m.Role == "assistant" && strings.TrimRight(b.Text, " \n\t") != b.Text {
					return fmt.Errorf("message %d: white space at the end", i)
				}
			case "tool_use":
				if m.Role != "assistant" || ids[b.ID] || !validID.MatchString(b.ID) || !validName.MatchString(b.Name) || b.Input.Kind() != '{' {
					return fmt.Errorf("message %d: call %+v", i, b)
				}
				ids[b.ID] = true
				calls = append(calls, b.ID)
			case "tool_result":
				if m.Role != "user" || answered[b.ToolUseID] || j > 0 && m.Content[j-1].Type == "text" {
					return fmt.Errorf("message %d: result %q", i, b.ToolUseID)
				}
				answered[b.ToolUseID] = true
			default:
				return fmt.Errorf("message %d: block %q", i, b.Type)
			}
		}
		if len(answered) != len(open) {
			return fmt.Errorf("message %d: %d results for %d calls", i, len(answered), len(open))
		}
		for _, id := range open {
			if !answered[id] {
				return fmt.Errorf("message %d: call %q not answered", i, id)
			}
		}
		open = calls
	}
	if len(open) > 0 {
		return fmt.Errorf("calls %v not answered at the end", open)
	}
	return nil
}

// Plain: no result without its call before it, no call without a result behind it.
func Plain(v jsontext.Value) error {
	var list []struct {
		Role       string `json:"role"`
		ToolCallID string `json:"tool_call_id"`
		ToolCalls  []struct {
			ID string `json:"id"`
		} `json:"tool_calls"`
	}
	if err := json.Unmarshal(v, &list); err != nil {
		return err
	}
	open := map[string]bool{}
	for i, m := range list {
		for _, c := range m.ToolCalls {
			open[c.ID] = true
		}
		if m.Role == "tool" && !open[m.ToolCallID] {
			return fmt.Errorf("message %d: result of %q without its call", i, m.ToolCallID)
		}
		delete(open, m.ToolCallID)
	}
	if len(open) > 0 {
		return fmt.Errorf("calls %v not answered", open)
	}
	return nil
}

// Responses holds input items against OpenAI's Responses API: messages with a role, calls with an id of their own, each answered
// once by an output behind it, and before the next message.
func Responses(v jsontext.Value) error {
	var list []struct {
		Type      string  `json:"type"`
		Role      string  `json:"role"`
		Content   *string `json:"content"`
		CallID    string  `json:"call_id"`
		Name      string  `json:"name"`
		Arguments *string `json:"arguments"`
		Output    *string `json:"output"`
	}
	if err := json.Unmarshal(v, &list, json.RejectUnknownMembers(true)); err != nil {
		return err
	}
	if len(list) == 0 {
		return fmt.Errorf("no items")
	}
	open, used := map[string]bool{}, map[string]bool{}
	for i, m := range list {
		switch m.Type {
		case "message":
			switch m.Role {
			case "system", "developer", "user", "assistant":
			default:
				return fmt.Errorf("item %d: role %q", i, m.Role)
			}
			if m.Content == nil || m.CallID != "" || len(open) > 0 {
				return fmt.Errorf("item %d: a message with content %v, behind the calls %v", i, m.Content != nil, open)
			}
		case "function_call":
			if used[m.CallID] || !validID.MatchString(m.CallID) || !validName.MatchString(m.Name) || m.Arguments == nil || *m.Arguments == "" {
				return fmt.Errorf("item %d: call %+v", i, m)
			}
			open[m.CallID], used[m.CallID] = true, true
		case "function_call_output":
			if !open[m.CallID] || m.Output == nil {
				return fmt.Errorf("item %d: output of %q without its call", i, m.CallID)
			}
			delete(open, m.CallID)
		default:
			return fmt.Errorf("item %d: type %q", i, m.Type)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("calls %v not answered at the end", open)
	}
	return nil
}

var geminiName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$`)

// Gemini holds contents against the API's rules: the user begins, roles alternate, each part is one thing, calls stand behind a
// user's content, and the content behind calls begins with as many responses, of the same names in the same order.
func Gemini(system, v jsontext.Value) error {
	type content struct {
		Role  string `json:"role"`
		Parts []struct {
			Text         *string `json:"text"`
			Signature    string  `json:"thoughtSignature"`
			FunctionCall *struct {
				Name string         `json:"name"`
				Args jsontext.Value `json:"args"`
			} `json:"functionCall"`
			FunctionResponse *struct {
				Name     string         `json:"name"`
				Response jsontext.Value `json:"response"`
			} `json:"functionResponse"`
		} `json:"parts"`
	}
	if len(system) > 0 && system.Kind() != 'n' {
		var instruction content
		if err := json.Unmarshal(system, &instruction, json.RejectUnknownMembers(true)); err != nil {
			return fmt.Errorf("system: %w", err)
		}
		for _, p := range instruction.Parts {
			if p.Text == nil || strings.TrimSpace(*p.Text) == "" {
				return fmt.Errorf("system: a part without text")
			}
		}
		if len(instruction.Parts) == 0 || instruction.Role != "" {
			return fmt.Errorf("system: %d parts, role %q", len(instruction.Parts), instruction.Role)
		}
	}
	var list []content
	if err := json.Unmarshal(v, &list, json.RejectUnknownMembers(true)); err != nil {
		return err
	}
	if len(list) == 0 || list[0].Role != "user" {
		return fmt.Errorf("the user does not begin")
	}
	var open []string
	for i, c := range list {
		if c.Role != "user" && c.Role != "model" || i > 0 && c.Role == list[i-1].Role || len(c.Parts) == 0 {
			return fmt.Errorf("content %d: role %q, %d parts", i, c.Role, len(c.Parts))
		}
		var calls, responses []string
		for j, p := range c.Parts {
			switch {
			case p.Text != nil && p.FunctionCall == nil && p.FunctionResponse == nil:
				if strings.TrimSpace(*p.Text) == "" {
					return fmt.Errorf("content %d: blank text", i)
				}
			case p.FunctionCall != nil && p.Text == nil && p.FunctionResponse == nil:
				if c.Role != "model" || !geminiName.MatchString(p.FunctionCall.Name) || p.FunctionCall.Args.Kind() != '{' {
					return fmt.Errorf("content %d: call %+v", i, p.FunctionCall)
				}
				if len(calls) == 0 && p.Signature == "" {
					return fmt.Errorf("content %d: the first call has no thought signature", i)
				}
				calls = append(calls, p.FunctionCall.Name)
			case p.FunctionResponse != nil && p.Text == nil && p.FunctionCall == nil:
				if c.Role != "user" || len(responses) != j || p.FunctionResponse.Response.Kind() != '{' {
					return fmt.Errorf("content %d: response of %q", i, p.FunctionResponse.Name)
				}
				responses = append(responses, p.FunctionResponse.Name)
			default:
				return fmt.Errorf("content %d: part %d is not one thing", i, j)
			}
		}
		if !slices.Equal(responses, open) {
			return fmt.Errorf("content %d: responses of %v to calls of %v", i, responses, open)
		}
		open = calls
	}
	if len(open) > 0 {
		return fmt.Errorf("calls of %v not answered at the end", open)
	}
	return nil
}
