package events_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"

	"precis/events"
)

// A message may come in its provider's shape.
func TestProviderShapes(t *testing.T) {
	for _, test := range []struct{ name, role, members, text, calls, other string }{
		{
			"chat completions", "assistant", `"content":"I look.","tool_calls":[{"id":"c1","type":"function","function":{"name":"ls","arguments":"{\"path\":\".\"}"}}]`,
			"I look.", `[{c1 ls "{\"path\":\".\"}"}]`, "[]",
		},
		{
			"a call before there were tools", "assistant", `"function_call":{"name":"ls","arguments":"{}"}`, "", `[{fn:ls ls "{}"}]`, "[]",
		},
		{
			"a refusal and a recording beside no content", "assistant", `"content":null,"refusal":"I can't.","audio":{"id":"a","n":9007199254740993}`, "", "[]", "[]",
		},
		{
			"a refusal", "assistant", `"content":[{"type":"refusal","refusal":"I can't."}]`, "I can't.", "[]", "[]",
		},
		{
			"a refusal without its text", "assistant", `"content":[{"type":"refusal","text":"I can't."}]`, "[refusal part]", "[]", "[{0 refusal}]",
		},
		{
			"responses", "user", `"content":[{"type":"input_text","text":"Why?"},{"type":"input_image","image_url":"data:"}]`,
			"Why?\n[input_image part]", "[]", "[{1 input_image}]",
		},
		{
			"gemini", "model", `"parts":[{"text":"I look."},{"functionCall":{"name":"ls","args":{"path":"."}},"thoughtSignature":"c2ln"},{"inlineData":{"mimeType":"image/png","data":"AAAA"}}]`,
			"I look.\n[image: image/png, 3 bytes]", `[{fn:ls ls {"path":"."}}]`, "[{2 inlineData}]",
		},
		{
			"anthropic's results", "user", `"content":[{"type":"tool_result","tool_use_id":"t1","content":"a"},{"type":"tool_result","tool_use_id":"t2","content":[{"type":"text","text":"b"}],"is_error":true}]`,
			"a\nb", "[]", "[]",
		},
		{
			"results and a word", "user", `"content":[{"type":"tool_result","tool_use_id":"t1","content":"a"},{"type":"text","text":"Stop."}]`, "a\nStop.", "[]", "[]",
		},
		{
			"items", "assistant", `"content":[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I look."}]},{"type":"function_call","call_id":"c1","name":"ls","arguments":"{}"}]`,
			"[reasoning part]\nI look.", `[{c1 ls "{}"}]`, "[{0 reasoning}]",
		},
		{
			"a custom tool", "assistant", `"content":null,"tool_calls":[{"id":"c1","type":"custom","custom":{"name":"ls","input":"."}}]`, "", `[{c1 ls "."}]`, "[]",
		},
		{
			"a provider's own tool", "assistant", `"content":[{"type":"server_tool_use","id":"s1","name":"web_search","input":{}},{"type":"web_search_tool_result","tool_use_id":"s1","content":[]}]`,
			"[server_tool_use part]\n[web_search_tool_result part]", "[]", "[{0 server_tool_use} {1 web_search_tool_result}]",
		},
		{
			"anthropic's calls", "assistant", `"content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"t1","name":"ls","input":{}}]`,
			"I look.", "[{t1 ls {}}]", "[]",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			body := fmt.Sprintf(`{"message_id":"m1","role":%q,%s}`, test.role, test.members)
			first := decoded(t, body)
			if digest := fmt.Sprintf("%x", first.ContentDigest(typeOf(first))); digest != digestInPython(t, body) {
				t.Errorf("content digest %s, by examples/wire/verify.py %s", digest, digestInPython(t, body))
			}
			data, err := json.Marshal(first)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range []*events.Message{first, decoded(t, string(data))} { // what a client gives on is the same message
				calls := []string{}
				for _, c := range m.Calls() {
					calls = append(calls, fmt.Sprintf("{%s %s %s}", c.ID, c.Name, c.Arguments))
				}
				if m.Content.Text() != test.text || fmt.Sprint(calls) != test.calls || fmt.Sprint(m.Content.OtherParts()) != test.other {
					t.Errorf("%q %v %v\nwant %q %v %v", m.Content.Text(), calls, m.Content.OtherParts(), test.text, test.calls, test.other)
				}
				if m.ContentDigest(typeOf(m)) != first.ContentDigest(typeOf(first)) {
					t.Error("another content digest")
				}
			}
		})
	}
}

func typeOf(m *events.Message) events.Type {
	if m.Role == events.RoleTool {
		return events.ToolResult
	}
	return events.ThreadMessage
}

// digestInPython is a message's content digest as the verifier of the examples computes it.
func digestInPython(t *testing.T, body string) string {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skipf("no python3: %v", err)
	}
	run := exec.CommandContext(t.Context(), python, "-B", "-c", "import sys, json; sys.path.insert(0, '../examples/wire'); import verify\n"+
		"data = json.load(sys.stdin); print(verify.content_digest(verify.shape('thread.message', data), verify.content_of(data)).hex())")
	run.Stdin = strings.NewReader(body)
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

func decoded(t *testing.T, body string) *events.Message {
	t.Helper()
	ev, rej := events.Decode(events.Raw{Subject: "0.thread.message.t1", Header: nats.Header{}, Body: []byte(body)}, events.Limits{})
	if rej != nil {
		t.Fatalf("%v: %s", rej, body)
	}
	return ev.Message
}
