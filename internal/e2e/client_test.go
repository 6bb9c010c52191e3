package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// token writes a thread id as a subject token, by the contract's words.
func token(thread string) string {
	var b strings.Builder
	for _, c := range []byte(thread) {
		if strings.IndexByte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "=%02X", c)
		}
	}
	return b.String()
}

// publish publishes and returns the sequence that EVENTS gave it.
func (w *world) publish(subject string, header nats.Header, body []byte) uint64 {
	w.t.Helper()
	ack, err := w.js.PublishMsg(within(w.t), &nats.Msg{Subject: subject, Header: header, Data: body})
	if err != nil {
		w.t.Fatalf("publish %s: %v", subject, err)
	}
	if ack.Duplicate {
		w.t.Fatalf("publish %s: taken for a duplicate", subject)
	}
	return ack.Sequence
}

// say publishes bare data of one type to a thread.
func (w *world) say(typ, thread string, data any) uint64 {
	w.t.Helper()
	return w.publish(typ+"."+token(thread), nil, encode(w.t, data))
}

func (w *world) message(thread, id, content string) uint64 {
	w.t.Helper()
	return w.say("thread.message", thread, object{"message_id": id, "role": "user", "content": content})
}

func (w *world) result(thread, id, content string) uint64 {
	w.t.Helper()
	return w.say("tool.result", thread, object{"message_id": id, "tool_name": "bash", "content": content})
}

func (w *world) edit(thread, id, content string) uint64 {
	w.t.Helper()
	return w.say("message.edited", thread, object{"message_id": id, "content": content})
}

// object is a JSON object.
type object = map[string]any

func encode(t testing.TB, v any) []byte {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSpace(b.Bytes())
}

// decode reads JSON as a client would; numbers keep their digits.
func decode(t testing.TB, data []byte) object {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var o object
	if err := d.Decode(&o); err != nil {
		t.Fatalf("%v in %.200s", err, data)
	}
	return o
}

// reply is the answer of a service; code is empty where it is no error.
type reply struct {
	code, why string
	body      []byte
}

// ask sends a request; data is JSON, or nil for none. An answer that is no error is held against its schema.
func (w *world) ask(subject string, data any) reply {
	w.t.Helper()
	var body []byte
	switch v := data.(type) {
	case nil:
	case []byte:
		body = v
	default:
		body = encode(w.t, data)
	}
	m, err := w.nc.RequestWithContext(within(w.t), subject, body)
	if err != nil {
		w.t.Fatalf("ask %s: %v", subject, err)
	}
	r := reply{code: m.Header.Get(micro.ErrorCodeHeader), why: m.Header.Get(micro.ErrorHeader), body: m.Data}
	if r.code == "" && strings.HasPrefix(subject, "precis.") {
		validReply(w.t, subject, r.body)
	}
	return r
}

// answer is the JSON of an answer that must be no error.
func (w *world) answer(subject string, data any) object {
	w.t.Helper()
	r := w.ask(subject, data)
	if r.code != "" {
		w.t.Fatalf("ask %s: %s %s", subject, r.code, r.why)
	}
	return decode(w.t, r.body)
}

// thread is a thread's counters when seq is in them.
func (w *world) thread(name string, seq uint64) object {
	w.t.Helper()
	var got object
	w.eventually("thread "+name, func() error {
		r := w.ask("precis.thread.get."+token(name), nil)
		if r.code != "" {
			return fmt.Errorf("%s %s", r.code, r.why)
		}
		got = decode(w.t, r.body)
		if have := number(w.t, got, "event_seq"); have < int64(seq) {
			return fmt.Errorf("event_seq is %d, want %d", have, seq)
		}
		return nil
	})
	return got
}

// counters holds a thread's counters, when seq is in them, against what they should be.
func (w *world) counters(name string, seq uint64, want map[string]int64) {
	w.t.Helper()
	got := w.thread(name, seq)
	for key, n := range want {
		if have := number(w.t, got, key); have != n {
			w.t.Errorf("thread %q: %s is %d, want %d", name, key, have, n)
		}
	}
}

func number(t testing.TB, o object, key string) int64 {
	t.Helper()
	n, ok := o[key].(json.Number)
	if !ok {
		t.Fatalf("%s is %T %v, want a number", key, o[key], o[key])
	}
	i, err := n.Int64()
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func text(t testing.TB, o object, key string) string {
	t.Helper()
	s, ok := o[key].(string)
	if !ok {
		t.Fatalf("%s is %T %v, want a string", key, o[key], o[key])
	}
	return s
}

// fetch asks over HTTP.
func (w *world) fetch(path string) (int, string) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(within(w.t), http.MethodGet, w.http+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// metrics are the values of one metric by its labels.
func (w *world) metrics(name string) map[string]float64 {
	w.t.Helper()
	_, body := w.fetch("/metrics")
	values := map[string]float64{}
	for line := range strings.Lines(body) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), name)
		if !ok || rest == "" || rest[0] != '{' && rest[0] != ' ' {
			continue
		}
		at := strings.LastIndexByte(rest, ' ')
		value, err := strconv.ParseFloat(rest[at+1:], 64)
		if err != nil {
			w.t.Fatalf("metric %q: %v", line, err)
		}
		values[strings.Trim(rest[:at], "{}")] = value
	}
	return values
}
