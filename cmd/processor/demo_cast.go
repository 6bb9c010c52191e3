package main

import (
	"embed"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
)

// demoFiles are what the tools of the demo printed. The service that they speak of does not exist.
//
//go:embed demo
var demoFiles embed.FS

// demoFile is one tool's output.
func demoFile(name string) string {
	text, err := demoFiles.ReadFile("demo/" + name)
	if err != nil {
		panic(fmt.Sprintf("the samples are broken: %v", err))
	}
	return string(text)
}

// actor is an agent, and what it publishes of its session.
type actor struct {
	name, thread string
	script       []*events.Message
}

// The cast's threads.
const (
	fixerThread   = "fix-rounding"
	analystThread = "vat-rules"
	scoutThread   = "repo-tour"
)

// cast is three agents at work on one fault: each reads what is too large for its prompt.
func cast() []actor {
	return []actor{
		{name: "fixer", thread: fixerThread, script: numbered("fixer", fixer())},
		{name: "analyst", thread: analystThread, script: numbered("analyst", analyst())},
		{name: "scout", thread: scoutThread, script: numbered("scout", scout())},
	}
}

func fixer() []*events.Message {
	grep := call("c1", "grep", `{"pattern":"Total\\(","path":"."}`)
	read := call("c2", "read_file", `{"path":"internal/billing/invoice.go"}`)
	test := call("c3", "bash", `{"command":"go test -v ./internal/..."}`)
	failed := answer(test, demoFile("gotest.txt"))
	failed.ExitCode = new(1)
	return []*events.Message{
		says(events.RoleUser, "Invoice 2031-0457 is a cent too low. Find out why, and fix it."),
		says(events.RoleAssistant, "Where are totals made?", grep), answer(grep, demoFile("grep.txt")),
		says(events.RoleAssistant, "Then how Total rounds.", read), answer(read, demoFile("invoice.go.txt")),
		says(events.RoleAssistant, "Does a test show it?", test), failed,
	}
}

func analyst() []*events.Message {
	page := call("c1", "web_fetch", `{"url":"https://handbook.example.com/invoices/rounding"}`)
	payments := call("c2", "http_get", `{"url":"https://api.example.com/v2/reconciliation"}`)
	return []*events.Message{
		says(events.RoleUser, "Which way is VAT to be rounded, and which payments are off?"),
		says(events.RoleAssistant, "", page, payments),
		answer(page, demoFile("page.txt")), answer(payments, demoFile("payments.json")),
	}
}

func scout() []*events.Message {
	find := call("c1", "find", `{"path":"."}`)
	return []*events.Message{
		says(events.RoleUser, "Get to know the repository."),
		says(events.RoleAssistant, "", find), answer(find, demoFile("listing.txt")),
		says(events.RoleAssistant, "A billing service in Go with a web front; rounding is written up in docs/rounding.md."),
	}
}

func says(role, text string, calls ...events.ToolCall) *events.Message {
	m := &events.Message{Role: role, ToolCalls: calls}
	if text != "" {
		m.Content = events.TextContent(text)
	}
	return m
}

func call(id, tool, arguments string) events.ToolCall {
	return events.ToolCall{ID: id, Name: tool, Arguments: jsontext.Value(arguments)}
}

func answer(c events.ToolCall, output string) *events.Message {
	return &events.Message{
		Role: events.RoleTool, ToolCallID: c.ID, ToolName: c.Name, Arguments: c.Arguments,
		Content: events.TextContent(output),
	}
}

// numbered gives a session's messages their ids. Of a real agent they would be random.
func numbered(agent string, script []*events.Message) []*events.Message {
	for i, m := range script {
		m.MessageID, m.AgentID = fmt.Sprintf("m%d", i+1), agent
	}
	return script
}
