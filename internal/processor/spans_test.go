package processor_test

import (
	"compress/gzip"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/slim/otlp/common/v1"
	traces "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"precis/internal/processor"
	"precis/internal/tracing"
)

// receiver is a collector.
type receiver struct {
	url      string
	mu       sync.Mutex
	refuse   []int // statuses that it answers first
	headers  http.Header
	resource map[string]any
	spans    []*traces.Span
}

func collects(t *testing.T, refuse ...int) *receiver {
	t.Helper()
	r := &receiver{refuse: refuse}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(r.refuse) > 0 {
			w.WriteHeader(r.refuse[0])
			r.refuse = r.refuse[1:]
			return
		}
		body := io.Reader(req.Body)
		if req.Header.Get("Content-Encoding") == "gzip" {
			var err error
			if body, err = gzip.NewReader(req.Body); err != nil {
				t.Error(err)
				return
			}
		}
		text, err := io.ReadAll(body)
		var in collector.ExportTraceServiceRequest
		if err != nil || proto.Unmarshal(text, &in) != nil || req.Method != http.MethodPost || req.URL.Path != "/v1/traces" || req.Header.Get("Content-Type") != "application/x-protobuf" {
			t.Errorf("%s %s %v: %d bytes, %v", req.Method, req.URL.Path, req.Header, len(text), err)
		}
		r.headers = req.Header
		for _, of := range in.ResourceSpans {
			r.resource = values(of.Resource.Attributes)
			for _, scope := range of.ScopeSpans {
				r.spans = append(r.spans, scope.Spans...)
			}
		}
	}))
	t.Cleanup(s.Close)
	r.url = s.URL
	return r
}

func values(list []*commonpb.KeyValue) map[string]any {
	of := map[string]any{}
	for _, kv := range list {
		switch v := kv.Value.Value.(type) {
		case *commonpb.AnyValue_StringValue:
			of[kv.Key] = v.StringValue
		case *commonpb.AnyValue_IntValue:
			of[kv.Key] = v.IntValue
		case *commonpb.AnyValue_BoolValue:
			of[kv.Key] = v.BoolValue
		}
	}
	return of
}

// one returns the span with a name and an attribute.
func (r *receiver) one(t *testing.T, name, key string, value any) *traces.Span {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []*traces.Span
	for _, s := range r.spans {
		if s.Name == name && (key == "" || values(s.Attributes)[key] == value) {
			found = append(found, s)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d spans %s with %s %v", len(found), name, key, value)
	}
	return found[0]
}

func openTracer(t *testing.T, log zerolog.Logger, env map[string]string) *tracing.Tracer {
	t.Helper()
	tracer, err := tracing.Open(t.Context(), func(name string) string { return env[name] }, "v1", log)
	if err != nil || tracer == nil {
		t.Fatal(tracer, err)
	}
	return tracer
}

// An agent's trace goes on through the event's fold, the job and the call to the records of the summary; a commit links to what it
// holds. Nothing that is sealed or replayed knows of it, and no span has contents.
func TestSpans(t *testing.T) {
	to := collects(t, http.StatusServiceUnavailable)
	m := newModel(t, func(n int64, w http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		says(w, "The suite passes.", 100, 5)
	})
	c := byModel(t, m)
	b := openBroker(t, processor.BrokerDir(c.DataDir))
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
	tracer := openTracer(t, logger(t), map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": to.url + "/", "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20x, a=b", "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
	})
	p := start(t, processor.Options{Config: c, Logger: logger(t), Broker: b, Tracer: tracer})
	output := fmt.Sprintf(`{"message_id":"m1","tool_name":"bash","content":%q}`, strings.Repeat("zanzibar 0.01s\n", 400))
	traced(t, b, "tool.result.t1", output, "traceparent", oneTrace, "tracestate", "vendor=1")
	if err := p.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	traced(t, b, "tool.result.t2", strings.ReplaceAll(output, "m1", "m2"), "traceparent", anotherTrace) // not sampled
	traced(t, b, "thread.message.t1", `{"message_id":"broken"`, "traceparent", oneTrace)
	traced(t, b, "message.edited.t1", `{"message_id":"m1","content":"zanzibar"}`, "traceparent", oneTrace)
	if err := p.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	p.end()
	if err := tracer.Close(within(t)); err != nil {
		t.Fatal(err)
	}

	event := to.one(t, "process tool.result", "gen_ai.conversation.id", "t1")
	if hex.EncodeToString(event.TraceId) != oneTrace[3:35] || hex.EncodeToString(event.ParentSpanId) != oneTrace[36:52] || event.TraceState != "vendor=1" || event.Kind != traces.Span_SPAN_KIND_CONSUMER ||
		values(event.Attributes)["precis.outcome"] != "accepted" || event.EndTimeUnixNano < event.StartTimeUnixNano {
		t.Error(event)
	}
	if len(event.Events) != 1 || event.Events[0].Name != "summary.started" {
		t.Error(event.Events)
	}
	job := to.one(t, "summarize tool_result", "", nil)
	if string(job.ParentSpanId) != string(event.SpanId) || string(job.TraceId) != string(event.TraceId) || values(job.Attributes)["precis.summary.method"] != "llm" || values(job.Attributes)["precis.summary.tokens_before"] == nil {
		t.Error(job)
	}
	if edit := to.one(t, "process message.edited", "", nil); len(edit.Events) != 1 || edit.Events[0].Name != "summary.invalidated" || values(edit.Events[0].Attributes)["precis.stale.reason"] != "source_edited" {
		t.Error(edit)
	}
	rejected := to.one(t, "process thread.message", "", nil)
	if of := values(rejected.Attributes); of["precis.outcome"] != "rejected" || of["precis.rejection.code"] != "invalid_json" {
		t.Error(rejected)
	}
	failed, used := to.one(t, "chat claude-haiku-4-5-20251001", "precis.attempt", int64(1)), to.one(t, "chat claude-haiku-4-5-20251001", "precis.attempt", int64(2))
	if string(failed.ParentSpanId) != string(job.SpanId) || failed.Status.Code != traces.Status_STATUS_CODE_ERROR || values(failed.Attributes)["error.type"] == nil {
		t.Error(failed)
	}
	if of := values(used.Attributes); string(used.ParentSpanId) != string(job.SpanId) || used.Kind != traces.Span_SPAN_KIND_CLIENT || of["gen_ai.operation.name"] != "chat" || of["gen_ai.provider.name"] != "anthropic" || of["gen_ai.response.model"] != "claude-haiku-4-5-20251001" ||
		of["gen_ai.usage.input_tokens"] != int64(100) || of["gen_ai.usage.output_tokens"] != int64(5) || of["server.address"] != "127.0.0.1" || used.Status.Code == traces.Status_STATUS_CODE_ERROR {
		t.Error(used)
	}
	linked := 0
	for _, s := range to.spans {
		if strings.Contains(s.String(), "zanzibar") || strings.Contains(s.String(), "suite passes") {
			t.Errorf("contents in %v", s)
		}
		if hex.EncodeToString(s.TraceId) == anotherTrace[3:35] {
			t.Errorf("not sampled: %v", s)
		}
		for _, l := range s.Links {
			if s.Name == "commit" && string(l.SpanId) == string(event.SpanId) && string(l.TraceId) == string(event.TraceId) {
				linked++
			}
		}
	}
	if linked != 1 {
		t.Errorf("%d commits link to the event", linked)
	}
	if to.headers.Get("Authorization") != "Bearer x" || to.headers.Get("A") != "b" || to.resource["service.name"] != "precis" || to.resource["service.version"] != "v1" || to.resource["deployment.environment.name"] != "test" {
		t.Error(to.headers, to.resource)
	}
	started, created := to.one(t, "send summary.started", "gen_ai.conversation.id", "t1"), to.one(t, "send summary.created", "gen_ai.conversation.id", "t1")
	if string(started.ParentSpanId) != string(event.SpanId) || string(created.ParentSpanId) != string(job.SpanId) || created.Kind != traces.Span_SPAN_KIND_PRODUCER || values(created.Attributes)["precis.record.seq"] == nil {
		t.Error(started, created)
	}
	want := map[string]string{"started": traceOf(started), "created": traceOf(created)}
	for _, r := range onRecord(t, b, "") {
		kind, _, _ := strings.Cut(strings.TrimPrefix(r.Subject, "summary."), ".")
		if strings.HasSuffix(r.Subject, ".t1") && want[kind] != "" && (r.Header.Get("traceparent") != want[kind] || r.Header.Get("tracestate") != "vendor=1") {
			t.Errorf("%s has %q, want %q", r.Subject, r.Header.Get("traceparent"), want[kind])
		}
		if strings.HasSuffix(r.Subject, ".t2") && r.Header.Get("traceparent") != anotherTrace {
			t.Errorf("%s has %q", r.Subject, r.Header.Get("traceparent"))
		}
	}
	for _, f := range replayed(t, b) {
		t.Errorf("%+v", f)
	}
}

// A collector that takes connections and never answers holds up no event, no record and no end; what does not fit is lost.
func TestCollectorHangs(t *testing.T) {
	ended := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-ended
	}))
	defer s.Close()
	defer close(ended)
	t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "4")
	t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "2")
	var log lockedText
	tracer := openTracer(t, zerolog.New(&log), map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": s.URL})
	c := settings(t)
	b := openBroker(t, processor.BrokerDir(c.DataDir))
	p := start(t, processor.Options{Config: c, Logger: logger(t), Broker: b, Tracer: tracer})
	const count = 200
	for i := range count {
		traced(t, b, "tool.result.t1", fmt.Sprintf(`{"message_id":"m%d","tool_name":"bash","content":%q}`, i, strings.Repeat("ok 0.01s\n", 400)), "traceparent", oneTrace)
	}
	if err := p.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	p.end()
	created := 0
	for _, r := range onRecord(t, b, "") {
		if strings.HasPrefix(r.Subject, "summary.created.") {
			created++
		}
	}
	if created != count {
		t.Errorf("%d summaries of %d", created, count)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := tracer.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if !strings.Contains(log.String(), `"exported":0,"lost":`) {
		t.Error(log.String())
	}
}

// lockedText is a log that several goroutines write.
type lockedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedText) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func traceOf(s *traces.Span) string {
	return "00-" + hex.EncodeToString(s.TraceId) + "-" + hex.EncodeToString(s.SpanId) + "-01"
}
