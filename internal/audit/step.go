package audit

import (
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/internal/thread"
	"precis/state"
	"precis/summarize"
)

// doubtCutStep: a server that lost unsynced writes may hold only the first records of a step.
const doubtCutStep = "SUMMARIES lacks the last records of a step"

// lastStep is the last record of a partition, and its place in its step.
type lastStep struct {
	scope
	staged *state.Staged // nil if there is none
	step   events.Step
}

// inStep checks a record's place in its step against the record before it in the thread's chain, which is not broken here.
func (a *auditor) inStep(at scope, s *state.Staged) {
	var head events.Head
	if json.Unmarshal(s.Data, &head) != nil {
		a.last = lastStep{}
		return
	}
	want := 1
	if was := a.last.staged; was != nil && head.Step.Index > 1 && a.last.step.Cause == head.Step.Cause &&
		was.Thread == s.Thread && was.ChainSeq+1 == s.ChainSeq && was.EffectiveSeq == s.EffectiveSeq {
		want = a.last.step.Index + 1
	} else {
		a.stepEnds()
	}
	a.last = lastStep{scope: at, staged: s, step: head.Step}
	if head.Step.Index == want {
		a.tally.holds(at, CheckStep)
		return
	}
	a.findAt(at, s, CheckStep, fmt.Sprintf("record %d of its step", want), fmt.Sprintf("%s (SUMMARIES %d)", showStep(head.Step), s.Seq))
}

// stepEnds notes where the last record read should not have been the last of its step.
func (a *auditor) stepEnds() {
	if a.last.staged != nil && a.last.staged.Left > 0 {
		a.tally.doubt(a.last.scope, doubtCutStep)
	}
	a.last = lastStep{}
}

// causes are the causes whose steps can decide such a record of a thread.
func causes(st *thread.State, rec events.Record) []events.StepCause {
	switch rec := rec.(type) {
	case *events.Summary, *events.Started:
		list := []events.StepCause{events.ByResult}
		w := workOf(rec)
		switch w.trigger.Reason {
		case events.TriggerRequested:
			list = append(list, events.ByRequest)
		case events.TriggerRegenerated:
			list = append(list, events.ByEvent, events.ByRequest)
		case events.TriggerIdle:
			if w.kind == events.KindCompaction {
				list = append(list, events.ByIdle)
			}
		default:
			list = append(list, events.ByEvent)
		}
		if w.kind == events.KindCompaction && !events.IsLeaf(w.slot) {
			list = append(list, events.ByRecovery) // which makes what stands above a leaf
		}
		return list
	case *events.Failed:
		if job := st.Job(rec.SummaryID); job != nil && job.Started.Model == nil { // a summary by rules that is too large fails at once
			return []events.StepCause{events.ByEvent, events.ByRequest, events.ByIdle, events.ByResult, events.ByRecovery}
		}
		return []events.StepCause{events.ByResult}
	case *events.UsageRecord:
		return []events.StepCause{events.ByResult, events.ByRecovery}
	case *events.Invalidated:
		switch rec.Reason {
		case events.ReasonPolicyChanged, events.ReasonPromptChanged, events.ReasonModelChanged:
			return []events.StepCause{events.BySweep}
		case events.ReasonTTLExpired:
			return []events.StepCause{events.ByExpiry}
		case events.ReasonSourceInvalidated:
			return []events.StepCause{events.ByEvent, events.ByRequest, events.BySweep, events.ByExpiry, events.ByRecovery}
		}
		return []events.StepCause{events.ByEvent, events.ByRecovery}
	case *events.Config:
		if rec.AcceptedLoss != nil {
			return []events.StepCause{events.ByConfiguration, events.ByRecovery}
		}
		return []events.StepCause{events.ByConfiguration}
	}
	return nil
}

// uncaused notes a record that the cause of its step can't justify.
func (a *auditor) uncaused(r *onRecord) { a.find(r, CheckStep, otherCause, saidCause(r)) }

// unfounded notes a record that the cause of its step does not justify, as the thread stands.
func (a *auditor) unfounded(r *onRecord) { a.findOfState(r, CheckStep, otherCause, saidCause(r)) }

const otherCause = "another cause, or no such record"

func saidCause(r *onRecord) string {
	reason := reasonOf(r.rec)
	if reason == "" {
		reason = fmt.Sprintf("%T", r.rec)
	}
	return fmt.Sprintf("%s by %q", reason, r.rec.Common().Step.Cause)
}

// caused checks that a record follows from the cause of its step. What an event decided is kept until the fold makes its own
// decision there.
func (a *auditor) caused(r *onRecord) {
	head := r.rec.Common()
	cause := head.Step.Cause
	if !slices.Contains(causes(r.st, r.rec), cause) {
		a.uncaused(r)
		return
	}
	w := workOf(r.rec)
	here := head.EventSeq == a.current.Seq && head.EffectiveSeq == a.current.Seq
	switch {
	case cause == events.ByEvent && !here:
		a.elsewhere(r)
	case cause == events.ByEvent:
		if _, failed := r.rec.(*events.Failed); !failed { // its start is the decision
			a.byEvent(r, w)
		}
	case cause == events.ByRecovery:
		if w.started && w.kind == events.KindCompaction {
			a.pending(r)
		}
		if r.borne = true; here { // it may make up for what the event decided
			a.here = append(a.here, r)
		}
	case w.kind == "":
	case cause == events.ByResult && a.dueAgain(r, w):
		a.tally.holds(r.scope, CheckTrigger)
	case cause == events.ByResult && (!w.started || w.kind == events.KindHistory && w.byEvent()):
		a.unfounded(r)
	case cause != events.ByResult && a.renewed(r, w):
	case w.kind == events.KindHistory && w.started:
		a.history(r, w, a.current.Time)
	case w.kind == events.KindHistory:
		a.history(r, w, r.rec.(*events.Summary).CreatedAt)
	case w.kind != events.KindCompaction:
		a.unfounded(r)
	case w.started:
		a.pending(r)
	default:
		a.asked(r, r.rec.(*events.Summary))
	}
}

// place is a slot of a thread.
type place struct{ thread, slot string }

// dueAgain reports whether the end of a job made a slot due another decision: the job was superseded, or something fell due
// meanwhile.
func (a *auditor) dueAgain(r *onRecord, w work) bool {
	at := place{r.thread, w.slot}
	due := a.again[at]
	delete(a.again, at)
	return due && a.inForce(r, w)
}

// work is what a summary, or the job that makes one, fills and why; it is zero for any other record.
type work struct {
	slot, kind, fingerprint string
	trigger                 events.Trigger
	started                 bool // it is a job
}

func workOf(rec events.Record) work {
	switch rec := rec.(type) {
	case *events.Summary:
		return work{slot: rec.Slot, kind: rec.Kind, fingerprint: rec.PolicyFingerprint, trigger: rec.Trigger}
	case *events.Started:
		return work{slot: rec.Slot, kind: rec.Kind, fingerprint: rec.PolicyFingerprint, trigger: rec.Trigger, started: true}
	}
	return work{}
}

// byEvent reports whether an event triggered it.
func (w work) byEvent() bool {
	switch w.trigger.Reason {
	case events.TriggerIdle, events.TriggerRequested, events.TriggerRegenerated:
		return false
	}
	return true
}

// inForce reports whether a record was made under the policy that serves its thread.
func (a *auditor) inForce(r *onRecord, w work) bool {
	return w.fingerprint == summarize.KindFingerprint(*a.policyOf(r.st), w.kind)
}

// policyOf is the policy that serves a thread.
func (a *auditor) policyOf(st *thread.State) *summarize.Policy {
	h := &st.Header
	p, _ := summarize.Resolve(a.lane.fold.Config().Policies, h.Policy, h.FirstAgentID, h.Thread)
	return p
}

// renewed reports whether a record recomputes a stale summary, which its slot still holds.
func (a *auditor) renewed(r *onRecord, w work) bool {
	held := r.st.Summary(r.st.Slot(w.slot).Holder)
	if w.trigger.Reason != events.TriggerRegenerated || held == nil || !held.Renew && held.Status != thread.Stale || !a.inForce(r, w) {
		return false
	}
	a.tally.holds(r.scope, CheckTrigger)
	return true
}

// asked compares a compaction that a request or the clock made with what there was to summarize then. What is made above a new
// leaf, or recomputed for it, follows from the leaf.
func (a *auditor) asked(r *onRecord, rec *events.Summary) {
	if rec.Trigger.Reason == events.TriggerRegenerated {
		a.unfounded(r)
		return
	}
	if rec.Level > 0 || rec.Version > 1 {
		return
	}
	d := deliveryOf(a.current)
	d.Seq, d.Time = rec.EventSeq, rec.CreatedAt
	want, err := a.lane.fold.AskedLeaf(r.st, d, rec.Trigger)
	if a.leaf(r, rec, want, err, "there is not enough to summarize, or it has not been idle for so long") && rec.Trigger.Reason == events.TriggerIdle {
		a.idleFor(r, rec)
	}
}

// idleFor compares the idle time on record with the thread's last event.
func (a *auditor) idleFor(r *onRecord, rec *events.Summary) {
	idle := rec.CreatedAt.Sub(time.Unix(0, r.st.Header.LastAt))
	if said := time.Duration(*rec.Trigger.Value * float64(time.Second)); (said - idle).Abs() > time.Millisecond {
		a.find(r, CheckTrigger, "idle for "+idle.String(), said.String())
	}
}
