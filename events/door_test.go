package events_test

import (
	"bytes"
	"strings"
	"testing"

	"precis/events"
)

// What a provider's SDK gives is taken; what nothing can be made of is not.
func TestWhatADoorTakes(t *testing.T) {
	for _, test := range []struct{ typ, body, field string }{ // field of a rejection
		{"thread.message", `{"message_id":"m","role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"ls","arguments":"{}"}}]}`, ""},
		{"thread.message", `{"message_id":"m","role":"assistant","function_call":{"name":"ls","arguments":"{}"}}`, ""},
		{"thread.message", `{"message_id":"m","role":"assistant","refusal":"No."}`, ""},
		{"thread.message", `{"message_id":"m","role":"assistant","audio":{"id":"a"}}`, ""},
		{"thread.message", `{"message_id":"m","role":"assistant","reasoning_content":"hm"}`, ""},
		{"thread.message", `{"message_id":"m","type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}`, ""},
		{"thread.message", `{"message_id":"m","parts":[{"text":"a"}]}`, ""},
		{"thread.message", `{"message_id":"m","role":"function","parts":[{"functionResponse":{"name":"ls","response":{}}}]}`, ""},
		{"thread.message", `{"message_id":"m","role":"function","name":"ls","content":"a"}`, ""},
		{"message.edited", `{"message_id":"m","parts":[{"text":"a"}]}`, ""},

		{"thread.message", `{"message_id":"m","role":"assistant"}`, "content"},
		{"thread.message", `{"message_id":"m","role":"assistant","tool_calls":[],"refusal":null,"audio":{}}`, "content"},
		{"thread.message", `{"message_id":"m","role":"assistant","name":"ann"}`, "content"},
		{"thread.message", `{"message_id":"m","role":"user","refusal":"No."}`, "content"},
		{"thread.message", `{"message_id":"m","content":"a"}`, "role"},
		{"thread.message", `{"message_id":"m","role":"narrator","parts":[]}`, "role"},
		{"tool.result", `{"message_id":"m","role":"assistant","refusal":"No."}`, "content"},
		{"tool.result", `{"message_id":"m","type":"message","content":"a"}`, "type"},
		{"message.edited", `{"message_id":"m","type":"message","content":"a"}`, "type"},
		{"message.edited", `{"message_id":"m","parts":[{"text":"a"}],"pinned":true}`, "pinned"},
		{"message.edited", `{"message_id":"m","refusal":"No."}`, "content"},
	} {
		_, rej := events.Decode(events.Raw{Subject: test.typ + ".t", Body: []byte(test.body)}, events.Limits{})
		field := ""
		if rej != nil {
			field = rej.Field
		}
		if field != test.field {
			t.Errorf("%s %s: %v, want a fault in %q", test.typ, test.body, rej, test.field)
		}
	}
}

// A message without a content is the same as one with null, but for what it looks like.
func TestNoContentIsNull(t *testing.T) {
	const calls = `"role":"assistant","tool_calls":[{"id":"c","name":"ls","arguments":{}}]`
	var digests [2][32]byte
	for i, body := range []string{`{"message_id":"m",` + calls + `}`, `{"message_id":"m","content":null,` + calls + `}`} {
		ev, rej := events.Decode(events.Raw{Subject: "thread.message.t", Body: []byte(body)}, events.Limits{})
		if rej != nil {
			t.Fatal(rej)
		}
		if c := ev.Message.Content; !c.IsNull() || c.IsZero() != (i == 0) || c.Text() != "" {
			t.Errorf("%s: null %v, absent %v", body, c.IsNull(), c.IsZero())
		}
		digests[i] = ev.Message.ContentDigest(ev.Type)
	}
	if digests[0] != digests[1] {
		t.Error("the same message has two digests")
	}
}

// An event file keeps a type that is the message's own.
func TestFileKeepsTheTypeOfAnItem(t *testing.T) {
	const data = `{"type":"message","message_id":"m","role":"user","content":"a"}`
	var out bytes.Buffer
	if err := events.NewFileWriter(&out).Write(events.ThreadMessage, "t", []byte(data)); err != nil {
		t.Fatal(err)
	}
	got, err := events.NewFileReader(strings.NewReader(out.String())).Next()
	if err != nil || got.Type != events.ThreadMessage || got.Thread != "t" || !strings.Contains(string(got.Data), `"type":"message"`) {
		t.Errorf("%v: %+v, data %s, of %s", err, got, got.Data, out.String())
	}
}
