package audit_test

import (
	"fmt"
	"slices"
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

// What is not on record seconds behind what was decided after it in its partition was removed, however recently; the last of a partition may be under
// way, and a thread's story says so.
func TestRemovedWithinTheLastMinute(t *testing.T) {
	w := newWorld(t)
	home := func(name string) int { return broker.PartitionOf(name, w.config.Partitions) }
	second := "b0"
	for i := 1; home(second) != home("first"); i++ {
		second = fmt.Sprint("b", i)
	}
	w.run(func(*processor.Processor) {
		w.put([2]string{"tool.result.first", output("m0", 80, "")}, [2]string{"tool.result." + second, output("m0", 80, "")})
	})
	list := w.messages(broker.StreamSummaries)
	soon := func() time.Time { return time.Now().Add(15 * time.Second) }
	now := func(o *audit.Options) { o.Now = soon }
	without := func(i int) []broker.Stored { return slices.Delete(slices.Clone(list), i, i+1) }

	at := nth(t, list, events.SummaryCreated, "first", 0)
	w.rewrite(broker.StreamSummaries, without(at))
	named(t, w.replay(now), audit.CheckMissed, "")

	w.rewrite(broker.StreamSummaries, without(nth(t, list, events.SummaryCreated, second, 0)))
	rep := w.replay(now)
	clean(t, rep)
	if rep.Pending != 1 {
		t.Errorf("%d are under way, want 1", rep.Pending)
	}
	w.scratch(func(o audit.Options) error {
		o.Now = soon
		s, err := audit.Tell(within(t), o, second, audit.Moment{})
		if err == nil && (s.Pending != 1 || len(s.Findings) > 0) {
			t.Errorf("its story has %d under way, and finds %v", s.Pending, s.Findings)
		}
		return err
	})
	named(t, w.replay(), audit.CheckMissed, "")
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
