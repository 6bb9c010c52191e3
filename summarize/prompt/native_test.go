package prompt

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
	"precis/internal/race"
	"precis/summarize/tokens"
)

// The real threads as each provider's SDK would have them come back byte for byte in their own format.
func TestTranscriptsRoundTrip(t *testing.T) {
	race.Slow(t)
	threads := transcripts(t, dirs()...)
	for _, d := range dialects {
		t.Run(d.format, func(t *testing.T) {
			sent := 0
			for _, th := range threads {
				list := native(d.format, th)
				if len(list) == 0 {
					continue
				}
				p, err := Build(request(published(t, list), d.format))
				if err != nil {
					t.Fatal(err)
				}
				same(t, d, p, list)
				if err := validity(p, d.format); err != nil || len(p.OmittedParts) > 0 {
					t.Fatalf("%v, omitted %v", err, p.OmittedParts)
				}
				sent += len(list)
			}
			t.Logf("%d messages of %d threads", sent, len(threads))
			if sent < 5000 {
				t.Error("that is not what was to be looked at")
			}
		})
	}
}

// The real threads in every shape make valid prompts in every format, for every budget, while they are summarized and compacted.
func TestNativeTranscripts(t *testing.T) {
	race.Slow(t)
	count, err := tokens.For(tokens.Estimate)
	if err != nil {
		t.Fatal(err)
	}
	threads := transcripts(t, dirs()...)
	for _, d := range dialects {
		t.Run(d.format, func(t *testing.T) {
			made, every := 0, *transcriptsEvery*5
			for n, th := range threads {
				s := newSession(count)
				for i, m := range published(t, native(d.format, th)) {
					if s.add(m.Message); (i+n)%every != 0 {
						continue
					}
					for _, limit := range budgets() {
						for _, format := range formats {
							s.prompt(t, format, limit)
							made++
						}
					}
				}
			}
			t.Logf("%d prompts", made)
		})
	}
}

// exchange is what a provider sees of a thread: something said, or an assistant's message with its calls, all of which are answered.
type exchange struct {
	role    string
	text    string
	calls   []events.ToolCall
	results []*events.Message
}

var notName = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

// exchanges leaves out what no client of a provider could have sent: calls without results, results without calls and empty
// messages. Ids that were used before are made unique, and ids and names of tools such as providers make and take.
func exchanges(th []*events.Message) (list []exchange) {
	used := map[*events.Message]bool{}
	ids := map[string]int{}
	for i, m := range th {
		if m.Role == events.RoleTool {
			continue
		}
		r := exchange{role: m.Role, text: m.Content.Text()}
		for _, c := range m.ToolCalls {
			for _, result := range th[i+1:] {
				if result.Role != events.RoleTool || result.ToolCallID != c.ID || used[result] {
					continue
				}
				used[result] = true
				c.ID = c.ID[max(0, len(c.ID)-36):] // 40 at most, with a suffix
				if ids[c.ID]++; ids[c.ID] > 1 {
					c.ID = fmt.Sprintf("%s-%d", c.ID, ids[c.ID])
				}
				c.Name = strings.TrimLeft(notName.ReplaceAllString(c.Name, "_"), "_-0123456789")
				r.calls, r.results = append(r.calls, c), append(r.results, result)
				break
			}
		}
		if strings.TrimSpace(r.text) != "" || len(r.calls) > 0 {
			list = append(list, r)
		}
	}
	return list
}

// native are a real thread's messages in a provider's shape, with the reasoning and the signatures that it would have.
func native(format string, th []*events.Message) []jsontext.Value {
	list := exchanges(th)
	switch format {
	case FormatOpenAI:
		return nativeOpenAI(list)
	case FormatResponses:
		return nativeResponses(list)
	case FormatMessages:
		return nativeModel(list)
	}
	return nativeTurns(format, list)
}

func nativeOpenAI(list []exchange) (out []jsontext.Value) {
	for _, r := range list {
		m := object{"role": r.role, "content": r.text}
		if r.role == events.RoleAssistant {
			m["refusal"] = nil
		}
		var calls []any
		for _, c := range r.calls {
			calls = append(calls, object{"id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": c.ArgumentsText()}})
		}
		if len(calls) > 0 {
			m["tool_calls"] = calls
			if r.text == "" {
				m["content"] = nil
			}
		}
		out = append(out, value(m))
		for i, result := range r.results {
			out = append(out, value(object{"role": "tool", "tool_call_id": r.calls[i].ID, "content": result.Content.Text()}))
		}
	}
	return out
}

func nativeResponses(list []exchange) (out []jsontext.Value) {
	for n, r := range list {
		text := "input_text"
		var items []any
		if r.role == events.RoleAssistant {
			text = "output_text"
			items = append(items, object{"type": "reasoning", "id": fmt.Sprintf("rs_%d", n), "summary": []any{}, "encrypted_content": fmt.Sprintf("gAAAA%d", n)})
		}
		if strings.TrimSpace(r.text) != "" {
			part := object{"type": text, "text": r.text}
			if r.role == events.RoleAssistant {
				part["annotations"] = []any{}
			}
			items = append(items, object{"type": "message", "role": r.role, "content": []any{part}})
		}
		var outputs []any
		for i, c := range r.calls {
			items = append(items, object{"type": "function_call", "id": fmt.Sprintf("fc_%d_%d", n, i), "call_id": c.ID, "name": c.Name, "arguments": c.ArgumentsText(), "status": "completed"})
			outputs = append(outputs, object{"type": "function_call_output", "call_id": c.ID, "output": r.results[i].Content.Text()})
		}
		out = append(out, value(object{"role": r.role, "content": items}))
		if len(outputs) > 0 {
			out = append(out, value(object{"role": "user", "content": outputs}))
		}
	}
	return out
}

func nativeModel(list []exchange) (out []jsontext.Value) {
	for _, r := range list {
		if len(r.calls) == 0 {
			out = append(out, value(object{"role": r.role, "content": r.text}))
			continue
		}
		parts := []any{object{"type": "reasoning", "text": "hm", "providerOptions": object{"anthropic": object{"signature": "c2ln"}}}}
		if r.text != "" {
			parts = append(parts, object{"type": "text", "text": r.text})
		}
		var results []any
		for i, c := range r.calls {
			parts = append(parts, object{"type": "tool-call", "toolCallId": c.ID, "toolName": c.Name, "input": arguments(c)})
			output := object{"type": "text", "value": r.results[i].Content.Text()}
			if failed := r.results[i].IsError; failed != nil && *failed {
				output["type"] = "error-text"
			}
			results = append(results, object{"type": "tool-result", "toolCallId": c.ID, "toolName": c.Name, "output": output})
		}
		out = append(out, value(object{"role": r.role, "content": parts}), value(object{"role": "tool", "content": results}))
	}
	return out
}

// nativeTurns are the turns of Anthropic and Gemini: the user begins, roles alternate, and system messages are elsewhere.
func nativeTurns(format string, list []exchange) (out []jsontext.Value) {
	user, assistant, content := "user", "assistant", "content"
	if format == FormatGemini {
		assistant, content = "model", "parts"
	}
	var blocks []any
	role := user
	say := func(next string, added ...any) {
		if next != role && len(blocks) > 0 {
			out = append(out, value(object{"role": role, content: blocks}))
			blocks = nil
		}
		role, blocks = next, append(blocks, added...)
	}
	text := func(s string) any {
		if format == FormatGemini {
			return object{"text": s}
		}
		return object{"type": "text", "text": s}
	}
	for n, r := range list {
		switch r.role {
		case events.RoleSystem, events.RoleDeveloper:
			continue
		case events.RoleUser:
			say(user, text(r.text))
			continue
		}
		if len(out) == 0 && len(blocks) == 0 {
			say(user, text("Go on."))
		}
		if n == len(list)-1 && len(r.calls) == 0 {
			r.text = strings.TrimRight(r.text, " \t\r\n") // refused by Anthropic at the end
		}
		var results []any
		if format == FormatAnthropic {
			say(assistant, object{"type": "thinking", "thinking": "hm", "signature": fmt.Sprintf("c2ln%d", n)})
		}
		if strings.TrimSpace(r.text) != "" {
			say(assistant, text(r.text))
		}
		for i, c := range r.calls {
			result := r.results[i]
			failed := result.IsError != nil && *result.IsError
			if format == FormatGemini {
				call := object{"functionCall": object{"name": c.Name, "args": arguments(c)}}
				if i == 0 {
					call["thoughtSignature"] = "c2ln"
				}
				say(assistant, call)
				response := object{"output": result.Content.Text()}
				if failed {
					response = object{"error": result.Content.Text()}
				}
				results = append(results, object{"functionResponse": object{"name": c.Name, "response": response}})
				continue
			}
			say(assistant, object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": arguments(c)})
			block := object{"type": "tool_result", "tool_use_id": c.ID, "content": result.Content.Text()}
			if failed {
				block["is_error"] = true
			}
			results = append(results, block)
		}
		if len(results) > 0 {
			say(user, results...)
		}
	}
	say("", nil)
	return out
}

// arguments is a call's input as an object.
func arguments(c events.ToolCall) any {
	input := map[string]jsontext.Value{}
	if json.Unmarshal([]byte(c.ArgumentsText()), &input) != nil {
		return object{"input": c.ArgumentsText()}
	}
	return input
}

func value(v any) jsontext.Value {
	b, err := json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic(err)
	}
	return b
}
