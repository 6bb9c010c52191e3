package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// The end of the program delivers the spans that still wait, under the variables of the example in the documentation.
func TestRunExportsTraces(t *testing.T) {
	var (
		mu    sync.Mutex
		names []string
	)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		var in collector.ExportTraceServiceRequest
		if err != nil || proto.Unmarshal(text, &in) != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s: %d bytes, %v", r.URL, len(text), err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, of := range in.ResourceSpans {
			for _, scope := range of.ScopeSpans {
				for _, span := range scope.Spans {
					names = append(names, span.Name)
				}
			}
		}
	}))
	defer s.Close()
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	example := regexp.MustCompile(`(?m)^(OTEL_.*) processor run$`).FindSubmatch(page)
	if example == nil {
		t.Fatal("no example")
	}
	for _, pair := range strings.Fields(string(example[1])) {
		name, value, _ := strings.Cut(pair, "=")
		t.Setenv(name, strings.ReplaceAll(value, "http://127.0.0.1:4318", s.URL))
	}
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "3600000") // nothing is exported before the end
	b := newBareServer(t)
	t.Setenv("NATS_URL", b.URL())
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out, stderr := newLines(t)
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, []string{"run", "--nats", b.URL(), "--data", t.TempDir(), "--http", "", "--api", "", "--log-format", "json", "--log-level", "debug"}, strings.NewReader(""), io.Discard, stderr)
	}()
	for !strings.Contains(out.next(t), `"message":"running"`) {
		continue
	}
	publish(t, b.JetStream(), "thread.message.t1", `{"message_id":"broken"`)
	var line string
	for !strings.Contains(line, "event rejected") {
		line = out.next(t)
	}
	if !strings.Contains(line, `"trace_id":"`) || !strings.Contains(line, `"span_id":"`) {
		t.Error(line)
	}
	stop()
	for !strings.Contains(line, "traces end") {
		line = out.next(t)
	}
	if !strings.Contains(line, `"lost":0`) {
		t.Error(line)
	}
	if status := <-done; status != exitDone {
		t.Errorf("status %d", status)
	}
	mu.Lock()
	defer mu.Unlock()
	if text := strings.Join(names, " "); !strings.Contains(text, "process thread.message") || !strings.Contains(text, "commit") {
		t.Error(text)
	}
}

func TestTracesRefused(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4317")
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")
	program(t, "", "run", "--data", t.TempDir(), "--nats-listen", "127.0.0.1:0", "--http", "", "--api", "").wants(t, exitUsage, "", `OTEL_EXPORTER_OTLP_PROTOCOL: "http/json" is not supported; use http/protobuf`)
}
