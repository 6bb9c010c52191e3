package e2e_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// bad is an event that can't be accepted; without a subject it is a thread.message of a thread of its own.
type bad struct {
	name    string
	subject string
	header  nats.Header
	body    string
	code    string
	field   string // "" is null; "?" is not held against anything
	thread  string // of subject; "" where none can be told
}

func TestRejected(t *testing.T) {
	w := begin(t, "limits: {pending_edit_events: 3}\npartitions: 4\n")
	rejections := w.follow("REJECTED", ">")
	cases := slices.Concat(notJSON(), wrongData(), wrongEnvelopes(), wrongSubjects())
	sent := map[uint64]bad{}
	want := map[string]float64{`code="message_conflict"`: 0, `code="unknown_message"`: 0} // each code's counter begins with 0
	for i, c := range cases {
		if c.subject == "" {
			c.thread = fmt.Sprintf("bad %d", i)
			c.subject = "thread.message." + token(c.thread)
		}
		sent[w.publish(c.subject, c.header, []byte(c.body))] = c
		want[fmt.Sprintf("code=%q", c.code)]++
	}
	for range cases {
		m := rejections.next()
		seq := uint64(number(t, m.data(t), "stream_seq"))
		c, ok := sent[seq]
		if !ok {
			t.Errorf("EVENTS %d was rejected twice, or never sent: %s", seq, m.body)
			continue
		}
		delete(sent, seq)
		t.Run(c.name, func(t *testing.T) { holdRejection(t, c, seq, m) })
	}
	w.eventually("metrics", func() error {
		if got := w.metrics("precis_rejected_events_total"); !maps.Equal(got, want) {
			return fmt.Errorf("rejections by code %v, want %v", got, want)
		}
		return nil
	})
	w.eventually("metrics of events", func() error {
		if got := w.metrics("precis_events_total")[`outcome="rejected"`]; got != float64(len(cases)) {
			return fmt.Errorf("%v rejected, want %d", got, len(cases))
		}
		return nil
	})
}

// holdRejection holds a record in REJECTED against what was published.
func holdRejection(t *testing.T, c bad, seq uint64, m stored) {
	t.Helper()
	got := m.data(t)
	valid(t, "event.rejected", m.body)
	if code := text(t, got, "code"); code != c.code {
		t.Errorf("code %s, want %s: %v", code, c.code, got["message"])
	}
	if field, _ := got["field"].(string); c.field != "?" && field != c.field {
		t.Errorf("field %q, want %q: %v", field, c.field, got["message"])
	}
	if why := text(t, got, "message"); why == "" {
		t.Error("it does not say why")
	}
	if subject := text(t, got, "subject"); subject != c.subject && got["subject_base64"] == nil {
		t.Errorf("subject %q, want %q", subject, c.subject)
	}
	holdHeaders(t, c, got)
	holdBody(t, c, got)
	holdEnvelope(t, m, "event.rejected", c.thread)
	if id := m.header.Get("ce-id"); !strings.HasPrefix(id, "event.rejected/") || !strings.HasSuffix(id, fmt.Sprintf("/%d", seq)) {
		t.Errorf("ce-id %q", id)
	}
}

func holdHeaders(t *testing.T, c bad, got object) {
	t.Helper()
	have := map[string][]string{}
	for name, values := range got["headers"].(object) {
		for _, v := range values.([]any) {
			have[name] = append(have[name], v.(string))
		}
	}
	want := map[string][]string(c.header)
	if want == nil {
		want = map[string][]string{}
	}
	if got["headers_base64"] != nil {
		have = map[string][]string{}
		for name, values := range got["headers_base64"].(object) {
			for _, v := range values.([]any) {
				key := string(unbase64(t, name))
				have[key] = append(have[key], string(unbase64(t, v.(string))))
			}
		}
	}
	if !reflect.DeepEqual(have, want) {
		t.Errorf("headers\n%v, want\n%v", have, want)
	}
}

func holdBody(t *testing.T, c bad, got object) {
	t.Helper()
	if body, ok := got["body_base64"].(string); ok {
		if !bytes.Equal(unbase64(t, body), []byte(c.body)) {
			t.Errorf("the body is not the one published")
		}
		return
	}
	sum := sha256.Sum256([]byte(c.body))
	if len(c.body) < 5<<20 || got["body_sha256"] != hex.EncodeToString(sum[:]) {
		t.Errorf("no body of %d bytes, and body_sha256 is %v", len(c.body), got["body_sha256"])
	}
}

// holdEnvelope holds a record's headers and subject against the contract.
func holdEnvelope(t *testing.T, m stored, typ, thread string) {
	t.Helper()
	tok := token(thread)
	if thread == "" {
		tok = "="
	}
	if want := typ + "." + tok; m.subject != want {
		t.Errorf("published on %s, want %s", m.subject, want)
	}
	holdAttributes(t, m, typ)
	subject, err := url.PathUnescape(m.header.Get("ce-subject"))
	if thread != "" && (err != nil || subject != thread) {
		t.Errorf("ce-subject %q, want %q", m.header.Get("ce-subject"), thread)
	}
}

func holdAttributes(t *testing.T, m stored, typ string) {
	t.Helper()
	for name, want := range map[string]string{
		"ce-specversion": "1.0", "ce-type": typ, "ce-datacontenttype": "application/json", "Nats-Msg-Id": m.header.Get("ce-id"),
	} {
		if got := m.header.Values(name); len(got) != 1 || got[0] != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	for _, name := range []string{"ce-id", "ce-source", "ce-subject"} {
		v := m.header.Get(name)
		if v == "" && !(name == "ce-subject" && strings.HasSuffix(m.subject, ".=")) {
			t.Errorf("no %s", name)
		}
		if strings.ContainsFunc(v, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' }) {
			t.Errorf("%s is not percent-encoded: %q", name, v)
		}
	}
	if _, err := time.Parse(time.RFC3339, m.header.Get("ce-time")); err != nil {
		t.Errorf("ce-time: %v", err)
	}
}

func unbase64(t *testing.T, s string) []byte {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func notJSON() []bad {
	deep := strings.Repeat(`[`, 200_000) + strings.Repeat(`]`, 200_000)
	const code = "invalid_json"
	return []bad{
		{name: "no JSON", body: "hello", code: code},
		{name: "nothing", body: "", code: code},
		{name: "nothing, and headers that look like the server's own", header: nats.Header{"Status": {"404"}, "Description": {"No Messages"}}, code: code},
		{name: "nothing, and a heartbeat's headers", header: nats.Header{"Status": {"100"}, "Description": {"Idle Heartbeat"}}, code: code},
		{name: "nothing, and the headers of a request that ended", header: nats.Header{"Status": {"408"}, "Nats-Pending-Messages": {"99"}}, code: code},
		{name: "white space", body: " \n", code: code},
		{name: "cut off", body: `{"message_id":"m","role":"user","content":"abc`, code: code},
		{name: "two values", body: `{"message_id":"m","role":"user","content":""} {}`, code: code},
		{name: "a comma too many", body: `{"message_id":"m","role":"user","content":"",}`, code: code},
		{name: "NaN", body: `{"message_id":"m","role":"user","content":"","metadata":{"x":NaN}}`, code: code},
		{name: "a byte order mark", body: "\uFEFF" + `{"message_id":"m","role":"user","content":""}`, code: code},
		{name: "invalid UTF-8 in the content", body: "{\"message_id\":\"m\",\"role\":\"user\",\"content\":\"\xff\xfe\"}", code: code},
		{name: "invalid UTF-8 in an unknown field", body: "{\"message_id\":\"m\",\"role\":\"user\",\"content\":\"\",\"x\":\"\xc3\"}", code: code},
		{name: "an overlong encoding", body: "{\"message_id\":\"m\",\"role\":\"user\",\"content\":\"\xc0\x80\"}", code: code},
		{name: "a raw NUL in a string", body: "{\"message_id\":\"m\",\"role\":\"user\",\"content\":\"\x00\"}", code: code},
		{name: "half a surrogate pair", body: `{"message_id":"m","role":"user","content":"\ud800"}`, code: code},
		{name: "a name twice", body: `{"message_id":"m","message_id":"n","role":"user","content":""}`, code: code},
		{name: "deep nesting alone", body: deep, code: code},
		{name: "deep nesting in metadata", body: `{"message_id":"m","role":"user","content":"","metadata":{"x":` + deep + `}}`, code: code},
		{name: "deep nesting of objects", body: strings.Repeat(`{"a":`, 100_000), code: code},
		{name: "zeros", body: strings.Repeat("\x00", 1000), code: code},
	}
}

// wrongData are events whose data is JSON and no event's.
func wrongData() []bad {
	long := strings.Repeat("x", 300)
	var cases []bad
	for body, field := range map[string]string{
		`[]`: "", `null`: "", `"text"`: "", `12`: "", `true`: "",
		`{}`:                                                                                                      "?",
		`{"role":"user","content":""}`:                                                                            "message_id",
		`{"message_id":"m","content":""}`:                                                                         "role",
		`{"message_id":"m","role":"user"}`:                                                                        "content",
		`{"message_id":"","role":"user","content":""}`:                                                            "message_id",
		`{"message_id":null,"role":"user","content":""}`:                                                          "message_id",
		`{"message_id":7,"role":"user","content":""}`:                                                             "message_id",
		`{"message_id":["m"],"role":"user","content":""}`:                                                         "message_id",
		`{"message_id":"` + long + `","role":"user","content":""}`:                                                "message_id",
		`{"message_id":"` + strings.Repeat("é", 129) + `","role":"user","content":""}`:                            "message_id",
		`{"message_id":"m","role":"wizard","content":""}`:                                                         "role",
		`{"message_id":"m","role":"User","content":""}`:                                                           "role",
		`{"message_id":"m","role":1,"content":""}`:                                                                "role",
		`{"message_id":"m","role":null,"content":""}`:                                                             "role",
		`{"message_id":"m","role":"user","content":5}`:                                                            "content",
		`{"message_id":"m","role":"user","content":false}`:                                                        "content",
		`{"message_id":"m","role":"user","content":{"type":"text","text":"x"}}`:                                   "content",
		`{"message_id":"m","role":"user","content":["x"]}`:                                                        "?",
		`{"message_id":"m","role":"user","content":[{"note":"x"}]}`:                                               "?",
		`{"message_id":"m","role":"user","content":[{"type":"text"}]}`:                                            "?",
		`{"message_id":"m","role":"user","content":[{"type":"text","text":9}]}`:                                   "?",
		`{"message_id":"m","role":"user","content":[{"type":4}]}`:                                                 "?",
		`{"message_id":"m","role":"assistant","content":"","tool_calls":{}}`:                                      "tool_calls",
		`{"message_id":"m","role":"assistant","content":"","tool_calls":["c"]}`:                                   "?",
		`{"message_id":"m","role":"assistant","content":"","tool_calls":[{"name":"f"}]}`:                          "?",
		`{"message_id":"m","role":"assistant","content":"","tool_calls":[{"id":"c"}]}`:                            "?",
		`{"message_id":"m","role":"assistant","content":"","tool_calls":[{"id":"c","name":"f","arguments":[1]}]}`: "?",
		`{"message_id":"m","role":"user","content":"","pinned":"yes"}`:                                            "pinned",
		`{"message_id":"m","role":"user","content":"","agent_id":3}`:                                              "agent_id",
		`{"message_id":"m","role":"user","content":"","policy":{}}`:                                               "policy",
		`{"message_id":"m","role":"user","content":"","tool_call_id":1}`:                                          "tool_call_id",
		`{"message_id":"m","role":"user","content":"","usage":"much"}`:                                            "?",
		`{"message_id":"m","role":"user","content":"","usage":{"input_tokens":"3"}}`:                              "?",
		`{"message_id":"m","role":"user","content":"","usage":{"input_tokens":-3}}`:                               "?",
		`{"message_id":"m","role":"user","content":"","usage":{"output_tokens":1.5}}`:                             "?",
		`{"message_id":"m","role":"user","content":"","usage":{"output_tokens":1e300}}`:                           "?",
		`{"message_id":"m","role":"user","content":"","created_at":"yesterday"}`:                                  "created_at",
		`{"message_id":"m","role":"user","content":"","created_at":"2026-02-30T00:00:00Z"}`:                       "created_at",
		`{"message_id":"m","role":"user","content":"","created_at":1700000000}`:                                   "created_at",
		`{"message_id":"m","role":"user","content":"","metadata":[]}`:                                             "metadata",
		`{"message_id":"m","role":"user","content":"","thread_id":5}`:                                             "thread_id",
		`{"message_id":"m","role":"user","content":"","type":5}`:                                                  "type",
	} {
		name := "data " + body
		if len(name) > 100 {
			name = name[:100]
		}
		cases = append(cases, bad{name: name, body: body, code: "schema", field: field})
	}
	return slices.Concat(cases, wrongResults(), wrongEdits(), wrongSizes())
}

func wrongResults() []bad {
	var cases []bad
	for extra, field := range map[string]string{
		`"exit_code":"0"`: "exit_code", `"exit_code":1.5`: "exit_code", `"exit_code":1e400`: "?",
		`"is_error":"no"`: "is_error", `"tool_name":7`: "tool_name", `"arguments":[]`: "arguments", `"arguments":3`: "arguments",
		`"relevant_range":{"start":0,"end":3}`: "?", `"relevant_range":{"start":3,"end":2}`: "?", `"relevant_range":{"start":3}`: "?",
		`"relevant_range":[1,2]`: "relevant_range", `"relevant_range":{"start":"1","end":2}`: "?", `"tool_call_id":{}`: "tool_call_id",
	} {
		thread := "bad result " + extra
		cases = append(cases, bad{
			name: "result " + extra, thread: thread, subject: "tool.result." + token(thread),
			body: `{"message_id":"m","content":"",` + extra + `}`, code: "schema", field: field,
		})
	}
	cases = append(cases,
		bad{name: "result without content", thread: "r1", subject: "tool.result.r1", body: `{"message_id":"m"}`, code: "schema", field: "content"},
		bad{name: "result without an id", thread: "r1", subject: "tool.result.r1", body: `{"content":""}`, code: "schema", field: "message_id"},
	)
	return cases
}

func wrongEdits() []bad {
	var cases []bad
	for body, field := range map[string]string{
		`{"message_id":"m"}`:                              "content",
		`{"content":"x"}`:                                 "message_id",
		`{"message_id":"m","deleted":false}`:              "content",
		`{"message_id":"m","deleted":"yes"}`:              "deleted",
		`{"message_id":"m","content":4}`:                  "content",
		`{"message_id":"m","content":"x","edit_id":4}`:    "edit_id",
		`{"message_id":"m","content":"x","created_at":0}`: "created_at",
	} {
		cases = append(cases, bad{name: "edit " + body, thread: "e1", subject: "message.edited.e1", body: body, code: "schema", field: field})
	}
	return cases
}

func wrongSizes() []bad {
	return []bad{
		{name: "a byte too many", body: sizedTo(1<<20 + 1), code: "too_large"},
		{name: "5 MB", body: sizedTo(5 << 20), code: "too_large"},
		{name: "7.9 MB, which base64 does not fit", body: sizedTo(7_900_000), code: "too_large"},
		{name: "2 MB that are no JSON", body: strings.Repeat("x", 2<<20), code: "too_large"},
	}
}

const good = `{"message_id":"m","role":"user","content":"x"}`

// cloud is a binary envelope; pairs change its headers, an empty value takes one out.
func cloud(pairs ...string) nats.Header {
	h := nats.Header{"ce-specversion": {"1.0"}, "ce-id": {"1"}, "ce-source": {"me"}, "ce-type": {"thread.message"}}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			delete(h, pairs[i])
		} else {
			h[pairs[i]] = []string{pairs[i+1]}
		}
	}
	return h
}

func structured(extra string) (nats.Header, string) {
	return nats.Header{"Content-Type": {"application/cloudevents+json"}},
		`{"specversion":"1.0","id":"1","source":"me"` + extra + `}`
}

func wrongEnvelopes() []bad {
	cases := []bad{
		{name: "another type in the headers", header: cloud("ce-type", "tool.result"), body: good, code: "type_mismatch", field: "ce-type"},
		{name: "a type nobody knows in the headers", header: cloud("ce-type", "thread.vanished"), body: good, code: "type_mismatch", field: "ce-type"},
		{name: "a type nobody knows, bare", header: nats.Header{"ce-type": {"x.y"}}, body: good, code: "type_mismatch", field: "ce-type"},
		{name: "another thread in the headers", header: cloud("ce-subject", "other"), body: good, code: "thread_mismatch", field: "ce-subject"},
		{name: "another thread in the body", body: `{"thread_id":"other","message_id":"m","role":"user","content":"x"}`, code: "thread_mismatch", field: "thread_id"},
		{name: "another type in the body", body: `{"type":"tool.result","message_id":"m","role":"user","content":"x"}`, code: "type_mismatch", field: "type"},
		{name: "an old specversion", header: cloud("ce-specversion", "0.3"), body: good, code: "schema", field: "ce-specversion"},
		{name: "no ce-id", header: cloud("ce-id", ""), body: good, code: "schema", field: "ce-id"},
		{name: "no ce-source", header: cloud("ce-source", ""), body: good, code: "schema", field: "ce-source"},
		{name: "no ce-type", header: cloud("ce-type", ""), body: good, code: "schema", field: "ce-type"},
		{name: "a broken escape", header: cloud("ce-subject", "%zz"), body: good, code: "schema", field: "ce-subject"},
		{name: "ce-type repeated", header: nats.Header{"ce-specversion": {"1.0"}, "ce-id": {"1"}, "ce-source": {"me"}, "ce-type": {"thread.message", "tool.result"}, "X-Mine": {"a", "", "b"}}, body: good, code: "schema", field: "ce-type"},
		{name: "repeated in another case", header: nats.Header{"ce-type": {"thread.message"}, "CE-Type": {"tool.result"}}, body: good, code: "schema", field: "ce-type"},
		{name: "a header that is no UTF-8", header: nats.Header{"X-Bin": {"a\xff\x80b"}, "X-Fine": {"ü"}}, body: "no JSON", code: "invalid_json"},
		{name: "headers with nothing in them", header: nats.Header{"X-Empty": {""}, "X-Two": {"", ""}}, body: "no JSON", code: "invalid_json"},
		{name: "a batch", header: nats.Header{"Content-Type": {"application/cloudevents-batch+json"}}, body: `[]`, code: "schema", field: "?"},
		{name: "another format", header: nats.Header{"Content-Type": {"application/cloudevents+avro"}}, body: `{}`, code: "schema", field: "?"},
	}
	for _, c := range []struct{ name, extra, code, field string }{
		{"structured, no type", `,"data":` + good, "schema", "type"},
		{"structured, no data", `,"type":"thread.message"`, "schema", "data"},
		{"structured, data null", `,"type":"thread.message","data":null`, "schema", "data"},
		{"structured, another type", `,"type":"tool.result","data":` + good, "type_mismatch", "?"},
		{"structured, a type nobody knows", `,"type":"a.b","data":` + good, "type_mismatch", "?"},
		{"structured, another thread", `,"type":"thread.message","subject":"other","data":` + good, "thread_mismatch", "?"},
		{"structured, the body's thread is another", `,"type":"thread.message","data":{"thread_id":"other","message_id":"m","role":"user","content":""}`, "thread_mismatch", "?"},
		{"structured, the data is text", `,"type":"thread.message","data":"text"`, "schema", "?"},
		{"structured, a type that is a number", `,"type":5,"data":` + good, "schema", "type"},
		{"structured, base64 that is none", `,"type":"thread.message","data_base64":"!!"`, "schema", "data_base64"},
		{"structured, base64 of no JSON", `,"type":"thread.message","data_base64":"aGVsbG8="`, "invalid_json", "?"},
	} {
		header, body := structured(c.extra)
		cases = append(cases, bad{name: c.name, header: header, body: body, code: c.code, field: c.field})
	}
	header, _ := structured("")
	return append(cases, bad{name: "structured, no JSON", header: header, body: good[:10], code: "invalid_json"})
}

// wrongSubjects are events on subjects that are no thread's.
func wrongSubjects() []bad {
	var cases []bad
	for _, tok := range []string{
		"=61", "=2e", "=2", "=", "a=", "==", "=ZZ", "=p1", "a=5Fb", "é", "a$b", "a:b", "(x)", "*", ">",
		strings.Repeat("x", 257), strings.Repeat("x", 300), strings.Repeat("=2E", 257),
	} {
		for _, typ := range []string{"thread.message", "tool.result", "message.edited"} {
			cases = append(cases, bad{name: "subject " + typ + "." + tok[:min(len(tok), 20)], subject: typ + "." + tok, body: good, code: "schema", field: "subject"})
		}
	}
	for _, tok := range []string{"=FF", "a=C3", "=ED=A0=80"} {
		cases = append(cases, bad{name: "a thread that is no UTF-8 " + tok, subject: "thread.message." + tok, body: good, code: "schema", field: "subject"})
	}
	return cases
}
