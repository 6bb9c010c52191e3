package audit_test

import (
	"fmt"
	"testing"

	"precis/events"
	"precis/internal/audit"
	"precis/internal/processor"
	"precis/state"
	"precis/summarize"
)

// The last event before a restart leads to a compaction, and the program comes back with a policy that
// compacts nothing: what the event led to belongs to the configuration before. A replay without rules, and a
// store made again from the log, must see it so.
func TestConfigurationBehindADecision(t *testing.T) {
	w := newWorld(t)
	w.run(func(*processor.Processor) {
		for i := range 13 {
			w.put([2]string{"thread.message.long", say(fmt.Sprintf("l%d", i), []string{"user", "assistant"}[i%2], fmt.Sprintf("Line %d of a long talk about main.go, and error E%d.", i, i))})
		}
	})
	w.config.Policies[0].Compaction.Trigger = summarize.Condition{}
	w.run(func(*processor.Processor) { w.put([2]string{"thread.message.long", say("l13", "user", "And now?")}) })
	behind := false
	for _, r := range w.rows(audit.Filter{Thread: "long"}, events.SummaryCreated) {
		behind = behind || r.Record.Common().EventSeq == 13
	}
	if !behind {
		t.Fatal("the last event before the change led to nothing")
	}
	store := w.store()
	clean(t, w.replay(func(o *audit.Options) { o.Store = store }))
	clean(t, w.replay(func(o *audit.Options) { o.Rules, o.Store = false, store }))
	_, err := w.compare(store, func(p state.Problem) {
		t.Errorf("%+v", p)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The program comes back with a policy under which the thread is due at once: it was not when its last event
// came, and the next one has it made.
func TestDueUnderTheNextConfiguration(t *testing.T) {
	w := newWorld(t)
	w.config.Policies[0].Compaction.Trigger = summarize.Condition{Messages: 100}
	w.run(func(*processor.Processor) {
		for i := range 20 {
			w.put([2]string{"thread.message.long", say(fmt.Sprintf("l%d", i), []string{"user", "assistant"}[i%2], fmt.Sprintf("Line %d of a long talk about main.go, and error E%d.", i, i))})
		}
	})
	w.config.Policies[0].Compaction.Trigger = summarize.Condition{Messages: 8}
	w.run(func(*processor.Processor) { w.put([2]string{"thread.message.long", say("l20", "user", "And now?")}) })
	for _, rules := range []bool{true, false} {
		clean(t, w.replay(func(o *audit.Options) { o.Rules = rules }))
	}
}
