package prompt

import (
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// Gemini gives a response to the call at its place: responses stand in the order of the calls, in whatever order they came.
func TestGeminiResponsesAreInTheOrderOfTheirCalls(t *testing.T) {
	tests := map[string][]string{
		"Anthropic's, one tool": {
			`{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"read","input":{"n":"one"}},{"type":"tool_use","id":"t2","name":"read","input":{"n":"two"}}]}`,
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t2","content":"of two"},{"type":"tool_result","tool_use_id":"t1","content":"of one"},{"type":"text","text":"So."}]}`,
		},
		"Anthropic's, two tools": {
			`{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"a","input":{"n":"one"}},{"type":"text","text":"and"},{"type":"tool_use","id":"t2","name":"b","input":{"n":"two"}}]}`,
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t2","content":"of two"},{"type":"tool_result","tool_use_id":"t1","content":"of one"}]}`,
		},
		"Gemini's": {
			`{"role":"model","parts":[{"functionCall":{"name":"a","args":{"n":"one"}},"thoughtSignature":"c2ln"},{"functionCall":{"name":"b","args":{"n":"two"}}}]}`,
			`{"role":"user","parts":[{"functionResponse":{"name":"b","response":{"output":"of two"}}},{"functionResponse":{"name":"a","response":{"output":"of one"}}}]}`,
		},
		"tool calls in another order than their parts": {
			`{"role":"assistant","content":[{"type":"tool_use","id":"t2","name":"a","input":{"n":"two"}},{"type":"tool_use","id":"t1","name":"a","input":{"n":"one"}}],` +
				`"tool_calls":[{"id":"t1","name":"a","arguments":{"n":"one"}},{"id":"t2","name":"a","arguments":{"n":"two"}}]}`,
			`{"role":"tool","tool_call_id":"t1","content":"of one"}`, `{"role":"tool","tool_call_id":"t2","content":"of two"}`,
		},
	}
	for name, list := range tests {
		p := built(t, FormatGemini, append([]string{`{"role":"user","content":"Go."}`}, list...)...)
		calls := regexp.MustCompile(`"n":"(\w+)"`).FindAllStringSubmatch(string(p.Messages), -1)
		responses := regexp.MustCompile(`"of (\w+)"`).FindAllStringSubmatch(string(p.Messages), -1)
		if len(calls) != 2 || len(responses) != 2 || calls[0][1] != responses[0][1] || calls[1][1] != responses[1][1] {
			t.Errorf("%s: calls %v, responses %v", name, calls, responses)
		}
	}
}

// An edit that removes one of several results leaves the others to their calls.
func TestEditedResultsStayWithTheirCalls(t *testing.T) {
	list := []string{
		`{"role":"user","content":"Go."}`,
		`{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"a","input":{}},{"type":"tool_use","id":"t2","name":"b","input":{}}]}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t2","content":"result of t2"}]}`,
	}
	want := map[string]string{
		FormatOpenAI:    `"content":"result of t2","tool_call_id":"t2"},{"role":"tool","content":"[no result]","tool_call_id":"t1"}`,
		FormatResponses: `"call_id":"t2","output":"result of t2"},{"type":"function_call_output","call_id":"t1","output":"[no result]"}`,
		FormatAnthropic: `{"content":"result of t2","tool_use_id":"t2","type":"tool_result"},{"type":"tool_result","tool_use_id":"t1","content":"[no result]"}`,
		FormatGemini:    `{"functionResponse":{"name":"a","response":{"output":"[no result]"}}},{"functionResponse":{"name":"b","response":{"output":"result of t2"}}}`,
		FormatMessages:  `"content":[{"content":"result of t2","tool_use_id":"t2","type":"tool_result"}],"tool_call_ids":["t2","t1"]`,
	}
	for format, want := range want {
		messages := thread(t, list...)
		messages[2].Answered = []string{"t1", "t2"}
		p := builtOf(t, format, messages)
		got := jsontext.Value(p.Messages)
		if format == FormatAnthropic || format == FormatMessages { // parts stand as they were published
			want = strings.ReplaceAll(want, `{"content":"result of t2","tool_use_id":"t2","type":"tool_result"}`, `{"type":"tool_result","tool_use_id":"t2","content":"result of t2"}`)
		}
		if !strings.Contains(string(got), want) || len(p.WaitingMessageIDs) > 0 {
			t.Errorf("%s: %s\nwant %s", format, got, want)
		}
	}
	messages := thread(t, list...)
	messages[2].Answered = []string{"t1", "t3"} // both are removed, and one came
	p := builtOf(t, FormatOpenAI, messages)
	if got := string(p.Messages); !strings.Contains(got, `"content":"[no result]","tool_call_id":"t1"`) || !strings.Contains(got, `"content":"result of t2","tool_call_id":"t2"`) || strings.Contains(got, "t3") {
		t.Errorf("%s", got)
	}
}

// A call that is both a part and a tool call of its message, as LangChain has it, is one call.
func TestCallThatIsPartAndToolCallIsOne(t *testing.T) {
	for name, message := range map[string]string{
		"Anthropic's": `{"role":"assistant","content":[{"type":"text","text":"Look."},{"type":"tool_use","id":"t1","name":"ls","input":{"n":1}}],"tool_calls":[{"id":"t1","name":"ls","arguments":{"n":1}}]}`,
		"items":       `{"role":"assistant","content":[{"type":"function_call","call_id":"t1","name":"ls","arguments":"{\"n\":1}"}],"tool_calls":[{"id":"t1","type":"function","function":{"name":"ls","arguments":"{\"n\":1}"}}]}`,
		"Gemini's":    `{"role":"model","parts":[{"functionCall":{"id":"t1","name":"ls","args":{"n":1}},"thoughtSignature":"c2ln"}],"tool_calls":[{"id":"t1","name":"ls","arguments":{"n":1}}]}`,
	} {
		for _, format := range formats {
			p := built(t, format, `{"role":"user","content":"Go."}`, message, `{"role":"tool","tool_call_id":"t1","content":"a.go"}`)
			if format == FormatMessages {
				continue // it is as published
			}
			if calls := strings.Count(strings.ReplaceAll(string(p.Messages), "\\", ""), `{"n":1}`); calls != 1 || len(p.OmittedParts) > 0 {
				t.Errorf("%s in %s: %d calls, omitted %v: %s", name, format, calls, p.OmittedParts, p.Messages)
			}
		}
	}
}

// thread are messages as they were published.
func thread(t *testing.T, list ...string) []Message {
	t.Helper()
	var raw []jsontext.Value
	for _, m := range list {
		raw = append(raw, jsontext.Value(m))
	}
	return published(t, raw)
}

// built is a valid prompt of messages as they were published.
func built(t *testing.T, format string, list ...string) Prompt {
	t.Helper()
	return builtOf(t, format, thread(t, list...))
}

func builtOf(t *testing.T, format string, messages []Message) Prompt {
	t.Helper()
	p, err := Build(request(messages, format))
	if err != nil {
		t.Fatal(err)
	}
	if err := validity(p, format); err != nil {
		t.Errorf("%s: %v\n%s", format, err, p.Messages)
	}
	return p
}
