package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// request is what the script reads of a request, whichever API it is for.
type request struct {
	Model    string          `json:"model"`
	Stream   bool            `json:"stream"`
	Messages []message       `json:"messages"`
	Input    json.RawMessage `json:"input"` // a text, or items
	Tools    []struct {
		Name     string `json:"name"`
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tools"`
}

// message is a message, an item of the Responses API, or a block of a message of Anthropic's.
type message struct {
	Type    string          `json:"type"`
	Role    string          `json:"role"`
	Text    string          `json:"text"`
	Output  json.RawMessage `json:"output"`
	Content json.RawMessage `json:"content"` // a text, or parts
}

// turn is what the model does next: it calls a tool with a command, or says a text.
type turn struct {
	tool, command string
	text          string
}

func (t turn) String() string {
	if t.tool != "" {
		return fmt.Sprintf("answered with a call: %s %q", t.tool, t.command)
	}
	return fmt.Sprintf("answered with a text: %q", t.text)
}

// arguments of the call.
func (t turn) arguments() map[string]any { return map[string]any{"command": t.command} }

// said are the messages of the request.
func (r *request) said() []message {
	if r.Messages != nil {
		return r.Messages
	}
	return parts(r.Input)
}

func (r *request) count() string {
	if n := len(r.said()); n != 1 {
		return fmt.Sprintf("%d messages", n)
	}
	return "1 message"
}

// order is how a user makes the script call a tool. The outputs of several come one after the other.
var order = regexp.MustCompile(`(?i)\brun ([^\n]+?)\.(?:\s|$)`)

// next is the script.
func (r *request) next() turn {
	asked, output, outputs := "", "", 0
	for _, m := range r.said() {
		if out, is := result(m); is {
			output, outputs = out, outputs+1
		} else if m.Role == "user" { // agents put system messages of their own behind it
			asked, output, outputs = text(m), "", 0
		}
	}
	if orders := order.FindAllStringSubmatch(asked, -1); outputs < len(orders) && len(r.Tools) > 0 {
		return turn{tool: r.shell(), command: orders[outputs][1]}
	}
	if outputs > 0 {
		lines := strings.Split(strings.TrimSpace(output), "\n")
		return turn{text: "It ends with: " + lines[len(lines)-1]}
	}
	return turn{text: fmt.Sprintf("I am a script, and was asked: %.100s", asked)}
}

// shell is the tool that runs commands, as far as its name says so.
func (r *request) shell() string {
	for _, t := range r.Tools {
		if name := t.Name + t.Function.Name; strings.EqualFold(name, "bash") || strings.Contains(strings.ToLower(name), "shell") {
			return name
		}
	}
	return r.Tools[0].Name + r.Tools[0].Function.Name
}

// result is the output of a tool, where a message is one or ends with one.
func result(m message) (string, bool) {
	switch {
	case m.Type == "function_call_output":
		return text(message{Content: m.Output}), true
	case m.Role == "tool":
		return text(m), true
	}
	for _, p := range parts(m.Content) {
		if p.Type == "tool_result" {
			return text(p), true
		}
	}
	return "", false
}

// text is the last text of a message: agents put theirs before what the user says.
func text(m message) string {
	list := parts(m.Content)
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Text != "" {
			return list[i].Text
		}
	}
	return m.Text
}

// parts are those of a content, of which a text is one.
func parts(content json.RawMessage) (list []message) {
	var whole string
	if json.Unmarshal(content, &whole) == nil {
		return []message{{Type: "text", Role: "user", Text: whole}}
	}
	_ = json.Unmarshal(content, &list)
	return list
}
