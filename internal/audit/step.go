package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
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

// place is a slot of a thread.
type place struct{ thread, slot string }

// asked compares a compaction or a history that a request or the clock made with what there was to summarize then. What is made
// above a new leaf, or recomputed for it, follows from the leaf.
func (a *auditor) asked(at scope, st *thread.State, s *state.Staged, rec events.Record) {
	if a.renewed(at, st, rec) {
		return
	}
	switch rec := rec.(type) {
	case *events.Summary:
		switch {
		case rec.Kind == events.KindHistory:
			a.told(at, st, s, rec, rec.CreatedAt)
		case rec.Kind != events.KindCompaction || rec.Trigger.Reason == events.TriggerRegenerated:
			a.uncaused(at, rec)
		case rec.Level == 0 && rec.Version == 1:
			a.askedLeaf(at, st, s, rec)
		}
	case *events.Started:
		switch rec.Kind {
		case events.KindHistory:
			a.told(at, st, s, rec, a.current.Time)
		case events.KindCompaction:
			a.pending(at, st, rec)
		default:
			a.uncaused(at, rec)
		}
	}
}

// behind compares what the end of a job led to with what was due then: the job was superseded, or something fell due meanwhile.
func (a *auditor) behind(at scope, st *thread.State, s *state.Staged, rec events.Record) {
	slot, kind, _ := workOf(rec)
	due := a.again[place{at.thread, slot}]
	delete(a.again, place{at.thread, slot})
	job, started := rec.(*events.Started)
	switch {
	case due && a.inForce(st, rec):
		a.tally.holds(at, CheckTrigger)
	case started && kind == events.KindHistory && eventTrigger(job.Trigger.Reason):
		a.uncaused(at, rec)
	case started && kind == events.KindHistory:
		a.told(at, st, s, rec, a.current.Time)
	case started && kind == events.KindCompaction:
		a.pending(at, st, job)
	default:
		a.uncaused(at, rec)
	}
}

// told compares a history that no event called for with what there was to summarize.
func (a *auditor) told(at scope, st *thread.State, s *state.Staged, rec events.Record, made time.Time) {
	d := a.delivery()
	d.Seq, d.Time = rec.Common().EventSeq, made
	a.history(at, st, &onRecord{thread: s.Thread, rec: rec, staged: s}, d)
}

// workOf returns the slot, the kind and the trigger of a summary, or of the job that makes one; empty for any other record.
func workOf(rec events.Record) (slot, kind string, trigger events.Trigger) {
	switch rec := rec.(type) {
	case *events.Summary:
		return rec.Slot, rec.Kind, rec.Trigger
	case *events.Started:
		return rec.Slot, rec.Kind, rec.Trigger
	}
	return "", "", events.Trigger{}
}

// inForce reports whether a record was made under the policy that serves its thread.
func (a *auditor) inForce(st *thread.State, rec events.Record) bool {
	fingerprint := ""
	switch rec := rec.(type) {
	case *events.Summary:
		fingerprint = rec.PolicyFingerprint
	case *events.Started:
		fingerprint = rec.PolicyFingerprint
	}
	_, kind, _ := workOf(rec)
	p, _ := summarize.Resolve(a.lane.fold.Config().Policies, st.Header.Policy, st.Header.FirstAgentID, st.Header.Thread)
	return fingerprint == summarize.KindFingerprint(*p, kind)
}

// renewed reports whether a record recomputes a stale summary, which its slot still holds.
func (a *auditor) renewed(at scope, st *thread.State, rec events.Record) bool {
	slot, _, trigger := workOf(rec)
	held := st.Summary(st.Slot(slot).Holder)
	if trigger.Reason != events.TriggerRegenerated || held == nil || !held.Renew && held.Status != thread.Stale || !a.inForce(st, rec) {
		return false
	}
	a.tally.holds(at, CheckTrigger)
	return true
}

// askedLeaf compares a leaf that was requested, or made by the clock, with what could be summarized then.
func (a *auditor) askedLeaf(at scope, st *thread.State, s *state.Staged, rec *events.Summary) {
	d := a.delivery()
	d.Seq, d.Time = rec.EventSeq, rec.CreatedAt
	want, err := a.lane.fold.AskedLeaf(st, d, rec.Trigger)
	switch {
	case err != nil:
		a.tally.doubt(at, "a compaction whose messages can't be read")
		return
	case want == nil && a.byOthers(rec):
		a.tally.doubt(at, doubtCounted)
		return
	case want == nil:
		a.tally.find(at, a.finding(rec, CheckTrigger, "no compaction: there is not enough to summarize, or it has not been idle for so long", rec.Slot+" by "+showTrigger(rec.Trigger)))
		return
	}
	if a.byOthers(rec) && !a.sameSources(at, want, rec) {
		return
	}
	r := &onRecord{thread: s.Thread, rec: rec, staged: s}
	asSaid(want, rec)
	want.Current, want.Head = rec.Current, rec.Head
	want.ID = identity(at.thread, want.Kind, want.Slot, want.Version, want.SourceDigest, want.PolicyFingerprint, orNone(rec.RulesVersion), "")
	if err := a.compare(at, r, want, CheckTrigger); err != nil {
		a.tally.find(at, a.finding(rec, CheckReadable, "a record", err.Error()))
	}
	if rec.Trigger.Reason == events.TriggerIdle {
		a.idleFor(at, st, rec)
	}
}

// idleFor compares the idle time on record with the thread's last event.
func (a *auditor) idleFor(at scope, st *thread.State, rec *events.Summary) {
	idle := rec.CreatedAt.Sub(time.Unix(0, st.Header.LastAt))
	if said := time.Duration(*rec.Trigger.Value * float64(time.Second)); (said - idle).Abs() > time.Millisecond {
		a.tally.find(at, a.finding(rec, CheckTrigger, "idle for "+idle.String(), said.String()))
	}
}

// invalidated checks an invalidation against its cause.
func (a *auditor) invalidated(at scope, st *thread.State, s *state.Staged, rec *events.Invalidated) {
	sum := st.Summary(rec.SummaryID)
	if sum == nil {
		return // the fold refuses it
	}
	if sum.Status != thread.Active {
		a.tally.find(at, a.finding(rec, CheckCause, "an active summary", "one that is "+string(sum.Status)))
	}
	if want, got := a.causeOf(st, sum, rec); want != "" {
		a.tally.find(at, a.finding(rec, CheckCause, want, got))
	} else {
		a.tally.holds(at, CheckCause)
	}
	if want, err := a.lane.fold.MeanwhileOf(st, sum, rec); err == nil && want != cmp.Or(rec.Meanwhile, events.MeanwhileRaw) {
		a.tally.find(at, a.finding(rec, CheckCause, "meanwhile "+want, "meanwhile "+rec.Meanwhile))
	}
	a.caused(at, st, s, rec)
}

// causeOf returns what is wrong with a cause; want is empty if the cause justifies the invalidation.
func (a *auditor) causeOf(st *thread.State, sum *thread.Summary, rec *events.Invalidated) (want, got string) {
	switch rec.Reason {
	case events.ReasonSourceEdited, events.ReasonSourceDeleted:
		if id := orNone(rec.Cause.MessageID); !slices.Contains(sum.Sources, id) {
			return "a message that it was made from", fmt.Sprintf("message %q", id)
		}
	case events.ReasonSourceInvalidated:
		return a.causeSummary(st, sum, orNone(rec.Cause.SummaryID))
	case events.ReasonTTLExpired:
		if sum.ExpiresAt.IsZero() || rec.InvalidatedAt.Before(sum.ExpiresAt) {
			return fmt.Sprintf("not before it expires (%s)", sum.ExpiresAt), rec.InvalidatedAt.String()
		}
	case events.ReasonPolicyChanged, events.ReasonModelChanged:
		return a.causeSetting(st, sum, rec)
	case events.ReasonPromptChanged:
		if orNone(rec.Cause.Old) == orNone(rec.Cause.New) {
			return "a setting that has changed", orNone(rec.Cause.Setting) + " is as it was"
		}
	default:
		return "one of the contract's reasons", rec.Reason
	}
	return "", ""
}

// causeSetting compares the summary with the configuration in force, as the sweep did.
func (a *auditor) causeSetting(st *thread.State, sum *thread.Summary, rec *events.Invalidated) (want, got string) {
	show := func(inv *events.Invalidated) string {
		if inv == nil {
			return "nothing: the configuration in force has nothing against it"
		}
		return fmt.Sprintf("%s: %s from %q to %q", inv.Reason, orNone(inv.Cause.Setting), orNone(inv.Cause.Old), orNone(inv.Cause.New))
	}
	inv, err := a.lane.fold.Outdated(st, sum)
	if want, got = show(inv), show(rec); err != nil || want != got {
		return want, got
	}
	return "", ""
}

func (a *auditor) causeSummary(st *thread.State, sum *thread.Summary, id string) (want, got string) {
	if !slices.Contains(sum.SourceSums, id) {
		return "a summary that it was made from", fmt.Sprintf("summary %q", id)
	}
	from, err := a.lane.part.Summary(st.Header.Thread, id)
	if err != nil || from == nil || from.Status == thread.Active {
		return "summary " + id + " invalidated before", "it is active"
	}
	return "", ""
}

// policyOfRow is the policy under which a summary was made.
func policyOfRow(sum *thread.Summary) string {
	rec, err := readSummary(sum.Record)
	if err != nil {
		return ""
	}
	return rec.Policy
}
