package prompt

import (
	"fmt"
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
		{"a content that begins with line breaks", `{"role":"assistant","content":"\n\n  diff","refusal":"No."}`, "\n\n  diff\nNo.", nil},
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
				for _, line := range strings.Split(strings.TrimSpace(test.text), "\n") {
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

// Members that a provider refuses where they stand are left out, and a function_call that it refuses is a tool call or nothing.
func TestMembersThatAreRefused(t *testing.T) {
	const user, call = `{"role":"user","content":"Go."}`, `{"role":"assistant","content":null,"tool_calls":[{"id":"call_519fdb65ca9769433ab53826","type":"function","function":{"name":"ls","arguments":%s}}]}`
	for _, test := range []struct{ name, format, message, want string }{
		{"the assistant's members of a user's message", FormatOpenAI,
			`{"role":"user","content":"Hm.","name":"ann","tool_calls":null,"function_call":null,"refusal":null,"audio":null,"annotations":[]}`, `{"role":"user","content":"Hm.","name":"ann"}`},
		{"of a system message", FormatOpenAI, `{"role":"developer","content":"Hm.","tool_calls":null,"refusal":null}`, `{"role":"developer","content":"Hm."}`},
		{"a null of the assistant's", FormatOpenAI, `{"role":"assistant","content":"Hm.","function_call":null}`, `{"role":"assistant","content":"Hm.","function_call":null}`},
		{"no arguments", FormatOpenAI, `{"role":"assistant","content":null,"function_call":{"name":"ls"}}`, fmt.Sprintf(call, `"{}"`)},
		{"arguments as an object", FormatOpenAI, `{"role":"assistant","content":null,"function_call":{"name":"ls","arguments":{"a":1}}}`, fmt.Sprintf(call, `"{\"a\":1}"`)},
		{"arguments as a list", FormatOpenAI, `{"role":"assistant","content":"Hm.","function_call":{"name":"ls","arguments":[1]}}`, `{"role":"assistant","content":"Hm."}`},
		{"no name", FormatOpenAI, `{"role":"assistant","content":"Hm.","function_call":{"name":"","arguments":"{}"}}`, `{"role":"assistant","content":"Hm."}`},
		{"a call in one word", FormatOpenAI, `{"role":"assistant","content":"Hm.","function_call":"auto"}`, `{"role":"assistant","content":"Hm."}`},
		{"a framework's id", FormatResponses, `{"id":"run-1","role":"assistant","status":"completed","content":"Hm."}`, `{"role":"assistant","content":"Hm."}`},
		{"another provider's id", FormatResponses, `{"id":"msg_01X","type":"message","role":"assistant","content":[{"type":"text","text":"Hm."}]}`, `{"type":"message","role":"assistant","content":"Hm."}`},
		{"a provider's id at a text", FormatResponses, `{"id":"msg_1","role":"assistant","status":"completed","content":"Hm."}`, `{"role":"assistant","content":"Hm."}`},
		{"an id at the model's own parts", FormatResponses, `{"id":"run-1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Hm.","annotations":[]}]}`,
			`{"role":"assistant","content":[{"type":"output_text","text":"Hm.","annotations":[]}]}`},
		{"a user's id", FormatResponses, `{"id":"msg_1","status":"completed","role":"user","content":[{"type":"input_text","text":"Hm."}]}`, `{"status":"completed","role":"user","content":[{"type":"input_text","text":"Hm."}]}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			list := []jsontext.Value{jsontext.Value(user), jsontext.Value(test.message)}
			called := strings.Contains(test.want, "tool_calls")
			if called {
				list = append(list, jsontext.Value(`{"role":"function","name":"ls","content":"a.go"}`))
			}
			p, err := Build(request(published(t, list), test.format))
			if err != nil {
				t.Fatal(err)
			}
			if err := validity(p, test.format); err != nil {
				t.Errorf("%v\n%s", err, p.Messages)
			}
			var got []jsontext.Value
			if err := json.Unmarshal(p.Messages, &got); err != nil || len(got) != len(list) || !alikeJSON(string(got[1]), test.want) {
				t.Errorf("%v\n%s\nwant\n%s", err, p.Messages, test.want)
			}
		})
	}
}
