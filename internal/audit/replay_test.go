package audit_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"precis/internal/audit"
	"precis/internal/broker"
	"precis/internal/config"
	"precis/internal/processor"
	"precis/internal/race"
)

func TestReplayOfAnUntouchedLog(t *testing.T) {
	w := newWorld(t)
	w.story()
	w.config.Policies[0].ToolOutput.OverChars = 500 // a changed policy on the way
	w.run(func(*processor.Processor) {
		w.put([2]string{"tool.result.rules", output("r5", 20, "")}, [2]string{"tool.result.model", output("m3", 70, "")})
	})
	store := w.store()
	for name, set := range map[string]func(*audit.Options){
		"with rules":     func(*audit.Options) {},
		"without rules":  func(o *audit.Options) { o.Rules = false },
		"with the store": func(o *audit.Options) { o.Store = store },
		"one thread":     func(o *audit.Options) { o.Filter.Thread = "rules" },
		"one worker":     func(o *audit.Options) { o.Workers = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			rep := w.replay(set)
			clean(t, rep)
			if rep.Proved[audit.CheckChain] == 0 || rep.Proved[audit.CheckSources] == 0 || rep.Events["accepted"] == 0 {
				t.Errorf("little was proved: %+v", rep)
			}
			t.Logf("%+v", rep)
		})
	}
}

// A replay that ends in the middle of the log knows no better than the log did then: what is on record of
// later is no finding.
func TestReplayUpToAnyMoment(t *testing.T) {
	race.Slow(t)
	w := newWorld(t)
	w.story()
	w.anyMoment()
}

// Events may be stored long before a processor reads them: what a job's result, a request or an idle thread led to is recorded
// later than events that were applied behind it.
func TestReplayUpToAnyMomentOfALaterRecord(t *testing.T) {
	race.Slow(t)
	t.Parallel()
	w := everyCause(t)
	w.rewrite(broker.StreamSummaries, w.messages(broker.StreamSummaries))
	w.anyMoment()
}

// anyMoment replays the log up to each of its events.
func (w *world) anyMoment() {
	w.t.Helper()
	for _, m := range w.messages(broker.StreamEvents) {
		rep := w.replay(func(o *audit.Options) { o.Rules, o.Filter.To = false, m.Time })
		for _, f := range rep.Findings {
			w.t.Errorf("up to event %d: %+v", m.Seq, f)
		}
	}
}

// A processor that was stopped during a call goes on with it when it starts again: that is no job that never ended,
// however long ago it was.
func TestReplayOfAStoreAtRest(t *testing.T) {
	w := newWorld(t)
	called := make(chan struct{}, 1)
	model := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		called <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(model.Close)
	summarizer := w.config.Providers[config.ProviderSummarizer]
	summarizer.BaseURL, summarizer.MaxAttempts = model.URL, 1
	w.config.Providers[config.ProviderSummarizer] = summarizer

	p, err := processor.Open(t.Context(), processor.Options{Config: w.config, Logger: logger(t), Broker: w.broker})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	w.put([2]string{"tool.result.slow", `{"message_id":"m1","policy":"by-model","content":"` + strings.Repeat("compiled part\\n", 300) + `"}`})
	select {
	case <-called:
	case <-within(t).Done():
		t.Fatal("the model was not called")
	}
	stop()
	if err := errors.Join(<-done, p.Close(context.Background())); err != nil {
		t.Fatal(err)
	}

	rep := w.replay()
	if len(rep.Findings) != 1 || rep.Findings[0].Check != audit.CheckEnded {
		t.Errorf("without the store: %+v", rep.Findings)
	}
	store := w.store()
	clean(t, w.replay(func(o *audit.Options) { o.Store = store }))
}
