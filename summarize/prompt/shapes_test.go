package prompt

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
)

// A system message in mid-thread stays at its place, marked, where system messages are apart.
func TestSystemMessageLater(t *testing.T) {
	list := []Message{
		msg(1, events.RoleSystem, "rules"), msg(2, events.RoleUser, "hi"), msg(3, events.RoleDeveloper, "new rules"), msg(4, events.RoleAssistant, "yes"),
	}
	for _, test := range []struct{ format, system, messages string }{
		{
			FormatAnthropic, `[{"type":"text","text":"rules"}]`,
			`[{"role":"user","content":[{"type":"text","text":"hi"},{"type":"text","text":"[system message]\nnew rules"}]},{"role":"assistant","content":"yes"}]`,
		},
		{
			FormatGemini, `{"parts":[{"text":"rules"}]}`,
			`[{"role":"user","parts":[{"text":"hi"},{"text":"[system message]\nnew rules"}]},{"role":"model","parts":[{"text":"yes"}]}]`,
		},
		{
			FormatOpenAI, "",
			`[{"role":"system","content":"rules"},{"role":"user","content":"hi"},{"role":"developer","content":"new rules"},{"role":"assistant","content":"yes"}]`,
		},
	} {
		p, err := Build(request(list, test.format))
		if err != nil {
			t.Fatal(err)
		}
		if string(p.System) != test.system || string(p.Messages) != test.messages {
			t.Errorf("%s:\n%s\n%s\nwant\n%s\n%s", test.format, p.System, p.Messages, test.system, test.messages)
		}
	}
}

// The same thread in the two formats whose calls and results are not messages of their own.
func TestShapes(t *testing.T) {
	failed := true
	call := events.ToolCall{ID: "c1", Name: "1st tool", Arguments: jsontext.Value(`{"path":"a.go"}`)}
	second := events.ToolCall{ID: "c2", Name: "bash", Arguments: jsontext.Value(`"not an object"`)}
	asked := msg(3, events.RoleAssistant, "I look.")
	asked.ToolCalls = []events.ToolCall{call, second}
	refused := answering(msg(4, events.RoleTool, "no such file"), "c2")
	refused.IsError = &failed
	list := []Message{
		msg(1, events.RoleSystem, "Be brief."), msg(2, events.RoleUser, "Why?"), asked,
		refused, answering(msg(5, events.RoleTool, "package a"), "c1"), msg(6, events.RoleAssistant, "Because."),
	}
	for _, test := range []struct{ format, system, messages string }{
		{
			FormatResponses, "",
			`[{"role":"system","content":"Be brief."},{"role":"user","content":"Why?"},` +
				`{"type":"message","role":"assistant","content":"I look."},` +
				`{"type":"function_call","call_id":"c1","name":"1st_tool","arguments":"{\"path\":\"a.go\"}"},` +
				`{"type":"function_call","call_id":"c2","name":"bash","arguments":"not an object"},` +
				`{"type":"function_call_output","call_id":"c1","output":"package a"},` +
				`{"type":"function_call_output","call_id":"c2","output":"no such file"},` +
				`{"role":"assistant","content":"Because."}]`,
		},
		{
			FormatGemini, `{"parts":[{"text":"Be brief."}]}`,
			`[{"role":"user","parts":[{"text":"Why?"}]},` +
				`{"role":"model","parts":[{"text":"I look."},{"thoughtSignature":"skip_thought_signature_validator","functionCall":{"name":"_1st_tool","args":{"path":"a.go"}}},` +
				`{"functionCall":{"name":"bash","args":{"arguments":"not an object"}}}]},` +
				`{"role":"user","parts":[{"functionResponse":{"name":"_1st_tool","response":{"output":"package a"}}},` +
				`{"functionResponse":{"name":"bash","response":{"error":"no such file"}}}]},` +
				`{"role":"model","parts":[{"text":"Because."}]}]`,
		},
	} {
		p, err := Build(request(list, test.format))
		if err != nil {
			t.Fatal(err)
		}
		if string(p.System) != test.system || string(p.Messages) != test.messages {
			t.Errorf("%s:\n%s\n%s\nwant\n%s\n%s", test.format, p.System, p.Messages, test.system, test.messages)
		}
		if err := validity(p, test.format); err != nil {
			t.Errorf("%s: %v", test.format, err)
		}
	}
}
