package e2e_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// strangeIDs are ids that some system between here and there has choked on.
func strangeIDs() []string {
	return []string{
		"a", "A", "0", "_", "-", "a.b.c", ".", "..", "a..b", "a b", " ", "  ", "*", ">", "a.*.>", "thread.message.x",
		"日本語", "עברית", "العربية", "हिन्दी", "한국어", "ไทย", "🧵🧶", "👩‍👩‍👧", "é", "e\u0301", "Å", "ﬃ", "ı", "\u202egnp.exe", "\uFEFFbom", "\uFFFD", "\U0010FFFF",
		"\x00", "a\x00b", "\n", "a\r\nb", "\t", "\x7f", "\x1b[31m", `"`, `\`, `\"`, "'", "100%", "%41", "%", "=61", "=", "==", "a=b", "=p0",
		"../../etc/passwd", "a/b", "a\\b", "$SYS", "_INBOX.x", "$JS.API.>", "null", "true", "{}", "<script>", "a,b", "a;b", "a:b", "a&b=c", "#", "@", "~", "`", "|",
		strings.Repeat("x", 256), strings.Repeat("日", 85) + "a", strings.Repeat(".", 256), strings.Repeat("\x00", 256),
	}
}

// output is a tool output of many lines, longer than every default threshold.
func output(seed string) string {
	var b strings.Builder
	for i := range 120 {
		fmt.Fprintf(&b, "src/%s_%03d.go:%d: func handler%d(w http.ResponseWriter) error\n", seed, i, i, i)
	}
	return b.String()
}

func TestAcceptedUnderAnyID(t *testing.T) {
	w := begin(t, "partitions: 4\n")
	rejections := w.follow("REJECTED", ">")
	last := map[string]uint64{}
	for _, id := range strangeIDs() {
		w.message(id, id, id)
		w.say("tool.result", id, object{"message_id": "result", "tool_name": id, "content": output("f") + id})
		last[id] = w.edit(id, id, "edited "+id)
	}
	for _, id := range strangeIDs() {
		w.counters(id, last[id], map[string]int64{"messages": 1, "tool_results": 1, "edits": 1, "rejected": 0, "summaries_active": 1})
		if got := text(t, w.thread(id, 0), "thread_id"); got != id {
			t.Errorf("thread_id %q, want %q", got, id)
		}
		original := w.answer("precis.message.get."+token(id), object{"message_id": id, "revision": 0})
		if original["content"] != id || original["message_id"] != id || original["thread_id"] != id {
			t.Errorf("message of thread %q: %v", id, original)
		}
		records := w.records(id, func(s stored) bool { return strings.HasPrefix(s.subject, "summary.created.") })
		created := records[len(records)-1]
		holdEnvelope(t, created, "summary.created", id)
		valid(t, "summary.created", created.body)
		if got := created.data(t)["thread_id"]; got != id {
			t.Errorf("record's thread_id %q, want %q", got, id)
		}
		again := w.answer("precis.summary.get."+text(t, created.data(t), "id"), nil)
		if again["thread_id"] != id || again["status"] != "active" {
			t.Errorf("summary of thread %q: %v", id, again)
		}
	}
	// A rejection that is to come shows that none came before it.
	seq := w.publish("thread.message.sentinel", nil, []byte("no JSON"))
	if m := rejections.next(); uint64(number(t, m.data(t), "stream_seq")) != seq {
		t.Errorf("rejected: %s", m.body)
	}
}

func TestAcceptedToTheByte(t *testing.T) {
	w := begin(t, "partitions: 4\n")
	parts := `[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"data:"}},{"type":"text","text":"b"}]`
	header, envelope := structured(`,"type":"thread.message","subject":"s","datacontenttype":"application/json","data":{"message_id":"m","role":"user","content":"x"}`)
	_, encoded := structured(`,"type":"thread.message","data_base64":"eyJtZXNzYWdlX2lkIjoibSIsInJvbGUiOiJ1c2VyIiwiY29udGVudCI6IngifQ=="`)
	for i, c := range []struct {
		name, thread string
		header       nats.Header
		body         string
		want         any // content of message m
	}{
		{name: "empty", body: `{"message_id":"m","role":"user","content":""}`, want: ""},
		{name: "null", body: `{"message_id":"m","role":"assistant","content":null}`},
		{name: "no parts", body: `{"message_id":"m","role":"user","content":[]}`, want: ""},
		{name: "an empty part", body: `{"message_id":"m","role":"user","content":[{"type":"text","text":""}]}`, want: ""},
		{name: "NUL", body: `{"message_id":"m","role":"user","content":"a\u0000b\u0000"}`, want: "a\x00b\x00"},
		{name: "every escape", body: `{"message_id":"m","role":"user","content":"\"\\\/\b\f\n\r\t\u00e9\ud83e\uddf5"}`, want: "\"\\/\b\f\n\r\té🧵"},
		{name: "noncharacters", body: `{"message_id":"m","role":"user","content":"\uffff\ufffe\ufeff"}`, want: "\uffff\ufffe\ufeff"},
		{name: "line ends", body: `{"message_id":"m","role":"user","content":"a\r\nb\rc\n\n"}`, want: "a\r\nb\rc\n\n"},
		{name: "white space around", body: " \r\n{ \"message_id\" : \"m\" ,\t\"role\":\"user\",\"content\":\"x\" } \n", want: "x"},
		{name: "escaped names", body: `{"message\u005fid":"m","\u0072ole":"user","content":"x"}`, want: "x"},
		{name: "unknown fields", body: `{"message_id":"m","role":"user","content":"x","y":[1,{"z":1e999}],"":null}`, want: "x"},
		{name: "nulls for what is optional", body: `{"message_id":"m","role":"user","content":"x","tool_calls":null,"tool_call_id":null,"pinned":null,"agent_id":null,"policy":null,"usage":null,"created_at":null,"metadata":null,"thread_id":null,"type":null}`, want: "x"},
		{name: "all that is optional", body: `{"message_id":"m","role":"assistant","content":"x","tool_calls":[{"id":"c","name":"f","arguments":"{not json"},{"id":"","name":"","arguments":{}}],"tool_call_id":"c","pinned":true,"agent_id":"a","policy":"default","usage":{"input_tokens":1,"output_tokens":2,"more":3},"created_at":"2026-01-02T03:04:05.123456789+01:00","metadata":{"k":[]}}`, want: "x"},
		{name: "type and thread in the body", thread: "in body", body: `{"type":"thread.message","thread_id":"in body","message_id":"m","role":"user","content":"x"}`, want: "x"},
		{name: "deep, within reason", body: `{"message_id":"m","role":"user","content":"x","metadata":{"d":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}}`, want: "x"},
		{name: "binary", header: cloud("ce-subject", "b%20%C3%A9", "Content-Type", "application/json"), thread: "b é", body: good, want: "x"},
		{name: "binary, quoted as older publishers do", header: cloud("ce-subject", `"b2"`), thread: "b2", body: good, want: "x"},
		{name: "structured", header: header, thread: "s", body: envelope, want: "x"},
		{name: "structured in base64, with a charset", header: nats.Header{"content-type": {"application/cloudevents+json; charset=UTF-8"}}, body: encoded, want: "x"},
		{name: "foreign headers, repeated", header: nats.Header{"X-A": {"1", "2", "1"}, "traceparent": {"00-1-2-01"}, "ce-mine": {"y"}}, body: good, want: "x"},
		{name: "the same ce-type twice", header: nats.Header{"ce-type": {"thread.message", "thread.message"}}, body: good, want: "x"},
		{name: "as large as allowed", body: sizedTo(1 << 20), want: strings.Repeat("x", 1<<20-len(frame)+2)},
		{name: "parts", body: `{"message_id":"m","role":"user","content":` + parts + `}`, want: "a\n[image_url part]\nb"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.thread == "" {
				c.thread = fmt.Sprintf("exact %d", i)
			}
			seq := w.publish("thread.message."+token(c.thread), c.header, []byte(c.body))
			w.counters(c.thread, seq, map[string]int64{"messages": 1, "rejected": 0, "duplicates": 0})
			got := w.answer("precis.message.get."+token(c.thread), object{"message_id": "m"})
			if got["content"] != c.want {
				t.Errorf("content %.200q, want %.200q", got["content"], c.want)
			}
		})
	}
}

const frame = `{"message_id":"m","role":"user","content":"%s"}`

// sizedTo is a message whose body has n bytes.
func sizedTo(n int) string { return fmt.Sprintf(frame, strings.Repeat("x", n-len(frame)+2)) }

// Two agents that number their messages alike must not swallow each other's events.
func TestMessageIDsOfTheServerAreNotOurs(t *testing.T) {
	w := begin(t, "partitions: 1\n")
	header := nats.Header{"Nats-Msg-Id": {"1"}}
	w.publish("thread.message.t", header, []byte(`{"message_id":"a","role":"user","content":"x"}`))
	<-time.After(300 * time.Millisecond) // longer than the shortest duplicate window there is
	seq := w.publish("thread.message.t", header, []byte(`{"message_id":"b","role":"user","content":"y"}`))
	w.counters("t", seq, map[string]int64{"messages": 2, "duplicates": 0})
}

func TestDuplicatesAndConflicts(t *testing.T) {
	w := begin(t, "partitions: 2\n")
	rejections := w.follow("REJECTED", ">")
	first := []byte(`{"message_id":"m","role":"assistant","content":"x","tool_calls":[{"id":"c","name":"f","arguments":{"a":1,"b":2}}]}`)
	again := func() {
		w.publish("thread.message.d", nil, first)
		w.publish("thread.message.d", cloud("ce-id", "other"), bytes.ReplaceAll(first, []byte(`"a":1,"b":2`), []byte(`"b": 2, "a": 1`)))
		w.publish("thread.message.d", nil, []byte(`{"agent_id":"another","metadata":{"n":1},"tool_calls":[{"name":"f","id":"c","arguments":{"a":1,"b":2}}],"content":"x","role":"assistant","message_id":"m"}`))
	}
	w.publish("thread.message.d", nil, first)
	again()
	w.edit("d", "m", "y")
	again()
	w.say("message.edited", "d", object{"message_id": "m", "deleted": true})
	again()
	conflicts := []string{
		`{"message_id":"m","role":"assistant","content":"y","tool_calls":[{"id":"c","name":"f","arguments":{"a":1,"b":2}}]}`,
		`{"message_id":"m","role":"user","content":"x","tool_calls":[{"id":"c","name":"f","arguments":{"a":1,"b":2}}]}`,
		`{"message_id":"m","role":"assistant","content":"x","tool_calls":[{"id":"c","name":"f","arguments":{"a":1,"b":3}}]}`,
		`{"message_id":"m","role":"assistant","content":"x","tool_calls":[{"id":"d","name":"f","arguments":{"a":1,"b":2}}]}`,
		`{"message_id":"m","role":"assistant","content":"x"}`,
		`{"message_id":"m","role":"assistant","content":"x","tool_call_id":"z","tool_calls":[{"id":"c","name":"f","arguments":{"a":1,"b":2}}]}`,
	}
	for _, body := range conflicts {
		w.publish("thread.message.d", nil, []byte(body))
	}
	seq := w.publish("tool.result.d", nil, []byte(`{"message_id":"m","content":"x"}`))
	for range len(conflicts) + 1 {
		m := rejections.next().data(t)
		if m["code"] != "message_conflict" {
			t.Errorf("rejected as %v: %v", m["code"], m["message"])
		}
	}
	w.counters("d", seq, map[string]int64{"messages": 1, "tool_results": 0, "edits": 2, "duplicates": 9, "rejected": int64(len(conflicts)) + 1, "tokens_total": 0, "bytes": 0})
}
