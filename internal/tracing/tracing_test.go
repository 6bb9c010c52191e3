package tracing

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"precis/internal/thread"
)

func env(pairs ...string) func(string) string {
	of := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		of[pairs[i]] = pairs[i+1]
	}
	return func(name string) string { return of[name] }
}

func TestSettings(t *testing.T) {
	const (
		all  = "OTEL_EXPORTER_OTLP_"
		only = "OTEL_EXPORTER_OTLP_TRACES_"
	)
	for want, of := range map[string][]string{
		"":                                       nil,
		"http://localhost:4318/v1/traces":        {"OTEL_TRACES_EXPORTER", "otlp"},
		"https://c.example/x/v1/traces":          {all + "ENDPOINT", "https://c.example/x/"},
		"http://c:1":                             {all + "ENDPOINT", "http://d:2", only + "ENDPOINT", "http://c:1"},
		"http://c:1/v1/traces":                   {all + "ENDPOINT", "http://c:1", all + "PROTOCOL", "grpc", only + "PROTOCOL", "http/protobuf"},
		"error: OTEL_TRACES_EXPORTER":            {"OTEL_TRACES_EXPORTER", "zipkin"},
		"http://c:1" + grpcExport:                {all + "ENDPOINT", "http://c:1/", all + "PROTOCOL", "grpc"},
		"http://localhost:4317" + grpcExport:     {"OTEL_TRACES_EXPORTER", "otlp", only + "PROTOCOL", "grpc"},
		"https://c:1" + grpcExport:               {only + "ENDPOINT", "c:1", all + "PROTOCOL", "grpc"},
		"http://c:2" + grpcExport:                {all + "ENDPOINT", "c:2", all + "INSECURE", "true", all + "PROTOCOL", "grpc"},
		"error: " + all + "PROTOCOL":             {all + "ENDPOINT", "http://c:1", all + "PROTOCOL", "http/json"},
		"error: " + only + "ENDPOINT has a path": {only + "ENDPOINT", "http://c:1/v1/traces", all + "PROTOCOL", "grpc"},
		"error: " + all + "ENDPOINT":             {all + "ENDPOINT", "c:4318"},
		"error: " + only + "HEADERS":             {all + "ENDPOINT", "http://c", only + "HEADERS", "a"},
		"error: " + only + "TIMEOUT":             {all + "ENDPOINT", "http://c", only + "TIMEOUT", "10s"},
		"error: " + all + "COMPRESSION":          {all + "ENDPOINT", "http://c", all + "COMPRESSION", "zstd"},
		"error: " + all + "CERTIFICATE":          {all + "ENDPOINT", "http://c", all + "CERTIFICATE", filepath.Join(t.TempDir(), "none")},
		"error: " + all + "CLIENT_CERTIFICATE":   {all + "ENDPOINT", "http://c", all + "CLIENT_KEY", "none"},
	} {
		s, err := read(env(of...))
		switch {
		case strings.HasPrefix(want, "error: "):
			if err == nil || !strings.HasPrefix(err.Error(), want[7:]) {
				t.Errorf("%v: %v, want %s", of, err, want)
			}
		case err != nil:
			t.Errorf("%v: %v", of, err)
		case (s == nil) != (want == "") || s != nil && s.endpoint != want:
			t.Errorf("%v: %+v, want %s", of, s, want)
		}
	}
	for _, off := range [][]string{{"OTEL_SDK_DISABLED", "true"}, {"OTEL_TRACES_EXPORTER", "none"}} {
		if s, err := read(env(append(off, all+"ENDPOINT", "http://c")...)); s != nil || err != nil {
			t.Error(off, s, err)
		}
	}
	if _, err := read(env(all+"ENDPOINT", "http://c", all+"HEADERS", "key=%zz-secret")); err == nil || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
	empty := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := read(env(all+"ENDPOINT", "http://c", all+"CERTIFICATE", empty)); !errors.Is(err, errNone) {
		t.Error(err)
	}
}

// What the collector answers decides whether spans are sent again, and each loss is in the log.
func TestExport(t *testing.T) {
	partial, err := proto.Marshal(&collector.ExportTraceServiceResponse{PartialSuccess: &collector.ExportTracePartialSuccess{RejectedSpans: 1, ErrorMessage: "too old"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		statuses []int
		answer   []byte
		sent     int64
		warns    string
	}{
		"taken":     {[]int{200}, nil, 1, ""},
		"busy":      {[]int{503, 200}, nil, 2, ""},
		"wrong":     {[]int{400, 200}, nil, 1, "400 Bad Request"},
		"elsewhere": {[]int{307, 200}, nil, 1, "307"},
		"in part":   {[]int{200}, partial, 1, "rejected 1: too old"},
	} {
		t.Run(name, func(t *testing.T) {
			var sent atomic.Int64
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(c.statuses[min(int(sent.Add(1)), len(c.statuses))-1])
				_, _ = w.Write(c.answer)
			}))
			defer s.Close()
			var log text // a tracer of another test may still complain: the handler of errors is the process's
			tracer, err := Open(t.Context(), env("OTEL_EXPORTER_OTLP_ENDPOINT", s.URL), "v1", zerolog.New(&log))
			if err != nil {
				t.Fatal(err)
			}
			of := New(tracer, 0)
			of.End(of.Begin(1, "0.tool.result.t", nil), thread.Accepted, "", nil)
			flushed := tracer.provider.ForceFlush(t.Context())
			if err := tracer.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			lost := strings.Contains(log.String(), `"lost":1`)
			if sent.Load() != c.sent || lost != (c.warns != "") || (flushed != nil) != lost || lost && !strings.Contains(flushed.Error(), c.warns) {
				t.Errorf("sent %d times; %v; %s", sent.Load(), flushed, log.String())
			}
		})
	}
}

// Whatever a collector does, ending spans does not wait for it, nor does the end of the program, and nothing stays behind.
func TestBrokenCollectors(t *testing.T) {
	gone := func(r *http.Request) { // until the client is
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}
	hijacked := func(w http.ResponseWriter, answer string) {
		if _, ok := w.(http.Hijacker); !ok { // HTTP/2: its stream ends
			panic(http.ErrAbortHandler)
		}
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(c, answer)
		_ = c.Close()
	}
	for name, answer := range map[string]http.HandlerFunc{
		"never answers":       func(_ http.ResponseWriter, r *http.Request) { gone(r) },
		"stops in its answer": func(w http.ResponseWriter, r *http.Request) { w.(http.Flusher).Flush(); gone(r) },
		"hangs up":            func(w http.ResponseWriter, _ *http.Request) { hijacked(w, "") },
		"is no web server":    func(w http.ResponseWriter, _ *http.Request) { hijacked(w, "220 mail ready\r\n") },
		"asks for an hour": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(503)
		},
		"redirects to itself": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
		},
		"is away": nil,
	} {
		for _, protocol := range []string{"http/protobuf", "grpc"} {
			t.Run(name+" over "+protocol, func(t *testing.T) { broken(t, protocol, answer, name != "stops in its answer") })
		}
	}
}

// broken exports to a collector that gives such answers; nil: it is away. none: it confirms nothing.
func broken(t *testing.T, protocol string, answer http.HandlerFunc, none bool) {
	t.Helper()
	idle := goleak.IgnoreCurrent()
	s := httptest.NewUnstartedServer(answer)
	if protocol == "grpc" {
		s.Config.Protocols = new(http.Protocols)
		s.Config.Protocols.SetUnencryptedHTTP2(true)
	}
	s.Start()
	if answer == nil {
		s.Close()
	}
	var log text
	tracer, err := Open(t.Context(), env("OTEL_EXPORTER_OTLP_ENDPOINT", s.URL, "OTEL_EXPORTER_OTLP_PROTOCOL", protocol), "v1", zerolog.New(&log))
	if err != nil {
		t.Fatal(err)
	}
	of := New(tracer, 0)
	for seq := range uint64(5000) {
		of.End(of.Begin(seq, "0.tool.result.t", nil), thread.Accepted, "", nil)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_ = tracer.Close(ctx)
	if !strings.Contains(log.String(), `"lost":5000`) && none || strings.Count(log.String(), "\n") > 3 {
		t.Error(log.String())
	}
	s.CloseClientConnections()
	s.Close()
	goleak.VerifyNone(t, idle)
}

// text is a log that several goroutines write.
type text struct {
	mu sync.Mutex
	strings.Builder
}

func (l *text) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Builder.Write(line)
}

func (l *text) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Builder.String()
}

// A line at once, and then one a minute.
func TestComplaints(t *testing.T) {
	var log strings.Builder
	now := time.Unix(0, 0)
	complain := complaints(zerolog.New(&log), func() time.Time { return now })
	for range 130 {
		complain(errNone)
		now = now.Add(time.Second)
	}
	if got := strings.Count(log.String(), "\n"); got != 3 || !strings.Contains(log.String(), `"failures_not_logged":59`) {
		t.Error(log.String())
	}
}

// A sampler of the environment decides, and what is not sampled keeps its agent's context.
func TestSampling(t *testing.T) {
	t.Setenv("OTEL_TRACES_SAMPLER", "parentbased_always_off")
	tracer, err := Open(t.Context(), env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1"), "v1", zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		ended, end := context.WithTimeout(context.Background(), time.Millisecond)
		defer end()
		_ = tracer.Close(ended)
	}()
	c := New(tracer, 0)
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0"
	for header, want := range map[string]bool{"": false, parent + "0": false, parent + "1": true} {
		s := c.Begin(1, "0.tool.result.t", map[string][]string{"traceparent": {header}})
		if (s != nil) != want {
			t.Errorf("%q: recorded %v", header, s != nil)
		}
		c.Applied(s, 1, map[string][]string{"traceparent": {header}})
		if of, _ := c.recent.Get(1); header == parent+"0" && of.parent != header || want && (of.parent == header || of.parent[:35] != header[:35]) {
			t.Errorf("%q goes on as %q", header, of.parent)
		}
		c.End(s, thread.Accepted, "", nil)
		c.recent.Purge()
	}
	if n := len(c.Batch()); n != 1 {
		t.Errorf("%d events of the batch are recorded", n)
	}
}

// BenchmarkEvent is what an event costs: with traces off, against the note alone that there was before; sampled out; recorded.
func BenchmarkEvent(b *testing.B) {
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	defer s.Close()
	header := map[string][]string{}
	b.Run("yardstick", func(b *testing.B) {
		c, seq := New(nil, 0), uint64(0)
		for b.Loop() {
			seq++
			c.Note(seq, header)
		}
	})
	for _, name := range []string{"off", "always_off", "always_on"} {
		b.Run(name, func(b *testing.B) {
			var tracer *Tracer
			if name != "off" {
				b.Setenv("OTEL_TRACES_SAMPLER", name)
				var err error
				if tracer, err = Open(b.Context(), env("OTEL_EXPORTER_OTLP_ENDPOINT", s.URL), "v1", zerolog.Nop()); err != nil {
					b.Fatal(err)
				}
				defer tracer.Close(context.Background())
			}
			c, seq := New(tracer, 0), uint64(0)
			for b.Loop() {
				seq++
				span := c.Begin(seq, "0.tool.result.t", header)
				c.Applied(span, seq, header)
				c.End(span, thread.Accepted, "", nil)
				if seq%64 == 0 {
					c.Batch()
				}
			}
		})
	}
}
