package audit_test

import (
	"testing"

	"precis/events"
	"precis/internal/processor"
	"precis/summarize"
)

// A policy that does not heed sources leaves a leaf as it was made when a message below it is edited. What is
// made above it later, by whoever, stands on what the message said then.
func TestUnheededEdit(t *testing.T) {
	w := newWorld(t)
	w.config.Policies[0].Staleness.On = []string{"policy"}
	w.config.Policies[0].Compaction.Trigger = summarize.Condition{Messages: 16}
	w.run(func(p *processor.Processor) {
		for i := range 12 {
			w.put(line(i, []string{"user", "assistant"}[i%2]))
		}
		if err := p.Settled(within(t)); err != nil {
			t.Fatal(err)
		}
		// No event calls for the leaf, so that nothing rehearses it.
		if id, err := p.Summarize(within(t), w.partition(p, "long"), "long", events.KindCompaction); err != nil || id == "" {
			t.Fatalf("summarize: %q, %v", id, err)
		}
		w.put([2]string{"message.edited.long", `{"message_id":"l1","content":"Never mind other_file.go and its TestOther."}`},
			[2]string{"message.edited.long", `{"message_id":"l2","deleted":true}`})
		for i := 14; i < 60; i++ {
			w.put(line(i, []string{"user", "assistant"}[i%2]))
		}
	})
	w.proved()
}

// partition is where a thread's events are.
func (w *world) partition(p *processor.Processor, name string) int {
	w.t.Helper()
	for id := range w.config.Partitions {
		h, err := p.View(id).Header(name)
		if err != nil {
			w.t.Fatal(err)
		}
		if h != nil {
			return id
		}
	}
	w.t.Fatalf("thread %q is nowhere", name)
	return 0
}
