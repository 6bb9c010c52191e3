package audit_test

import (
	"fmt"
	"strings"
	"testing"

	"precis/events"
	"precis/internal/audit"
	"precis/internal/broker"
	"precis/internal/processor"
	"precis/internal/race"
	"precis/state"
	"precis/summarize"
)

// varied is a log, with a thread of so many lines, with a record of nearly every kind: outputs by rules and by a model, edits and deletions, leaves,
// nodes, current summaries and histories.
func (w *world) varied(lines int) {
	p := &w.config.Policies[0]
	p.History = summarize.History{Enabled: true, EveryMessages: 10, MaxSummaryTokens: 60}
	p.Compaction.Trigger = summarize.Condition{Messages: 5}
	p.Compaction.Keep = summarize.Keep{Messages: 2}
	w.run(func(*processor.Processor) {
		w.put(
			[2]string{"tool.result.rules", output("r1", 80, "")},
			[2]string{"message.edited.rules", `{"message_id":"r1","edit_id":"e1","content":` + fmt.Sprintf("%q", strings.Repeat("another line\n", 150)) + `}`},
			[2]string{"message.edited.rules", `{"message_id":"r1","edit_id":"e2","deleted":true}`},
			[2]string{"tool.result.model", output("m1", 80, `,"policy":"by-model"`)},
		)
		for i := range lines {
			w.put(line(i, []string{"user", "assistant"}[i%2]))
			if i == 12 {
				w.put([2]string{"message.edited.long", `{"message_id":"l1","edit_id":"e3","content":"I was wrong."}`})
			}
		}
		w.put(
			[2]string{"message.edited.long", `{"message_id":"l7","edit_id":"e4","deleted":true}`},
			[2]string{"tool.result.rules", output("r2", 60, "")},
		)
	})
}

// rebuilt has a processor make its store anew from the streams, and returns it at rest.
func (w *world) rebuiltStore(work func(*processor.Processor)) *state.Store {
	w.t.Helper()
	w.config.DataDir = w.t.TempDir()
	w.run(work)
	s, err := state.Open(processor.StoreDir(w.config.DataDir), state.Options{Logger: logger(w.t)})
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// Any record may be gone: the store is made again all the same, the threads that the record was not about are what
// they were, and a replay names the gap.
func TestAnyRecordMissing(t *testing.T) {
	race.Slow(t)
	w := newWorld(t)
	w.varied(16)
	original := w.messages(broker.StreamSummaries)
	untouched := w.rebuiltStore(func(*processor.Processor) {})
	defer untouched.Close()
	for i, m := range original {
		if i%race.Fewer(5, 1) != 0 {
			continue
		}
		w.rewrite(broker.StreamSummaries, original)
		seq := w.messages(broker.StreamSummaries)[i].Seq
		if err := w.stream(broker.StreamSummaries).DeleteMsg(within(t), seq); err != nil {
			t.Fatal(err)
		}
		thread := m.Subject[strings.LastIndexByte(m.Subject, '.')+1:]
		if strings.HasPrefix(thread, "=") {
			thread = ""
		}
		what := fmt.Sprintf("without record %d (%s)", i+1, m.Header.Get("ce-id"))
		named(t, w.replay(func(o *audit.Options) { o.Rules = false }), audit.CheckSummaries, "")
		store := w.rebuiltStore(func(*processor.Processor) {})
		for id := range w.config.Partitions + 1 {
			err := untouched.Diff(store, id, func(p state.Problem) {
				if p.Thread != thread && !strings.HasPrefix(p.Check, "row u ") { // what the thread's calls cost is the provider's
					t.Errorf("%s: %s of thread %q: %s, was %s", what, p.Check, p.Thread, p.Got, p.Want)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		if t.Failed() {
			break
		}
	}
}

// What is missing is missing for good: events, edits of what it stood for and requests go on behind it.
func TestWorkGoesOnBehindAGap(t *testing.T) {
	for name, find := range map[string]func([]broker.Stored) int{
		"a leaf": func(l []broker.Stored) int { return slotAt(t, l, "leaf:", 1) },
		"a node": func(l []broker.Stored) int { return slotAt(t, l, "node:", 0) },
		"a leaf made again": func(l []broker.Stored) int {
			return nth(t, l, events.SummaryInvalidated, "long", 0) + 3
		},
		"an invalidation": func(l []broker.Stored) int { return nth(t, l, events.SummaryInvalidated, "long", 0) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.varied(36)
			list := w.messages(broker.StreamSummaries)
			if err := w.stream(broker.StreamSummaries).DeleteMsg(within(t), list[find(list)].Seq); err != nil {
				t.Fatal(err)
			}
			w.rebuiltStore(func(p *processor.Processor) {
				for i := range 24 {
					w.put([2]string{"message.edited.long", fmt.Sprintf(`{"message_id":"l%d","edit_id":"again","content":"changed %d"}`, i, i)}, line(100+i, "user"))
				}
				for id := range w.config.Partitions {
					if h, err := p.View(id).Header("long"); err != nil || h == nil {
						continue
					}
					if err := p.Settled(within(t)); err != nil {
						t.Fatal(err)
					}
					if _, err := p.Summarize(within(t), id, "long", events.KindCompaction); err != nil {
						t.Error(err)
					}
				}
			}).Close()
		})
	}
}

// slotAt is the place of the n-th record that was made for a kind of slot.
func slotAt(t testing.TB, list []broker.Stored, slot string, n int) int {
	t.Helper()
	for i, m := range list {
		if strings.HasPrefix(m.Subject, "summary.created.") && strings.Contains(string(m.Data), `"slot":"`+slot) {
			if n == 0 {
				return i
			}
			n--
		}
	}
	t.Fatalf("no such %s", slot)
	return -1
}
