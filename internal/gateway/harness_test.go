package gateway_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"precis/api"
	"precis/events"
	"precis/internal/broker"
	"precis/internal/broker/brokertest"
	"precis/internal/config"
	"precis/internal/gateway"
	"precis/internal/machine"
	"precis/internal/processor"
	"precis/internal/service"
)

func TestMain(m *testing.M) {
	if machine.Main() {
		return
	}
	gateway.PoisonScratches()
	goleak.VerifyTestMain(m, brokertest.Leftovers()...)
}

// patience bounds what a test waits for.
const patience = 30 * time.Second

func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	t.Cleanup(cancel)
	return ctx
}

func quietLog(t testing.TB) zerolog.Logger {
	return zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.ErrorLevel)
}

// world is a provider, a gateway to it, and a processor.
type world struct {
	t        testing.TB
	broker   *broker.Broker
	upstream *httptest.Server
	server   *gateway.Server
	registry *prometheus.Registry
	metrics  *gateway.Metrics
	url      string
	client   *http.Client
	api      *api.Client
	log      *syncBuffer
	stop     func() error // of the gateway; a test may do it itself

	stopProcessor func()
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// begin starts them. The provider answers with provider.
func begin(t testing.TB, provider http.HandlerFunc, o gateway.Options) *world {
	t.Helper()
	return beginWith(t, provider, o, func(*config.Config) {})
}

// beginWith has the processor configured.
func beginWith(t testing.TB, provider http.HandlerFunc, o gateway.Options, configure func(*config.Config)) *world {
	t.Helper()
	w := bare(t, provider)
	b, err := broker.Open(t.Context(), broker.Options{StoreDir: t.TempDir(), Listen: "127.0.0.1:0", Sync: "2m", Logger: quietLog(t)})
	if err != nil {
		t.Fatal(err)
	}
	w.broker = b
	t.Cleanup(func() { _ = b.Close(context.Background()) })
	cfg := config.Default()
	cfg.DataDir, cfg.Partitions = t.TempDir(), 2
	configure(cfg)
	p, err := processor.Open(t.Context(), processor.Options{Config: cfg, Broker: b, Logger: quietLog(t)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ran := make(chan error, 1)
	go func() { ran <- p.Run(ctx) }()
	svc, err := service.Start(b.Conn(), p, service.Options{Logger: quietLog(t)})
	if err != nil {
		t.Fatal(err)
	}
	w.stopProcessor = sync.OnceFunc(func() {
		cancel()
		if err := <-ran; err != nil {
			t.Error(err)
		}
		_ = svc.Stop()
		_ = p.Close(context.Background())
	})
	t.Cleanup(w.stopProcessor)
	if o.Conn == nil {
		o.Conn = b.Conn()
	}
	if w.api, err = api.NewClient(b.Conn(), api.ClientOptions{}); err != nil {
		t.Fatal(err)
	}
	w.startGateway(o)
	w.eventually(func() error {
		if !p.CaughtUp() {
			return errors.New("not caught up")
		}
		return nil
	})
	return w
}

// bare is a provider alone.
func bare(t testing.TB, provider http.HandlerFunc) *world {
	w := &world{t: t, log: &syncBuffer{}, registry: prometheus.NewRegistry()}
	w.upstream = httptest.NewServer(provider)
	t.Cleanup(w.upstream.Close)
	w.client = &http.Client{Timeout: patience, Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64}}
	t.Cleanup(w.client.CloseIdleConnections)
	w.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return w
}

// startAnother starts a gateway that remembers nothing.
func (w *world) startAnother() { w.startGateway(gateway.Options{Conn: w.broker.Conn()}) }

func (w *world) startGateway(o gateway.Options) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	if o.OpenAI == "" {
		o.OpenAI, o.Anthropic = w.upstream.URL, w.upstream.URL
	}
	if w.metrics == nil {
		w.metrics = gateway.NewMetrics(w.registry)
	}
	if o.Wait == patience { // also where a prompt of an earlier request would do
		o.Brief = patience
	}
	o.Logger, o.Metrics = zerolog.New(w.log), w.metrics
	if w.server, err = gateway.Start(l, o); err != nil {
		w.t.Fatal(err)
	}
	w.url = "http://" + l.Addr().String()
	w.stop = sync.OnceValue(func() error {
		w.client.CloseIdleConnections()
		return w.server.Stop(within(w.t))
	})
	w.t.Cleanup(func() {
		if err := w.stop(); err != nil {
			w.t.Error(err)
		}
	})
}

// eventually repeats a check until it holds.
func (w *world) eventually(check func() error) {
	w.t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for err := check(); err != nil; err = check() {
		select {
		case <-tick.C:
		case <-deadline:
			w.t.Fatalf("%v\nlog: %s", err, w.log)
		}
	}
}

// post sends a request through the gateway and returns the answer's body.
func (w *world) post(path, body string, header ...string) string {
	w.t.Helper()
	status, text := w.send(path, body, header...)
	if status != http.StatusOK {
		w.t.Fatalf("%d: %s", status, text)
	}
	return text
}

func (w *world) send(path, body string, header ...string) (int, string) {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.url+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := w.client.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// count is a counter's value, summed over the labels that are not given.
func (w *world) count(name string, labels ...string) (n float64) {
	w.t.Helper()
	families, err := w.registry.Gather()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
	metrics:
		for _, m := range f.GetMetric() {
			for i := 0; i < len(labels); i += 2 {
				found := false
				for _, l := range m.GetLabel() {
					found = found || l.GetName() == labels[i] && l.GetValue() == labels[i+1]
				}
				if !found {
					continue metrics
				}
			}
			n += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return n
}

func (w *world) counts(want float64, name string, labels ...string) {
	w.t.Helper()
	w.eventually(func() error {
		if n := w.count(name, labels...); n != want {
			return fmt.Errorf("%s%v is %v, want %v", name, labels, n, want)
		}
		return nil
	})
}

const (
	published = "precis_gateway_published_events_total"
	dropped   = "precis_gateway_dropped_total"
)

// prompt waits until a thread has so many messages and results and returns its prompt in a format.
func (w *world) prompt(thread, format string, messages, results uint64) *api.ContextReply {
	w.t.Helper()
	w.eventually(func() error {
		r, err := w.api.Thread(within(w.t), thread, api.ThreadRequest{})
		if err != nil {
			return err
		}
		if r.Messages != messages || r.ToolResults != results || r.Rejected != 0 {
			return fmt.Errorf("%s: %d messages, %d results, %d rejected; want %d, %d, 0", thread, r.Messages, r.ToolResults, r.Rejected, messages, results)
		}
		return nil
	})
	p, err := w.api.Context(within(w.t), thread, api.ContextRequest{Format: format})
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

// threads are the threads that EVENTS has, in order of their first event.
func (w *world) threads() (list []string) {
	w.t.Helper()
	for _, e := range w.events() {
		if len(list) == 0 || !contains(list, e.thread) {
			list = append(list, e.thread)
		}
	}
	return list
}

func contains(list []string, s string) bool {
	for _, v := range list {
		if v == s {
			return true
		}
	}
	return false
}

type stored struct {
	kind   events.Type
	thread string
	body   string
}

// events are all that EVENTS has.
func (w *world) events() (list []stored) {
	w.t.Helper()
	stream, err := w.broker.JetStream().Stream(within(w.t), broker.StreamEvents)
	if err != nil {
		w.t.Fatal(err)
	}
	info, err := stream.Info(within(w.t))
	if err != nil {
		w.t.Fatal(err)
	}
	for seq := info.State.FirstSeq; seq <= info.State.LastSeq && seq > 0; seq++ {
		m, err := stream.GetMsg(within(w.t), seq)
		if err != nil {
			w.t.Fatal(err)
		}
		kind, token, ok := events.ParseSubject(m.Subject)
		if !ok {
			w.t.Fatal(m.Subject)
		}
		thread, err := events.ThreadOf(token)
		if err != nil {
			w.t.Fatal(err)
		}
		list = append(list, stored{kind, thread, string(m.Data)})
	}
	return list
}

// say answers with a body.
func say(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, body)
	}
}
