package ledger

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
	"precis/internal/race"
	"precis/summarize/lex"
)

// A leaf is small whatever its messages contain: each place that a ledger reads gets the largest content that an event
// can have.
func TestGiantMessages(t *testing.T) {
	race.Slow(t)
	const size = 1 << 20
	long := strings.Repeat("x_1/", size/4)
	lines := func(form string) string {
		var b strings.Builder
		for i := 0; b.Len() < size; i++ {
			fmt.Fprintf(&b, form, i, i)
		}
		return b.String()
	}
	quoted := func(s string) string {
		data, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	call := func(name, arguments string) *events.Message {
		return &events.Message{Role: events.RoleAssistant, ToolCalls: []events.ToolCall{{ID: "c", Name: name, Arguments: jsontext.Value(arguments)}}}
	}
	failed := true
	tests := map[string]*events.Message{
		"one line":         {Role: events.RoleUser, Content: events.TextContent(long)},
		"short words":      {Role: events.RoleUser, Content: events.TextContent(strings.Repeat("x y ", 8*size/4))}, // quadratic, it takes minutes
		"one word":         {Role: events.RoleUser, Content: events.TextContent(strings.Repeat("A", size))},
		"a sentence":       {Role: events.RoleAssistant, Content: events.TextContent(strings.Repeat("Never touch file_1. ", size/20))},
		"instructions":     {Role: events.RoleUser, Content: events.TextContent(lines("Never touch file_%d.go of part %d.\n"))},
		"many lines":       {Role: events.RoleTool, ToolCallID: "c", Content: events.TextContent(lines("func readHeader%d() { return header_%d }\n"))},
		"many errors":      {Role: events.RoleTool, ToolCallID: "c", IsError: &failed, Content: events.TextContent(lines("error: no such file%d.go: %d\n"))},
		"a path":           call("Write", `{"file_path":`+quoted(long)+`,"content":"x"}`),
		"a patch":          call("apply_patch", `{"input":`+quoted(lines("*** Add File: src/part%d/file%d.go\n+x\n"))+`}`),
		"a command":        call("bash", `{"command":`+quoted("cat "+long)+`}`),
		"many commands":    call("bash", `{"command":`+quoted(lines("cat part%d.go > part%d.txt && "))+`}`),
		"a list of tasks":  call("TodoWrite", `{"todos":[{"content":`+quoted(long)+`,"status":"pending"}]}`),
		"a tool's name":    call(long, `{}`),
		"arguments":        call("search", `{"query":`+quoted(long)+`}`),
		"nested arguments": call("search", strings.Repeat("[", 500)+quoted(long)+strings.Repeat("]", 500)),
	}
	for name, m := range tests {
		t.Run(name, func(t *testing.T) {
			m.MessageID = "m"
			l := Collect([]Message{{Ordinal: 1, Message: m}}).Trim()
			text := l.Text(2000)
			data, err := json.Marshal(l)
			if err != nil {
				t.Fatal(err)
			}
			if len(data) > 128<<10 || lex.Runes(text) > 2000 {
				t.Errorf("a ledger of %d bytes, a text of %d characters", len(data), lex.Runes(text))
			}
		})
	}
}
