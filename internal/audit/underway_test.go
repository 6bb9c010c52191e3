package audit_test

import (
	"fmt"
	"testing"
	"time"

	"precis/events"
	"precis/internal/audit"
	"precis/internal/broker"
	"precis/internal/processor"
)

// Beside a running processor the fold comes to jobs whose start is not on record yet. That is under way, for as
// long as a start may take, and then it is missing; it is never a job that has not ended.
func TestJobsNotOnRecordYet(t *testing.T) {
	w := newWorld(t)
	w.run(func(*processor.Processor) {
		w.put([2]string{"tool.result.model", output("m0", 80, `,"policy":"by-model"`)})
	})
	const jobs = 4
	for i := range jobs { // nobody works
		w.put([2]string{"tool.result.model", output(fmt.Sprintf("m%d", i+1), 80, "")})
	}
	for _, rules := range []bool{true, false} {
		rep := w.replay(func(o *audit.Options) { o.Rules, o.Now = rules, time.Now })
		clean(t, rep)
		if rep.Pending != jobs {
			t.Errorf("%d are under way, want %d", rep.Pending, jobs)
		}
		rep = w.replay(func(o *audit.Options) { o.Rules = rules })
		if len(rep.Findings) != jobs {
			t.Errorf("an hour later: %d findings, want %d", len(rep.Findings), jobs)
		}
		for _, f := range rep.Findings {
			if f.Check != audit.CheckMissed {
				t.Errorf("%+v", f)
			}
		}
	}
}

// A job that has started and has no end in time is a finding.
func TestJobsWithoutAnEnd(t *testing.T) {
	w := newWorld(t)
	w.run(func(*processor.Processor) {
		w.put([2]string{"tool.result.model", output("m0", 80, `,"policy":"by-model"`)})
	})
	list := w.messages(broker.StreamSummaries)
	w.rewrite(broker.StreamSummaries, list[:nth(t, list, events.SummaryStarted, "model", 0)+1])
	named(t, w.replay(), audit.CheckEnded, summaryIn(list, nth(t, list, events.SummaryStarted, "model", 0)))
}
