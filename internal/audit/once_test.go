package audit_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"precis/events"
	"precis/internal/audit"
	"precis/internal/broker"
	"precis/internal/config"
	"precis/internal/processor"
	"precis/state"
	"precis/summarize"
)

// leaves are the leaves on record, by the event that they were made at.
func (w *world) leaves() map[uint64]int {
	w.t.Helper()
	made := map[uint64]int{}
	for _, r := range w.rows(audit.Filter{Thread: "long"}, events.SummaryCreated) {
		if sum := r.Record.(*events.Summary); sum.Kind == events.KindCompaction && sum.Level == 0 {
			made[sum.EventSeq]++
		}
	}
	return made
}

// A configuration under which two cuts are due: before a user message, which is preferred, and behind it enough
// for another one. One event makes one of them, live, in a replay, and in a recovery from what is on record.
func TestAnEventCutsOnce(t *testing.T) {
	w := newWorld(t)
	roles := map[int]string{0: "user", 7: "user"}
	role := func(i int) string {
		if r := roles[i]; r != "" {
			return r
		}
		return "assistant"
	}
	w.config.Policies[0].Compaction.Trigger = summarize.Condition{Tokens: 100_000}
	w.run(func(*processor.Processor) {
		for i := range 14 {
			w.put(line(i, role(i)))
		}
	})
	w.config.Policies[0].Compaction.Trigger = summarize.Condition{Tokens: 60}
	w.run(func(*processor.Processor) { w.put(line(14, "assistant")) })
	if made := w.leaves(); made[15] != 1 || len(made) != 1 {
		t.Fatalf("leaves by event: %v, want one at the 15th", made)
	}
	w.proved()

	if err := os.RemoveAll(processor.StoreDir(w.config.DataDir)); err != nil {
		t.Fatal(err)
	}
	w.run(func(*processor.Processor) {})
	if made := w.leaves(); len(made) != 1 || made[15] != 1 {
		t.Errorf("leaves by event behind a recovery: %v, want one at the 15th", made)
	}
	w.run(func(*processor.Processor) { w.put(line(15, "assistant")) })
	if made := w.leaves(); made[16] != 1 {
		t.Errorf("leaves by event: %v, want the second one at the 16th", made)
	}
	w.proved()
}

// A thread has more that waits to be made again than one event makes. A prompt that is asked for makes the rest,
// behind the event: what the thread is due then is the next event's to make, and not missing.
func TestRenewalBehindItsEvent(t *testing.T) {
	w := newWorld(t)
	w.run(func(p *processor.Processor) {
		for i := range 100 {
			w.put(line(i, []string{"user", "assistant"}[i%2]))
		}
		if err := p.Settled(within(t)); err != nil {
			t.Fatal(err)
		}
		next := *w.config
		next.Policies = append([]summarize.Policy(nil), next.Policies...)
		next.Policies[0].Compaction.MaxSummaryTokens = 300
		next.Policies[0].Compaction.Trigger = summarize.Condition{Messages: 2}
		w.config = &next
		if err := p.Reload(within(t), &next); err != nil {
			t.Fatal(err)
		}
		if err := p.Tended(within(t)); err != nil {
			t.Fatal(err)
		}
		w.put([2]string{"tool.result.long", output("l100", 80, "")}) // it calls for something of its own
		if err := p.Settled(within(t)); err != nil {
			t.Fatal(err)
		}
		id := w.partition(p, "long")
		h, err := p.View(id).Header("long")
		if err != nil || h.RenewCompactions == 0 {
			t.Fatalf("%+v, %v: nothing is left to be made again", h, err)
		}
		p.Renew(id, "long", nil)
		if err := p.Tended(within(t)); err != nil {
			t.Fatal(err)
		}
		if h, err = p.View(id).Header("long"); err != nil || h.RenewCompactions > 0 {
			t.Fatalf("%+v, %v: some are left to be made again", h, err)
		}
	})
	w.proved()
	w.run(func(*processor.Processor) { w.put(line(101, "assistant")) })
	w.proved()
}

// partitionOf is where an event is stored.
func partitionOf(m broker.Stored) string {
	partition, _, _ := strings.Cut(m.Subject, ".")
	return partition
}

// cutShort has a processor catch up and ask a model, and then ends it.
func (w *world) cutShort(asked <-chan struct{}, work func()) {
	w.t.Helper()
	p, err := processor.Open(w.t.Context(), processor.Options{Config: w.config, Logger: logger(w.t), Broker: w.broker, BulkFrom: w.bulkFrom})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(w.t.Context())
	defer stop()
	ran := make(chan error, 1)
	go func() { ran <- p.Run(ctx) }()
	work()
	for _, awaited := range []<-chan struct{}{p.Ready(), asked} {
		select {
		case <-awaited:
		case err := <-ran:
			w.t.Fatal(err)
		case <-within(w.t).Done():
			w.t.Fatal("not caught up, or no model is asked")
		}
	}
	stop()
	if err := errors.Join(<-ran, p.Close(context.Background())); err != nil {
		w.t.Fatal(err)
	}
}

// A job that ends by the rules behind a restart takes effect where the configuration did, beyond its partition's
// last event. The next event edits its source: the rules make the summary again from what it was before.
func TestJobThatEndsBetweenTwoEvents(t *testing.T) {
	w := newWorld(t)
	asked, refuse := make(chan struct{}, 1), make(chan struct{})
	model := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		select {
		case <-refuse:
			rw.WriteHeader(http.StatusUnauthorized) // no other try: the rules serve
		default:
			_, _ = io.Copy(io.Discard, r.Body) // or nobody notices that the other side goes
			asked <- struct{}{}
			<-r.Context().Done()
		}
	}))
	t.Cleanup(model.Close)
	provider := w.config.Providers[config.ProviderSummarizer]
	provider.BaseURL = model.URL
	w.config.Providers = map[string]config.Provider{config.ProviderSummarizer: provider}
	put := func(typ, name, data string) { w.put([2]string{typ + "." + name, data}) }

	w.cutShort(asked, func() {
		put("tool.result", "long", output("r1", 80, `,"policy":"by-model"`))
		for i := range 20 { // until one is in another partition
			put("thread.message", fmt.Sprintf("other-%d", i), say("m", "user", "Is it done?"))
			if list := w.messages(broker.StreamEvents); partitionOf(list[0]) != partitionOf(list[len(list)-1]) {
				break
			}
		}
	})
	w.bulkFrom = 1 // then a partition's position follows the log
	w.cutShort(asked, func() {})

	close(refuse)
	w.config.Limits.PendingEditEvents++ // so that another configuration is in force
	w.run(func(*processor.Processor) {})
	made := w.rows(audit.Filter{Thread: "long"}, events.SummaryCreated)
	if len(made) != 1 || made[0].Record.(*events.Summary).Method != events.MethodRules {
		t.Fatalf("%+v, want one summary by rules", made)
	}
	list := w.messages(broker.StreamEvents)
	if at := made[0].Record.Common().EffectiveSeq; partitionOf(list[at-1]) == partitionOf(list[0]) {
		t.Fatalf("it took effect at event %d, of its own partition", at)
	}
	w.run(func(*processor.Processor) {
		put("message.edited", "long", `{"message_id":"r1","content":"never mind"}`)
	})
	w.proved()
}

// What SUMMARIES holds ends behind a leaf, and the store is lost: what follows from the leaf is made for the
// leaf's own reason.
func TestRecordEndsBehindALeaf(t *testing.T) {
	w := newWorld(t)
	w.run(func(*processor.Processor) {
		for i := range 14 {
			w.put(line(i, []string{"user", "assistant"}[i%2]))
		}
	})
	list := w.messages(broker.StreamSummaries)
	end := slices.IndexFunc(list, func(m broker.Stored) bool { return strings.Contains(string(m.Data), `"slot":"leaf:`) })
	if end < 0 || end == len(list)-1 {
		t.Fatalf("record %d of %d is a leaf", end, len(list))
	}
	before := len(w.records())
	w.rewrite(broker.StreamSummaries, list[:end+1])
	if err := os.RemoveAll(processor.StoreDir(w.config.DataDir)); err != nil {
		t.Fatal(err)
	}
	w.run(func(*processor.Processor) {})
	if again := w.records(); len(again) != before {
		t.Errorf("%d records, want %d as before", len(again), before)
	}
	w.proved()
}

// The current summary is stale for good, and a leaf under it is made again later: an event that makes the leaf
// does not make the current one, and neither does a fold of what is on record.
func TestLeafUnderAStaleCurrent(t *testing.T) {
	w := newWorld(t)
	w.config.Policies[0].Staleness.Action = events.ActionFail
	w.run(func(p *processor.Processor) {
		for i := range 26 {
			w.put(line(i, []string{"user", "assistant"}[i%2]))
		}
		w.put([2]string{"message.edited.long", `{"message_id":"l1","content":"other words"}`})
		if err := p.Settled(within(t)); err != nil {
			t.Fatal(err)
		}
		next := *w.config
		next.Policies = slices.Clone(next.Policies)
		next.Policies[0].Staleness.Action = events.ActionRegenerate
		w.config = &next
		if err := p.Reload(within(t), &next); err != nil {
			t.Fatal(err)
		}
		w.put([2]string{"message.edited.long", `{"message_id":"l14","content":"other words"}`})
	})
	store := w.store()
	_, err := w.compare(store, func(p state.Problem) {
		t.Errorf("%+v", p)
	})
	if err != nil {
		t.Fatal(err)
	}
	made := w.rows(audit.Filter{Thread: "long"}, events.SummaryCreated)
	if last := made[len(made)-1].Record.(*events.Summary); last.Level > 0 || last.Trigger.Reason != events.TriggerRegenerated {
		t.Fatalf("%s by %s is the last one made, want a leaf made again", last.Slot, last.Trigger.Reason)
	}
	w.proved()
}
