package audit_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"precis/events"
	"precis/internal/audit"
	"precis/internal/broker"
	"precis/internal/broker/brokertest"
	"precis/internal/config"
	"precis/internal/processor"
	"precis/internal/secrets"
	"precis/state"
	"precis/summarize"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, brokertest.Leftovers()...)
}

// patience bounds what a test waits for: on two cores with nothing else to do it takes a fifth of it at most.
const patience = 4 * time.Minute

func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func logger(t testing.TB) zerolog.Logger {
	return zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel)
}

// world is a log that a processor has worked on, with the store that it left.
type world struct {
	t      testing.TB
	broker *broker.Broker
	config *config.Config
	// ahead is how far the processor's clock is ahead of the server's.
	ahead time.Duration
	// bulkFrom is how far behind the log a start takes it in bulk; 0: the processor's own.
	bulkFrom uint64
}

// newWorld starts a server, with a configuration of two policies: by rules, and by a model.
func newWorld(t testing.TB) *world {
	b, err := broker.Open(t.Context(), broker.Options{StoreDir: t.TempDir(), Listen: "127.0.0.1:0", Sync: "2m", Logger: logger(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			t.Errorf("close broker: %v", err)
		}
	})
	c := config.Default()
	c.DataDir, c.NATS.Listen, c.Partitions, c.Limits.PendingEditEvents = t.TempDir(), "", 4, 5
	byRules, byModel := summarize.Default(), summarize.Default()
	byRules.Tokenizer, byModel.Tokenizer = summarize.TokenizerEstimate, summarize.TokenizerEstimate
	byRules.Compaction.Trigger = summarize.Condition{Messages: 8}
	byRules.Compaction.Keep = summarize.Keep{Messages: 3}
	byModel.Name, byModel.Mode = "by-model", summarize.ModeLLM
	c.Policies = []summarize.Policy{byRules, byModel}
	p := config.DefaultProvider(config.KindAnthropic)
	p.BaseURL, p.APIKey = newModel(t).URL, "key"
	c.Providers = map[string]config.Provider{config.ProviderSummarizer: p}
	return &world{t: t, broker: b, config: c}
}

// newModel is a server that speaks Anthropic's wire format.
func newModel(t testing.TB) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, `{"id":"msg_1","type":"message","role":"assistant","model":"claude-haiku-4-5-20251001",
			"content":[{"type":"text","text":"The build compiled every part."}],"stop_reason":"end_turn","stop_sequence":null,
			"usage":{"input_tokens":1200,"output_tokens":40}}`)
	}))
	t.Cleanup(s.Close)
	return s
}

// run has a processor work until work returns and everything is settled.
func (w *world) run(work func(*processor.Processor)) {
	w.t.Helper()
	p, err := processor.Open(w.t.Context(), processor.Options{Config: w.config, Logger: logger(w.t), Broker: w.broker, BulkFrom: w.bulkFrom, Now: func() time.Time { return time.Now().Add(w.ahead) }})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(w.t.Context())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	work(p)
	err = p.Settled(within(w.t))
	stop()
	if err := errors.Join(err, <-done, p.Close(context.Background())); err != nil {
		w.t.Fatal(err)
	}
}

// put publishes events to subjects, one after the other.
func (w *world) put(events ...[2]string) {
	w.t.Helper()
	for _, e := range events {
		msg := &nats.Msg{Subject: e[0], Data: []byte(e[1])}
		if _, err := w.broker.JetStream().PublishMsg(within(w.t), msg); err != nil {
			w.t.Fatal(err)
		}
	}
}

// scratch opens a store to throw away and has work done with it.
func (w *world) scratch(work func(audit.Options) error) {
	w.t.Helper()
	scratch, err := state.Open("scratch", state.Options{FS: state.Memory(), Scratch: true, Logger: logger(w.t)})
	if err != nil {
		w.t.Fatal(err)
	}
	masker, err := secrets.Load()
	if err != nil {
		w.t.Fatal(err)
	}
	err = work(audit.Options{
		JetStream: w.broker.JetStream(), Scratch: scratch, Rules: true, Mask: masker.Mask, Workers: 2,
		// Later than any grace: what is not on record is missing.
		Now: muchLater, Logger: zerolog.Nop(),
	})
	if err := errors.Join(err, scratch.Close()); err != nil {
		w.t.Fatal(err)
	}
}

// replay audits the log, and the store where one is given.
func (w *world) replay(set ...func(*audit.Options)) (rep *audit.Report) {
	w.t.Helper()
	w.scratch(func(o audit.Options) (err error) {
		for _, f := range set {
			f(&o)
		}
		rep, err = audit.Replay(within(w.t), o)
		return err
	})
	return rep
}

// store opens the store that the processor left.
func (w *world) store() *state.Store {
	w.t.Helper()
	s, err := state.Open(processor.StoreDir(w.config.DataDir), state.Options{Logger: logger(w.t)})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := s.Close(); err != nil {
			w.t.Errorf("close store: %v", err)
		}
	})
	return s
}

// stream is one of the streams, for tampering.
func (w *world) stream(name string) jetstream.Stream {
	w.t.Helper()
	s, err := w.broker.JetStream().Stream(within(w.t), name)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// messages reads a stream.
func (w *world) messages(stream string) []broker.Stored {
	w.t.Helper()
	var list []broker.Stored
	err := broker.NewLogReader(w.broker.JetStream(), stream).Scan(within(w.t), 1, nil, func(m broker.Stored) error {
		list = append(list, m)
		return nil
	}, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return list
}

// records are the messages of SUMMARIES without claims, of which each start makes its own.
func (w *world) records() []broker.Stored {
	w.t.Helper()
	return slices.DeleteFunc(w.messages(broker.StreamSummaries), func(m broker.Stored) bool {
		return strings.HasPrefix(m.Subject, string(events.PartitionClaimed))
	})
}

// rewrite makes a stream anew with other messages: what somebody can do who has the server.
func (w *world) rewrite(stream string, list []broker.Stored) {
	w.t.Helper()
	js := w.broker.JetStream()
	for s := w.stream(stream); s.CachedInfo().State.LastSeq > 0; { // the server may find the old files again
		err := js.DeleteStream(within(w.t), stream)
		if err == nil {
			s, err = js.CreateStream(within(w.t), s.CachedInfo().Config)
		}
		if err != nil {
			w.t.Fatal(err)
		}
	}
	for _, m := range list {
		h := nats.Header{}
		for name, values := range m.Header {
			if !strings.HasPrefix(name, "Nats-Expected") && !strings.HasPrefix(name, "Nats-Batch") {
				h[name] = values
			}
		}
		if _, err := js.PublishMsg(within(w.t), &nats.Msg{Subject: m.Subject, Header: h, Data: m.Data}); err != nil {
			w.t.Fatal(err)
		}
	}
}

// clean holds a report to have no findings.
func clean(t testing.TB, rep *audit.Report) {
	t.Helper()
	for _, f := range rep.Findings {
		t.Errorf("%+v", f)
	}
}

// line is a message of a thread "long", of some 30 tokens.
func line(i int, role string) [2]string {
	return [2]string{"thread.message.long", say(fmt.Sprintf("l%d", i), role,
		fmt.Sprintf("Line %d of a long talk is about main_%d.go, which TestTotal%d holds to error E%d, and about nothing else at all.", i, i, i, i))}
}

// proved holds the log against itself, with the rules run again and without, and against the store.
func (w *world) proved() {
	w.t.Helper()
	for _, rules := range []bool{true, false} {
		clean(w.t, w.replay(func(o *audit.Options) { o.Rules = rules }))
	}
}

// muchLater is when audits are done: behind every grace, and old enough for a retention of half an hour.
func muchLater() time.Time { return time.Now().Add(time.Hour) }
