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
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
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
		"":                                     nil,
		"http://localhost:4318/v1/traces":      {"OTEL_TRACES_EXPORTER", "otlp"},
		"https://c.example/x/v1/traces":        {all + "ENDPOINT", "https://c.example/x/"},
		"http://c:1":                           {all + "ENDPOINT", "http://d:2", only + "ENDPOINT", "http://c:1"},
		"http://c:1/v1/traces":                 {all + "ENDPOINT", "http://c:1", all + "PROTOCOL", "grpc", only + "PROTOCOL", "http/protobuf"},
		"error: OTEL_TRACES_EXPORTER":          {"OTEL_TRACES_EXPORTER", "zipkin"},
		"error: " + all + "PROTOCOL":           {all + "ENDPOINT", "http://c:1", all + "PROTOCOL", "grpc"},
		"error: " + all + "ENDPOINT":           {all + "ENDPOINT", "c:4318"},
		"error: " + only + "HEADERS":           {all + "ENDPOINT", "http://c", only + "HEADERS", "a"},
		"error: " + only + "TIMEOUT":           {all + "ENDPOINT", "http://c", only + "TIMEOUT", "10s"},
		"error: " + all + "COMPRESSION":        {all + "ENDPOINT", "http://c", all + "COMPRESSION", "zstd"},
		"error: " + all + "CERTIFICATE":        {all + "ENDPOINT", "http://c", all + "CERTIFICATE", filepath.Join(t.TempDir(), "none")},
		"error: " + all + "CLIENT_CERTIFICATE": {all + "ENDPOINT", "http://c", all + "CLIENT_KEY", "none"},
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
			var log strings.Builder
			tracer, err := Open(t.Context(), env("OTEL_EXPORTER_OTLP_ENDPOINT", s.URL), "v1", zerolog.New(&log))
			if err != nil {
				t.Fatal(err)
			}
			of := New(tracer, 0)
			of.End(of.Begin(1, "0.tool.result.t", nil), thread.Accepted, "", nil)
			if err := tracer.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if sent.Load() != c.sent || !strings.Contains(log.String(), c.warns) || c.warns == "" && log.Len() > 0 {
				t.Errorf("sent %d times; %s", sent.Load(), log.String())
			}
		})
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
