package events_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"precis/events"
)

func decodeBody(t testing.TB, subject, body string) events.Event {
	t.Helper()
	ev, rej := events.Decode(events.Raw{Subject: subject, Body: []byte(body)}, events.Limits{})
	if rej != nil {
		t.Fatalf("%s: %v", body, rej)
	}
	return ev
}

func digest(t testing.TB, subject, body string) [32]byte {
	ev := decodeBody(t, subject, body)
	return ev.Message.ContentDigest(ev.Type)
}

// Bodies with the same meaning have one digest.
func TestDigestSame(t *testing.T) {
	const subject = "thread.message.t"
	for _, group := range [][]string{
		{
			`{"message_id":"a","role":"user","content":"é\n"}`,
			`{ "content" : "\u00e9\u000a" , "role":"user","message_id":"b","agent_id":"x","created_at":"2026-01-01T00:00:00Z","metadata":{"a":1},"pinned":true,"policy":"p","usage":{}}`,
			`{"message_id":"a","role":"user","content":"é\n","tool_calls":null}`,
			`{"message_id":"a","role":"user","content":"é\n","tool_calls":[]}`,
		},
		{
			`{"message_id":"a","role":"assistant","content":null,"tool_calls":[{"id":"1","name":"n","arguments":{"a":1,"b":[1.0,{"x":"y","w":"é"}]}}]}`,
			`{"message_id":"a","role":"assistant","content":null,"tool_calls":[{"name":"n","extra":0,"arguments":{ "b" : [1, {"w":"\u00e9","x":"y"}], "a":1e0 },"id":"1"}]}`,
		},
		{
			`{"message_id":"a","role":"user","content":[{"type":"text","text":"a"},{"type":"image","url":"u"}]}`,
			`{"message_id":"a","role":"user","content":[ {"text":"a","type":"text"}, {"url":"u","type":"image"}]}`,
		},
		{
			`{"message_id":"a","role":"assistant","content":"x"}`,
			`{"message_id":"a","role":"assistant","content":"x","refusal":null,"audio":null,"function_call":null}`,
			`{"message_id":"a","role":"assistant","content":"x","refusal":"A"}`,
		},
	} {
		for _, body := range group[1:] {
			if digest(t, subject, group[0]) != digest(t, subject, body) {
				t.Errorf("digests differ:\n%s\n%s", group[0], body)
			}
		}
	}
	if digest(t, "tool.result.t", `{"message_id":"a","content":"x","tool_name":"n","exit_code":1}`) !=
		digest(t, "thread.message.t", `{"message_id":"a","content":"x","role":"tool"}`) {
		t.Error("a message of role tool is the tool result that says the same")
	}
}

// Bodies with different meanings have different digests.
func TestDigestDiffers(t *testing.T) {
	seen := map[[32]byte]string{}
	for _, body := range []string{
		`{"message_id":"a","role":"user","content":"x"}`,
		`{"message_id":"a","role":"assistant","content":"x"}`,
		`{"message_id":"a","role":"tool","content":"x"}`,
		`{"message_id":"a","role":"tool","content":"x","tool_call_id":"c"}`,
		`{"message_id":"a","role":"user","content":"xx"}`,
		`{"message_id":"a","role":"user","content":""}`,
		`{"message_id":"a","role":"user","content":null}`,
		`{"message_id":"a","role":"user","content":[]}`,
		`{"message_id":"a","role":"user","content":[{"type":"text","text":"x"}]}`,
		`{"message_id":"a","role":"user","content":[{"type":"image","url":"1"}]}`,
		`{"message_id":"a","role":"user","content":[{"type":"image","url":"2"}]}`,
		`{"message_id":"a","role":"assistant","content":"","tool_calls":[{"id":"1","name":"n"}]}`,
		`{"message_id":"a","role":"assistant","content":"","tool_calls":[{"id":"1n","name":""}]}`,
		`{"message_id":"a","role":"assistant","content":"","tool_calls":[{"id":"","name":"1n"}]}`,
		`{"message_id":"a","role":"assistant","content":"","tool_calls":[{"id":"1","name":"n","arguments":{}}]}`,
		`{"message_id":"a","role":"assistant","content":"","tool_calls":[{"id":"1","name":"n","arguments":"{}"}]}`,
		`{"message_id":"a","role":"assistant","content":"","tool_calls":[{"id":"1","name":"n","arguments":{"id":9007199254740992}}]}`,
		`{"message_id":"a","role":"assistant","content":"","tool_calls":[{"id":"1","name":"n","arguments":{"id":9007199254740993}}]}`,
		`{"message_id":"a","role":"assistant","content":"","tool_calls":[{"id":"1","name":"n"},{"id":"2","name":"n"}]}`,
		`{"message_id":"a","role":"assistant","content":"","tool_calls":[{"id":"2","name":"n"},{"id":"1","name":"n"}]}`,
		`{"message_id":"a","role":"assistant","content":null}`,
		`{"message_id":"a","role":"assistant","function_call":{"name":"ls","arguments":"{}"}}`,
		`{"message_id":"a","role":"assistant","function_call":{"name":"rm","arguments":"{\"a\":1}"}}`,
		`{"message_id":"a","role":"assistant","refusal":"A"}`,
		`{"message_id":"a","role":"assistant","refusal":"B"}`,
		`{"message_id":"a","role":"assistant","content":null,"audio":{"id":"A"}}`,
		`{"message_id":"a","role":"assistant","content":null,"audio":{"id":"B"}}`,
		`{"message_id":"a","role":"assistant","content":null,"refusal":"A","audio":{"id":"B"}}`,
	} {
		d := digest(t, "thread.message.t", body)
		if other, ok := seen[d]; ok {
			t.Errorf("same digest:\n%s\n%s", other, body)
		}
		seen[d] = body
	}
}

// goldenDigest is the digest of the text "hello" as a user's message.
const goldenDigest = "6ef9c54fab5c0f7aad973b439f4b7a6f253db621d2a7b11313c42cf579dd0604"

// Every store contains digests: a change must be deliberate.
func TestDigestGolden(t *testing.T) {
	got := events.DigestOf(events.ThreadMessage, events.RoleUser, events.TextContent("hello"), nil, "")
	if hexOf(got[:]) != goldenDigest {
		t.Errorf("digest is now %x", got)
	}
}

func TestDigestLeavesTheEventAlone(t *testing.T) {
	ev := decodeBody(t, "thread.message.t", `{"message_id":"a","role":"assistant","content":[{"type":"b","a":1}],"tool_calls":[{"id":"1","name":"n","arguments":{"b":1, "a":2}}]}`)
	ev.Message.ContentDigest(ev.Type)
	if got := string(ev.Message.ToolCalls[0].Arguments); got != `{"b":1, "a":2}` {
		t.Errorf("arguments are now %s", got)
	}
	if got, _ := ev.Message.Content.MarshalJSON(); string(got) != `[{"type":"b","a":1}]` {
		t.Errorf("content is now %s", got)
	}
}

func TestEditKey(t *testing.T) {
	key := func(ceID, body string) string {
		return decodeBody(t, "message.edited.t", body).Edit.Key(ceID)
	}
	plain := `{"message_id":"a","content":"x"}`
	at := `{"message_id":"a","content":"x","created_at":"2026-01-01T00:00:00Z"}`
	if key("", at) != key("", `{"message_id":"a","agent_id":"z","content":"\u0078","created_at":"2026-01-01T01:00:00+01:00"}`) {
		t.Error("the same edit, written otherwise")
	}
	seen := map[string]bool{}
	for _, k := range []string{
		key("", plain), key("", at), key("1", plain), key("2", plain),
		key("", `{"message_id":"a","content":"x","edit_id":"3"}`),
		key("", `{"message_id":"a","content":"x","edit_id":"ce:1"}`),
		key("", `{"message_id":"a","content":null}`),
		key("", `{"message_id":"a","deleted":true}`),
		key("", strings.Replace(at, "00Z", "00.000000001Z", 1)),
	} {
		if seen[k] {
			t.Errorf("key %s twice", k)
		}
		seen[k] = true
	}
	if key("1", plain) != key("", `{"message_id":"a","content":"x","edit_id":"1"}`) {
		t.Error("an exported edit is another one")
	}
	if got := key("ce", `{"message_id":"a","content":"x","edit_id":"e"}`); got != "edit:e" {
		t.Errorf("the edit id comes first, got %s", got)
	}
}

func BenchmarkDigestText(b *testing.B) {
	content := events.TextContent(strings.Repeat("x", 256))
	b.ReportAllocs()
	for b.Loop() {
		events.DigestOf(events.ToolResult, events.RoleTool, content, nil, "call_1")
	}
}

// Empty objects come back as they were published: a call without arguments and one whose arguments are {} are two contents.
func TestEmptyObjectsStay(t *testing.T) {
	for _, body := range []string{
		`{"id":"c1","name":"ls","arguments":{}}`, `{"id":"c1","name":"ls","arguments":""}`, `{"id":"c1","name":"ls"}`,
	} {
		m := decodeBody(t, "thread.message.t", `{"message_id":"m","role":"assistant","content":null,"tool_calls":[`+body+`]}`).Message
		if got, err := json.Marshal(m.ToolCalls); err != nil || string(got) != "["+body+"]" {
			t.Errorf("%s: %s, %v", body, got, err)
		}
	}
	m := decodeBody(t, "tool.result.t", `{"message_id":"m","content":"x","arguments":{},"metadata":{}}`).Message
	again, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if r := decodeBody(t, "tool.result.t", string(again)).Message; string(r.Arguments) != "{}" || string(r.Metadata) != "{}" {
		t.Errorf("%s", again)
	}
}
