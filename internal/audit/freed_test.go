package audit_test

import (
	"os"
	"testing"

	"precis/events"
	"precis/internal/processor"
	"precis/internal/thread"
	"precis/summarize"
)

// What became stale and is not made again by itself is made when somebody asks for it, also where there is nothing
// more to summarize: a thread whose prompt is refused is freed so. What is made is proved, and made once.
func TestARequestMakesAgainWhatIsStale(t *testing.T) {
	for name, by := range map[string]struct{ mode, action string }{
		"trim": {summarize.ModeRules, events.ActionTrim}, "fail": {summarize.ModeRules, events.ActionFail},
		"fail, by a model": {summarize.ModeLLM, events.ActionFail},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			policy := &w.config.Policies[0]
			policy.Mode, policy.Staleness.Action = by.mode, by.action
			policy.Compaction.Trigger = summarize.Condition{Messages: 15}
			policy.Compaction.Keep = summarize.Keep{Messages: 5}
			w.run(func(p *processor.Processor) {
				for i := range 24 {
					w.put(line(i, []string{"user", "assistant"}[i%2]))
				}
				compaction, history := w.ask(p, events.KindCompaction), w.ask(p, events.KindHistory)
				if compaction == "" || history == "" {
					t.Fatalf("asked for what is not there: %q, %q", compaction, history)
				}
				w.put([2]string{"message.edited.long", `{"message_id":"l3","content":"Another line about brig.go."}`})
				if err := p.Settled(within(t)); err != nil {
					t.Fatal(err)
				}
				if _, h := w.home(p); h.SummariesStale < 3 {
					t.Fatalf("%d summaries are stale behind an edit, want a leaf, what is made from it, and the history", h.SummariesStale)
				}
				told := w.ask(p, events.KindHistory)
				if told == "" || told == history {
					t.Errorf("history %q, behind %q that is stale", told, history)
				}
				made := w.ask(p, events.KindCompaction)
				if made == "" || made == compaction {
					t.Errorf("compaction %q, behind %q that is stale", made, compaction)
				}
				if again := w.ask(p, events.KindCompaction); again != made {
					t.Errorf("asked again: %q behind %q", again, made)
				}
				w.put([2]string{"message.edited.long", `{"message_id":"l3","content":"One more line, about barge.go."}`})
				if again := w.ask(p, events.KindCompaction); again == "" || again == made {
					t.Errorf("compaction %q, behind %q that is stale once more", again, made)
				}
			})
			w.proved()
			made := len(w.records())
			if err := os.RemoveAll(processor.StoreDir(w.config.DataDir)); err != nil {
				t.Fatal(err)
			}
			w.run(func(*processor.Processor) {})
			if again := len(w.records()); again != made {
				t.Errorf("%d records behind a recovery, %d before", again, made)
			}
			w.proved()
		})
	}
}

// ask asks for a summary of the thread "long".
func (w *world) ask(p *processor.Processor, kind string) string {
	w.t.Helper()
	if err := p.Settled(within(w.t)); err != nil {
		w.t.Fatal(err)
	}
	partition, _ := w.home(p)
	id, err := p.Summarize(within(w.t), partition, "long", kind)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := p.Settled(within(w.t)); err != nil {
		w.t.Fatal(err)
	}
	return id
}

// home is where the thread "long" is, and its header.
func (w *world) home(p *processor.Processor) (int, *thread.Header) {
	w.t.Helper()
	for id := range p.Partitions() {
		h, err := p.View(id).Header("long")
		if err != nil {
			w.t.Fatal(err)
		}
		if h != nil {
			return id, h
		}
	}
	w.t.Fatal("no thread")
	return 0, nil
}
