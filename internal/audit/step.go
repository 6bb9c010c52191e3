package audit

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/internal/thread"
	"precis/state"
)

// doubtCutStep: a server that lost unsynced writes may hold only the first records of a step.
const doubtCutStep = "SUMMARIES lacks the last records of a step"

// lastStep is the last record of a partition, and its place in its step.
type lastStep struct {
	at        scope
	chainSeq  uint64
	effective uint64
	step      events.Step
	left      int
}

// inStep checks a record's place in its step against the record before it in the thread's chain, which is not broken here.
func (a *auditor) inStep(at scope, s *state.Staged) {
	var head events.Head
	if json.Unmarshal(s.Data, &head) != nil {
		a.last = lastStep{}
		return
	}
	was, want := a.last, 1
	if head.Step.Index > 1 && was.step.Cause == head.Step.Cause && was.at.thread == s.Thread && was.chainSeq+1 == s.ChainSeq && was.effective == s.EffectiveSeq {
		want = was.step.Index + 1
	} else {
		a.stepEnds()
	}
	a.last = lastStep{at: at, chainSeq: s.ChainSeq, effective: s.EffectiveSeq, step: head.Step, left: s.Left}
	if head.Step.Index == want {
		a.tally.holds(at, CheckStep)
		return
	}
	a.tally.find(at, Finding{
		Thread: events.OrNull(s.Thread), Summary: events.OrNull(idOf(s.Data)), Check: CheckStep, EventSeq: s.EffectiveSeq,
		Want: fmt.Sprintf("record %d of its step", want), Got: fmt.Sprintf("record %d of a step by %q (SUMMARIES %d)", head.Step.Index, head.Step.Cause, s.Seq),
	})
}

// stepEnds notes where the last record read should not have been the last of its step.
func (a *auditor) stepEnds() {
	if a.last.left > 0 {
		a.tally.doubt(a.last.at, doubtCutStep)
	}
	a.last = lastStep{}
}

// decides reports whether a step of a cause can decide such a record of a thread.
func decides(cause events.StepCause, st *thread.State, rec events.Record) bool {
	switch rec := rec.(type) {
	case *events.Summary, *events.Started:
		slot, kind, trigger := workOf(rec)
		switch cause {
		case events.ByEvent:
			return trigger.Reason != events.TriggerRequested && trigger.Reason != events.TriggerIdle
		case events.ByRequest:
			return trigger.Reason == events.TriggerRequested || trigger.Reason == events.TriggerRegenerated
		case events.ByIdle:
			return trigger.Reason == events.TriggerIdle && kind == events.KindCompaction
		case events.ByResult:
			return true
		case events.ByRecovery: // which makes what stands above a leaf
			return kind == events.KindCompaction && !strings.HasPrefix(slot, "leaf:")
		}
	case *events.Failed:
		if job := st.Job(rec.SummaryID); job != nil && job.Started.Model == nil { // a summary by rules that is too large fails at once
			return cause != events.BySweep && cause != events.ByExpiry && cause != events.ByConfiguration
		}
		return cause == events.ByResult
	case *events.UsageRecord:
		return cause == events.ByResult || cause == events.ByRecovery
	case *events.Invalidated:
		switch rec.Reason {
		case events.ReasonPolicyChanged, events.ReasonPromptChanged, events.ReasonModelChanged:
			return cause == events.BySweep
		case events.ReasonTTLExpired:
			return cause == events.ByExpiry
		case events.ReasonSourceInvalidated:
			return cause == events.ByEvent || cause == events.ByRequest || cause == events.BySweep || cause == events.ByExpiry || cause == events.ByRecovery
		}
		return cause == events.ByEvent || cause == events.ByRecovery
	case *events.Config:
		return cause == events.ByConfiguration || cause == events.ByRecovery && rec.AcceptedLoss != nil
	}
	return false
}

// uncaused notes a record that the cause of its step does not justify.
func (a *auditor) uncaused(at scope, rec events.Record) {
	reason, _ := reasonOf(rec)
	if reason == "" {
		reason = fmt.Sprintf("%T", rec)
	}
	a.tally.find(at, a.finding(rec, CheckStep, "another cause, or no such record", fmt.Sprintf("%s by %q", reason, rec.Common().Step.Cause)))
}

// caused checks that a record follows from the cause of its step. What an event decided is kept until the fold makes its own
// decision there.
func (a *auditor) caused(at scope, st *thread.State, s *state.Staged, rec events.Record) {
	head := rec.Common()
	if !decides(head.Step.Cause, st, rec) {
		a.uncaused(at, rec)
		return
	}
	here := head.EventSeq == a.current.Seq && head.EffectiveSeq == a.current.Seq
	switch head.Step.Cause {
	case events.ByEvent:
		if !here {
			a.elsewhere(at, s, rec)
			return
		}
		if _, failed := rec.(*events.Failed); failed {
			return // its start is the decision
		}
		a.byEvent(at, st, &onRecord{thread: s.Thread, rec: rec, staged: s})
	case events.ByRequest, events.ByIdle:
		a.asked(at, st, s, rec)
	case events.ByResult:
		if _, kind, _ := workOf(rec); kind != "" {
			a.behind(at, st, s, rec)
		}
	case events.ByRecovery:
		if job, ok := rec.(*events.Started); ok && job.Kind == events.KindCompaction {
			a.pending(at, st, job)
		}
		if here { // it may make up for what the event decided
			a.here = append(a.here, &onRecord{thread: s.Thread, rec: rec, staged: s, borne: true})
		}
	}
}
