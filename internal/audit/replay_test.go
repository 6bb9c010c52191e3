package audit_test

import (
	"testing"

	"precis/internal/audit"
	"precis/internal/broker"
	"precis/internal/processor"
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
	w := newWorld(t)
	w.story()
	for _, m := range w.messages(broker.StreamEvents) {
		rep := w.replay(func(o *audit.Options) { o.Rules, o.Filter.To = false, m.Time })
		for _, f := range rep.Findings {
			t.Errorf("up to event %d: %+v", m.Seq, f)
		}
	}
}
