package processor_test

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"precis/internal/broker"
	"precis/internal/config"
	"precis/internal/processor"
	"precis/internal/thread"
	"precis/state"
	"precis/summarize"
)

// patience bounds what a test waits for: on two cores with nothing else to do it takes a fifth of it at most.
const patience = 4 * time.Minute

func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func logger(t testing.TB) zerolog.Logger {
	return zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.InfoLevel)
}

// settings are a configuration for tests, in a directory of its own.
func settings(t testing.TB) *config.Config {
	c := config.Default()
	c.DataDir = t.TempDir()
	c.NATS.Listen = ""
	c.Policies = []summarize.Policy{summarize.Default()}
	processor.ParkAll(c)
	return c
}

// openBroker starts an embedded server that outlives processors.
func openBroker(t testing.TB, dir string) *broker.Broker {
	t.Helper()
	return openBrokerWith(t, broker.Options{StoreDir: dir, Sync: "2m", Logger: logger(t)})
}

func openBrokerWith(t testing.TB, o broker.Options) *broker.Broker {
	t.Helper()
	b, err := broker.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			t.Errorf("close broker: %v", err)
		}
	})
	return b
}

// running is a processor that runs until stopped.
type running struct {
	*processor.Processor
	t    testing.TB
	stop context.CancelFunc
	done chan error
}

func start(t testing.TB, o processor.Options) *running {
	t.Helper()
	p, err := processor.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{Processor: p, t: t, stop: cancel, done: make(chan error, 1)}
	go func() { r.done <- p.Run(ctx) }()
	return r
}

// end stops the processor in order.
func (r *running) end() {
	r.t.Helper()
	r.stop()
	if err := <-r.done; err != nil {
		r.t.Errorf("run: %v", err)
	}
	if err := r.Close(context.Background()); err != nil {
		r.t.Errorf("close: %v", err)
	}
}

// put publishes bodies to a subject, one after the other, and returns the last one's sequence.
func put(t testing.TB, nc *nats.Conn, subject string, bodies ...string) uint64 {
	t.Helper()
	pub, err := broker.NewPublisher(nc, broker.PublisherConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pub.Close() }()
	var msgs []*nats.Msg
	for _, b := range bodies {
		msgs = append(msgs, &nats.Msg{Subject: subject, Data: []byte(b)})
	}
	var last uint64
	for _, ack := range pub.PublishBatch(within(t), msgs) {
		if ack.Err != nil {
			t.Fatal(ack.Err)
		}
		last = ack.Seq
	}
	return last
}

// transcripts are the real ones, where the project has them beside it.
func transcripts(t testing.TB) []string { return transcriptsOf(t, "dev") }

// transcriptsOf are those of one set.
func transcriptsOf(t testing.TB, set string) []string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for dir != filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	files, err := filepath.Glob(filepath.Join(dir, "..", "shared", "data", set, "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Skip("the real transcripts are not beside the project")
	}
	return files
}

// headers are those of a partition's threads.
func headers(v state.View) iter.Seq2[*thread.Header, error] {
	return func(yield func(*thread.Header, error) bool) {
		err := v.Headers(func(h *thread.Header) (bool, error) { return yield(h, nil), nil })
		if err != nil {
			yield(nil, err)
		}
	}
}

// summaries are those of a thread, whatever became of them.
func summaries(v state.View, name string) iter.Seq2[*thread.Summary, error] {
	return func(yield func(*thread.Summary, error) bool) {
		err := v.Summaries(name, func(sum *thread.Summary) (bool, error) { return yield(sum, nil), nil })
		if err != nil {
			yield(nil, err)
		}
	}
}
