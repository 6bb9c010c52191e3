package valid

import (
	"fmt"
	"regexp"
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
				if !validID.MatchString(c.ID) || !validName.MatchString(c.Function.Name) || c.Type != "function" || c.Function.Arguments == nil || open[c.ID] {
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
