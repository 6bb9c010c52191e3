package prompt

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// What a message says beside its content is a text in another format, or listed.
func TestMembersBesideTheContent(t *testing.T) {
	for _, test := range []struct {
		name, message, text string
		listed              []string
	}{
		{"a refusal", `{"role":"assistant","content":null,"refusal":"I must not."}`, "I must not.", nil},
		{"a refusal without a content", `{"role":"assistant","refusal":"I must not."}`, "I must not.", nil},
		{"a refusal behind a text", `{"role":"assistant","content":"Well.","refusal":"I must not."}`, "Well.\nI must not.", nil},
		{"a recording", `{"role":"assistant","content":null,"audio":{"id":"a","transcript":"Good morning.","data":"AAAA"}}`, "Good morning.", []string{"audio not_supported"}},
		{"reasoning", `{"role":"assistant","content":"Yes.","reasoning_content":"hm"}`, "Yes.", []string{"reasoning_content reasoning"}},
		{"reasoning of routers", `{"role":"assistant","content":"Yes.","reasoning":"hm","reasoning_details":[{"type":"x"}],"thinking_blocks":[{"type":"thinking"}]}`, "Yes.",
			[]string{"reasoning_details reasoning", "reasoning reasoning", "thinking_blocks reasoning"}},
		{"citations", `{"role":"assistant","content":"Yes.","annotations":[{"type":"url_citation"}]}`, "Yes.", []string{"annotations not_supported"}},
		{"nothing but calls", `{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"ls","arguments":"{}"}}],"refusal":null,"annotations":[]}`, "", nil},
		{"a call before there were tools", `{"role":"assistant","function_call":{"name":"ls","arguments":"{}"}}`, "", nil},
		{"who speaks", `{"role":"user","content":"Yes.","name":"ann"}`, "Yes.", []string{"name not_supported"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			list := []jsontext.Value{jsontext.Value(`{"role":"user","content":"Go."}`), jsontext.Value(test.message)}
			switch {
			case strings.Contains(test.message, "tool_calls"):
				list = append(list, jsontext.Value(`{"role":"tool","tool_call_id":"c1","content":"a.go"}`))
			case strings.Contains(test.message, "function_call"):
				list = append(list, jsontext.Value(`{"role":"function","name":"ls","content":"a.go"}`))
			}
			messages := published(t, list)
			for _, format := range formats {
				p, err := Build(request(messages, format))
				if err != nil {
					t.Fatal(err)
				}
				if err := validity(p, format); err != nil {
					t.Errorf("%s: %v\n%s", format, err, p.Messages)
				}
				if strings.Contains(string(p.Messages), noText) || strings.Contains(string(p.Messages), noResult) {
					t.Errorf("%s: %s", format, p.Messages)
				}
				if format == FormatOpenAI {
					same(t, dialects[0], p, list)
				}
				var listed []string
				for _, o := range p.OmittedParts {
					if listed = append(listed, o.Type+" "+o.Reason); o.MessageID != "m1" || o.Index != memberIndex {
						t.Errorf("%s: %+v", format, o)
					}
				}
				want := test.listed
				if format == FormatOpenAI || format == FormatMessages {
					want = nil
				}
				if !slices.Equal(listed, want) {
					t.Errorf("%s: %q are listed, want %q", format, listed, want)
				}
				for _, line := range strings.Split(test.text, "\n") {
					if !strings.Contains(string(p.Messages), line) {
						t.Errorf("%s: %q is not in %s", format, line, p.Messages)
					}
				}
			}
			said := messages[1].Spoken()[0].Content.Text()
			if said != test.text {
				t.Errorf("summaries read %q, want %q", said, test.text)
			}
		})
	}
}

// What a provider's SDK gives is taken, and each provider has its contents as it takes them.
func TestShapesAtTheDoor(t *testing.T) {
	for name, test := range map[string]struct{ format, messages, want string }{
		"Gemini's contents without a role, and of the role function": {
			FormatGemini,
			`[{"parts":[{"text":"Go."}]},{"role":"model","parts":[{"functionCall":{"name":"ls","args":{}},"thoughtSignature":"c2ln"}]},{"role":"function","parts":[{"functionResponse":{"name":"ls","response":{"output":"a"}}}]}]`,
			`[{"role":"user","parts":[{"text":"Go."}]},{"role":"model","parts":[{"functionCall":{"name":"ls","args":{}},"thoughtSignature":"c2ln"}]},{"role":"user","parts":[{"functionResponse":{"name":"ls","response":{"output":"a"}}}]}]`,
		},
		"Anthropic's response as it is": {
			FormatAnthropic,
			`[{"role":"user","content":"Go."},{"id":"msg_1","type":"message","role":"assistant","model":"claude","content":[{"type":"text","text":"Gone."}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}]`,
			`[{"role":"user","content":"Go."},{"role":"assistant","content":[{"type":"text","text":"Gone."}]}]`,
		},
		"an item of the Responses API as it is": {
			FormatResponses,
			`[{"role":"user","content":"Go."},{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Gone.","annotations":[],"logprobs":[]}]}]`,
			`[{"role":"user","content":"Go."},{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Gone.","annotations":[],"logprobs":[]}]}]`,
		},
		"a shell's output by its id": {
			FormatResponses,
			`[{"role":"user","content":"Go."},{"role":"assistant","content":[{"type":"local_shell_call","id":"l","call_id":"c","action":{"type":"exec","command":["ls"],"env":{}},"status":"completed"}]},{"role":"user","content":[{"type":"local_shell_call_output","id":"c","output":"a"}]}]`,
			`[{"role":"user","content":"Go."},{"type":"local_shell_call","id":"l","call_id":"c","action":{"type":"exec","command":["ls"],"env":{}},"status":"completed"},{"type":"local_shell_call_output","id":"c","output":"a"}]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var list []jsontext.Value
			if err := json.Unmarshal([]byte(test.messages), &list); err != nil {
				t.Fatal(err)
			}
			p, err := Build(request(published(t, list), test.format))
			if err != nil || !alikeJSON(string(p.Messages), test.want) {
				t.Errorf("%v\n%s\nwant\n%s", err, p.Messages, test.want)
			}
			for _, format := range formats {
				p, err := Build(request(published(t, list), format))
				if err != nil {
					t.Fatal(err)
				}
				if err := validity(p, format); err != nil {
					t.Errorf("%s: %v\n%s", format, err, p.Messages)
				}
			}
		})
	}
}
