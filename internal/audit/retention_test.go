package audit_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go/jetstream"

	"precis/events"
	"precis/internal/audit"
	"precis/internal/processor"
	"precis/internal/race"
	"precis/state"
	"precis/summarize"
)

// Where EVENTS no longer reaches back to its first event, a replay says from where it can prove what, finds
// nothing that is not wrong, and goes on; so do check, the story of a thread, and a store made again.
func TestRetention(t *testing.T) {
	race.Slow(t)
	w := newWorld(t)
	w.config.Retention.Events = 30 * time.Minute
	w.story()
	whole, store := w.messages("EVENTS"), w.store()
	for _, keep := range []uint64{2, 5, 7, 9, 12, 14, 20, 33, 39, uint64(len(whole)), uint64(len(whole)) + 1} {
		if err := w.stream("EVENTS").Purge(within(t), jetstream.WithPurgeSequence(keep)); err != nil {
			t.Fatal(err)
		}
		for _, rules := range []bool{true, false} {
			rep := w.replay(func(o *audit.Options) { o.Rules = rules })
			for _, f := range rep.Findings {
				t.Errorf("from event %d, rules %t: %+v", keep, rules, f)
			}
			if rep.Log.Whole || rep.Log.FirstSeq != keep {
				t.Errorf("from event %d: the log is said to be %+v", keep, rep.Log)
			}
		}
		rep := w.replay(func(o *audit.Options) { o.Store = store })
		for _, f := range rep.Findings {
			t.Errorf("from event %d, with the store: %+v", keep, f)
		}
		_, err := w.compare(store, func(p state.Problem) {
			t.Errorf("from event %d, check: %+v", keep, p)
		})
		if err != nil {
			t.Errorf("from event %d, check: %v", keep, err)
		}
	}
	if rep := w.replay(func(o *audit.Options) { o.Store = store }); rep.Log.Cut != 3 {
		t.Errorf("%d threads are said to have begun before: %+v", rep.Log.Cut, rep.Log)
	}
	w.config.DataDir = t.TempDir()
	w.run(func(*processor.Processor) {
		w.put([2]string{"thread.message.rules", say("u99", "user", "Still there?")})
	})
	rep := w.replay()
	for _, f := range rep.Findings {
		t.Errorf("made again: %+v", f)
	}
}

// What is whole is held as strictly as ever: the store knows which threads began before.
func TestRetentionExcusesNothingElse(t *testing.T) {
	w := newWorld(t)
	w.config.Retention.Events = 30 * time.Minute
	w.story()
	store := w.store()
	if err := w.stream("EVENTS").Purge(within(t), jetstream.WithPurgeSequence(15)); err != nil {
		t.Fatal(err)
	}
	list := w.messages("SUMMARIES")
	leaf, paid := nth(t, list, events.SummaryCreated, "long", 0), nth(t, list, events.UsageRecorded, "model", 0)
	list[leaf].Data = set(t, list[leaf].Data, map[string]any{"content": "They agreed."})
	list[paid].Data = set(t, list[paid].Data, map[string]any{"cost.amount_microusd": 1})
	reseal(t, list)
	w.rewrite("SUMMARIES", list)
	rep := w.replay(func(o *audit.Options) { o.Store = store })
	named(t, rep, audit.CheckRemade, summaryIn(list, leaf))
	named(t, rep, audit.CheckCost, summaryIn(list, paid))
	if rep.Log.Cut != 2 {
		t.Errorf("%d threads are said to have begun before", rep.Log.Cut)
	}
}

// A thread whose first event is gone keeps the policy that its agent has given it, when a lost store is made from what is left: its
// summaries are not stale, and go on as before.
func TestRetentionKeepsThePolicy(t *testing.T) {
	t.Run("nothing remains", func(t *testing.T) { retentionKeepsThePolicy(t, false) })
	t.Run("messages without the agent remain", func(t *testing.T) { retentionKeepsThePolicy(t, true) })
}

func retentionKeepsThePolicy(t *testing.T, remain bool) {
	t.Helper()
	w := newWorld(t)
	w.config.Retention.Events = 30 * time.Minute
	brief := w.config.Policies[0]
	brief.Name, brief.Match.AgentID, brief.ToolOutput.MaxSummaryChars = "brief", "b*", 300
	w.config.Policies = append([]summarize.Policy{brief}, w.config.Policies...)
	w.run(func(*processor.Processor) {
		if !remain {
			w.put([2]string{"tool.result.t", output("m1", 60, `,"agent_id":"b1"`)})
		} else {
			w.put([2]string{"thread.message.t", `{"message_id":"m1","role":"user","content":"begin","agent_id":"b1"}`}, [2]string{"thread.message.t", `{"message_id":"said","role":"user","content":"and the others"}`}, [2]string{"tool.result.t", output("m1b", 60, "")})
		}
	})
	var gone []jetstream.StreamPurgeOpt
	if remain {
		gone = append(gone, jetstream.WithPurgeSequence(2)) // all in front of it
	}
	if err := w.stream("EVENTS").Purge(within(t), gone...); err != nil {
		t.Fatal(err)
	}
	w.config.DataDir = t.TempDir()
	w.run(func(p *processor.Processor) {
		if err := errors.Join(p.Settled(within(t)), p.Tended(within(t))); err != nil {
			t.Fatal(err)
		}
		w.put([2]string{"tool.result.t", output("m2", 60, "")})
	})
	of := audit.Filter{Thread: "t"}
	if n := len(w.rows(of, events.SummaryInvalidated)); n != 0 {
		t.Errorf("%d summaries were invalidated", n)
	}
	var made events.Summary
	list := w.records()
	if err := json.Unmarshal(list[nth(t, list, events.SummaryCreated, "t", len(w.rows(of, events.SummaryCreated))-1)].Data, &made); err != nil || made.Policy != "brief" {
		t.Errorf("the next summary is by policy %q, %v", made.Policy, err)
	}
	clean(t, w.replay())
}

// A fork's records name summaries that it has by its thread.forked: without that event they can't be folded in, which is no discrepancy.
func TestRetentionOfForks(t *testing.T) {
	w := newWorld(t)
	w.config.Retention.Events = 30 * time.Minute
	w.run(func(*processor.Processor) {
		w.put([2]string{"tool.result.t", output("m1", 60, "")},
			[2]string{"thread.forked.f", `{"parent_thread_id":"t"}`},
			[2]string{"message.edited.f", `{"message_id":"m1","edit_id":"e","content":"Short."}`})
		for i, name := range []string{"long", "branch"} { // the branch's compaction stands on a leaf of the long one's
			if i > 0 {
				w.put([2]string{"thread.forked.branch", `{"parent_thread_id":"long"}`})
			}
			for n := range 13 {
				w.put([2]string{"thread.message." + name, say(fmt.Sprintf("%s%d", name, n), []string{"user", "assistant"}[n%2], fmt.Sprintf("Line %d of a long talk about main_%d.go, and about nothing else at all.", n, n))})
			}
		}
	})
	if n := len(w.rows(audit.Filter{Thread: "branch"}, events.SummaryCreated)); n < 2 {
		t.Fatalf("%d summaries were made in the branch", n)
	}
	if n := len(w.rows(audit.Filter{Thread: "f"}, events.SummaryInvalidated)); n != 1 {
		t.Fatalf("%d summaries were invalidated in the fork", n)
	}
	clean(t, w.replay())
	if err := w.stream("EVENTS").Purge(within(t)); err != nil {
		t.Fatal(err)
	}
	clean(t, w.replay())
}

// A fork that is in the log of a thread that has lost its beginning: what it began with is gone as well, and what it made of that excused.
func TestRetentionOfAForksParent(t *testing.T) {
	w := newWorld(t)
	w.config.Retention.Events = 30 * time.Minute
	w.run(func(p *processor.Processor) {
		for n := range 6 {
			w.put([2]string{"thread.message.quiet", say(fmt.Sprintf("q%d", n), "user", "A line of a thread without a record.")},
				[2]string{"thread.message.long", say(fmt.Sprintf("m%d", n), "user", "A line of a thread with a record.")})
		}
		w.put([2]string{"tool.result.long", output("m6", 60, "")},
			[2]string{"thread.forked.f", `{"parent_thread_id":"long","at_message_id":"m3"}`},
			[2]string{"thread.forked.ff", `{"parent_thread_id":"f"}`},
			[2]string{"thread.forked.g", `{"parent_thread_id":"quiet"}`})
		if err := p.Settled(within(t)); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"f", "ff", "g"} {
			if id, err := p.Summarize(within(t), w.partition(p, name), name, events.KindHistory); err != nil || id == "" {
				t.Fatalf("history %q of %s: %v", id, name, err)
			}
		}
	})
	clean(t, w.replay())
	if err := w.stream("EVENTS").Purge(within(t), jetstream.WithPurgeSequence(14)); err != nil {
		t.Fatal(err)
	}
	store := w.store()
	clean(t, w.replay())
	clean(t, w.replay(func(o *audit.Options) { o.Store = store }))
	for _, name := range []string{"f", "ff", "g"} {
		clean(t, w.replay(func(o *audit.Options) { o.Filter.Thread = name }))
	}
}
