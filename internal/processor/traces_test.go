package processor_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"precis/internal/broker"
	"precis/internal/processor"
)

const (
	oneTrace     = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	anotherTrace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
)

// traced publishes an event with headers.
func traced(t *testing.T, b *broker.Broker, subject, body string, headers ...string) {
	t.Helper()
	m := nats.NewMsg(subject)
	m.Data = []byte(body)
	for i := 0; i < len(headers); i += 2 {
		m.Header[headers[i]] = append(m.Header[headers[i]], headers[i+1])
	}
	if _, err := b.JetStream().PublishMsg(within(t), m); err != nil {
		t.Fatal(err)
	}
}

// The records of an event have its trace context, also those of a job that it began; others have none. Nothing that is sealed or
// replayed knows of it.
func TestTraceContext(t *testing.T) {
	m := newModel(t, func(_ int64, w http.ResponseWriter, _ *http.Request) { says(w, "The suite passes.", 100, 5) })
	c := byModel(t, m)
	b := openBroker(t, processor.BrokerDir(c.DataDir))
	p := start(t, processor.Options{Config: c, Logger: logger(t), Broker: b})
	output := func(id string) string {
		return fmt.Sprintf(`{"message_id":%q,"tool_name":"bash","content":%q}`, id, strings.Repeat("ok "+id+" 0.01s\n", 400))
	}
	traced(t, b, "tool.result.t1", output("m1"), "traceparent", oneTrace, "tracestate", "vendor=1")
	traced(t, b, "tool.result.t1", output("m2"), "traceparent", anotherTrace)
	for i, headers := range [][]string{
		{}, {"traceparent", "00-short-01"}, {"traceparent", oneTrace + "\tx"}, {"traceparent", oneTrace, "traceparent", anotherTrace}, {"tracestate", "vendor=1"},
	} {
		traced(t, b, "tool.result.t2", output(fmt.Sprint("n", i)), headers...)
	}
	traced(t, b, "tool.result.t3", output("m3"), "traceparent", oneTrace, "tracestate", strings.Repeat("x", 513))
	if err := p.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	p.end()

	seen := map[string]int{}
	for _, r := range onRecord(t, b, "") {
		parent, state := r.Header.Get("traceparent"), r.Header.Get("tracestate")
		kind, _, _ := strings.Cut(strings.TrimPrefix(r.Subject, "summary."), ".")
		switch {
		case strings.HasSuffix(r.Subject, ".t1") && strings.Contains(string(r.Data), `"m1"`):
			if parent != oneTrace || state != "vendor=1" {
				t.Errorf("%s of m1 has %q, %q", kind, parent, state)
			}
			seen[kind]++
		case strings.HasSuffix(r.Subject, ".t1") && strings.Contains(string(r.Data), `"m2"`):
			if parent != anotherTrace || state != "" {
				t.Errorf("%s of m2 has %q, %q", kind, parent, state)
			}
		case strings.HasSuffix(r.Subject, ".t3"):
			if parent != oneTrace || state != "" {
				t.Errorf("%s of m3 has %q, %d bytes", kind, parent, len(state))
			}
		case !strings.HasSuffix(r.Subject, ".t1") && parent+state != "":
			t.Errorf("%s has %q, %q", r.Subject, parent, state)
		}
		if strings.Contains(string(r.Data), "4bf92f") {
			t.Errorf("%s is sealed with it: %s", r.Subject, r.Data)
		}
	}
	if seen["started"] != 1 || seen["created"] != 1 {
		t.Errorf("records of m1: %v", seen)
	}
	for _, f := range replayed(t, b) {
		t.Errorf("%+v", f)
	}
}
