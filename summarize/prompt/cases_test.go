package prompt

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
	"precis/summarize/prompt/valid"
	"precis/summarize/tokens"
)

// msg makes a message; its id is its ordinal as a letter.
func msg(ordinal uint64, role, text string) Message {
	return Message{Ordinal: ordinal, Message: &events.Message{
		MessageID: string(rune('a' + ordinal - 1)), Role: role, Content: events.TextContent(text),
	}}
}

func calling(m Message, ids ...string) Message {
	for _, id := range ids {
		m.ToolCalls = append(m.ToolCalls, events.ToolCall{ID: id, Name: "sh", Arguments: jsontext.Value(`{"command":"ls"}`)})
	}
	return m
}

func answering(m Message, id string) Message {
	m.ToolCallID, m.ToolName = id, "sh"
	return m
}

func pinned(m Message) Message {
	m.Pinned = true
	return m
}

// Each case is the whole prompt, line by line: role, then the content; calls as →id, results as id→.
func TestCases(t *testing.T) {
	compaction := &Summary{ID: "sum_1", Content: "It went well."}
	tests := []struct {
		name string
		req  Request
		want string
	}{
		{"system, compaction, pinned in place, newest", Request{Compaction: compaction, Messages: []Message{
			msg(1, "system", "rules"), pinned(msg(3, "user", "never push")), msg(9, "user", "go on"),
		}}, `
			system: rules
			user: [Previous Conversation Summary] / It went well.
			user: never push
			user: go on`},
		{"a system message later stays where it stood", Request{Messages: []Message{
			msg(1, "system", "rules"), msg(2, "user", "hi"), msg(3, "developer", "new rules"), msg(4, "user", "there"),
		}}, `
			system: rules
			user: hi
			developer: new rules
			user: there`},
		{"parallel calls, results out of order", Request{Messages: []Message{
			calling(msg(1, "assistant", "look"), "x", "y"), answering(msg(2, "tool", "Y"), "y"), answering(msg(3, "tool", "X"), "x"),
		}}, `
			assistant: look →x →y
			tool: x→ X
			tool: y→ Y`},
		{"a call at the end that waits is held back", Request{Messages: []Message{
			msg(1, "user", "go"), calling(msg(2, "assistant", ""), "x", "y"), answering(msg(3, "tool", "Y"), "y"),
		}}, `
			user: go`},
		{"a call that somebody spoke over is marked", Request{Messages: []Message{
			calling(msg(1, "assistant", ""), "x"), msg(2, "user", "stop"),
		}}, `
			assistant: →x
			tool: x→ [no result]
			user: stop`},
		{"a late result goes to its call", Request{Messages: []Message{
			calling(msg(1, "assistant", ""), "x"), msg(2, "user", "stop"), answering(msg(3, "tool", "X"), "x"),
		}}, `
			assistant: →x
			tool: x→ X
			user: stop`},
		{"a result without its call gets one", Request{Messages: []Message{
			answering(msg(1, "tool", "X"), "x"), msg(2, "user", "so"),
		}}, `
			assistant: →x
			tool: x→ X
			user: so`},
		{"a summary stands in for an output", Request{Messages: []Message{
			calling(msg(1, "assistant", ""), "x"),
			{Ordinal: 2, Message: answering(msg(2, "tool", "long"), "x").Message, Summary: &Summary{ID: "sum_2", Content: "[✓ sh]"}},
		}}, `
			assistant: →x
			tool: x→ [✓ sh]`},
		{"a trimmed output counts its steps up to its end", Request{Messages: []Message{
			calling(msg(1, "assistant", ""), "x"),
			{Ordinal: 2, Message: answering(msg(2, "tool", "long"), "x").Message, TrimmedAt: 5},
			msg(3, "assistant", "one"), msg(4, "assistant", "two"), msg(6, "assistant", "three"),
		}}, `
			assistant: →x
			tool: x→ [truncated - 2 steps ago]
			assistant: one
			assistant: two
			assistant: three`},
		{"the limit takes outputs before messages", Request{MaxTokens: 120, Messages: []Message{
			msg(1, "user", "begin"),
			calling(msg(2, "assistant", ""), "x"), answering(msg(3, "tool", strings.Repeat("long ", 80)), "x"),
			msg(4, "assistant", "done"), msg(5, "user", "next"),
		}}, `
			user: begin
			assistant: →x
			tool: x→ [truncated - 1 step ago]
			assistant: done
			user: next`},
		{"the limit takes the compaction last", Request{MaxTokens: 60, Compaction: &Summary{ID: "sum_1", Content: strings.Repeat("fact ", 100)}, Messages: []Message{
			msg(1, "user", strings.Repeat("word ", 20)),
		}}, `
			user: [Summary omitted - insufficient budget]
			user: ` + strings.TrimSpace(strings.Repeat("word ", 20))},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := request(tt.req.Messages, FormatOpenAI)
			r.Compaction, r.MaxTokens = tt.req.Compaction, tt.req.MaxTokens
			p, err := Build(r)
			if err != nil {
				t.Fatal(err)
			}
			if err := valid.OpenAI(p.Messages); err != nil {
				t.Error(err)
			}
			if got, want := lines(t, p), strings.ReplaceAll(strings.TrimSpace(tt.want), "\t", ""); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func lines(t *testing.T, p Prompt) string {
	t.Helper()
	var list []struct {
		Role       string       `json:"role"`
		Content    *string      `json:"content"`
		ToolCalls  []openAICall `json:"tool_calls"`
		ToolCallID string       `json:"tool_call_id"`
	}
	if err := json.Unmarshal(p.Messages, &list); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range list {
		line := m.Role + ":"
		if m.ToolCallID != "" {
			line += " " + m.ToolCallID + "→"
		}
		if m.Content != nil && *m.Content != "" {
			line += " " + strings.TrimSpace(strings.ReplaceAll(*m.Content, "\n", " / "))
		}
		for _, c := range m.ToolCalls {
			line += " →" + c.ID
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// A prompt of 100 messages kept, with a real tokenizer.
func BenchmarkBuild(b *testing.B) {
	count, err := tokens.For(tokens.O200k)
	if err != nil {
		b.Fatal(err)
	}
	list := []Message{msg(1, "system", strings.Repeat("You are careful. ", 200))}
	for i := range uint64(50) {
		id := "call_" + string(rune('a'+i%26)) + string(rune('a'+i/26))
		list = append(list, calling(msg(2*i+2, "assistant", "Let me look at the next file."), id),
			answering(msg(2*i+3, "tool", strings.Repeat("func main() { run(ctx, os.Args) }\n", 30)), id))
	}
	for _, f := range formats {
		b.Run(f, func(b *testing.B) {
			r := request(list, f)
			r.Count = count.Count
			r.MaxTokens = 50000
			for b.Loop() {
				if _, err := Build(r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
