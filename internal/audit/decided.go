package audit

import (
	"fmt"
	"time"

	"precis/events"
	"precis/internal/fold"
	"precis/internal/thread"
	"precis/state"
)

// byEvent keeps a record that the current event decided.
func (a *auditor) byEvent(at scope, st *thread.State, r *onRecord) {
	r.borne = a.renewed(at, st, r.rec)
	if inv, ok := r.rec.(*events.Invalidated); ok && a.rules == nil {
		// Without the rules the fold does not say that a leaf gives messages back, which makes a history stale. The cause was
		// checked.
		r.borne = inv.Reason == events.ReasonSourceInvalidated
	}
	if sum, ok := r.rec.(*events.Summary); ok && sum.Kind == events.KindCompaction && a.rules == nil && !r.borne {
		r.met = true
		a.leaf(at, st, r, sum)
	}
	if job, ok := r.rec.(*events.Started); ok && job.Kind == events.KindCompaction {
		r.met = a.rules == nil
		a.pending(at, st, job)
	}
	if a.rules == nil && kindOf(r.rec) == events.KindHistory && !r.borne {
		r.met = true
		a.history(at, st, r, a.delivery())
	}
	a.here = append(a.here, r)
}

// elsewhere judges a record whose event is not the one being folded.
func (a *auditor) elsewhere(at scope, s *state.Staged, rec events.Record) {
	head := rec.Common()
	if head.EventSeq <= a.tally.retained.to() {
		a.tally.doubt(at, "removed by retention: the event that a record was decided at")
		return
	}
	reason, _ := reasonOf(rec)
	a.tally.find(at, Finding{
		Thread: events.OrNull(s.Thread), Summary: summaryOf(rec), Check: CheckTrigger, EventSeq: head.EventSeq,
		Want: fmt.Sprintf("event %d, which calls for it (%s)", head.EventSeq, reason),
		Got:  fmt.Sprintf("SUMMARIES %d, and no such event of the thread", s.Seq),
	})
}

// reasonOf is why a record was made, and whether an event triggered it.
func reasonOf(rec events.Record) (reason string, byEvent bool) {
	switch rec := rec.(type) {
	case *events.Summary:
		return rec.Trigger.Reason, eventTrigger(rec.Trigger.Reason)
	case *events.Started:
		return rec.Trigger.Reason, eventTrigger(rec.Trigger.Reason)
	case *events.Invalidated:
		switch rec.Reason {
		case events.ReasonSourceEdited, events.ReasonSourceDeleted:
			return rec.Reason, true
		}
		return rec.Reason, false
	}
	return "", false
}

func eventTrigger(reason string) bool {
	return reason != events.TriggerIdle && reason != events.TriggerRequested && reason != events.TriggerRegenerated
}

// decided compares what the fold decides with what is on record.
func (a *auditor) decided(at scope, s fold.Stepped, d events.Record) error {
	for _, r := range a.here {
		if !r.met && r.thread == s.State.Header.Thread && placeOf(r.rec) == placeOf(d) {
			r.met = true
			return a.same(at, r, d, s.Whole)
		}
	}
	return a.missed(at, s, d)
}

// placeOf is what a record is about, whatever it says: the slot that it fills, or the summary that it invalidates.
func placeOf(rec events.Record) string {
	switch rec := rec.(type) {
	case *events.Summary:
		return "slot " + rec.Slot
	case *events.Started:
		return "slot " + rec.Slot
	case *events.Invalidated:
		return "invalidates " + rec.SummaryID
	}
	return ""
}

// grace is how long a processor may take to record a decision before it counts as missing.
const grace = time.Minute

// missed notes a decision that is not on record.
func (a *auditor) missed(at scope, s fold.Stepped, d events.Record) error {
	behind, err := a.goesOn(at.thread)
	if err != nil {
		return err
	}
	if !behind && !a.endsBefore() && a.now.Sub(at.at) < grace {
		a.tally.late(at)
		return nil
	}
	if t, ok := triggerOf(d); ok && a.underOthers() && counted(t) {
		a.tally.doubt(at, doubtCounted)
		return nil
	}
	f := Finding{
		Thread: events.OrNull(at.thread), Summary: summaryOf(d), Check: CheckMissed, EventSeq: s.Delivery.Seq,
		Want: placeOf(d), Got: "not on record",
	}
	if rec, ok := d.(*events.Invalidated); ok {
		f.Check, f.Want = CheckInvalidations, fmt.Sprintf("summary.invalidated (%s)", rec.Reason)
	} else if reason, _ := reasonOf(d); reason != "" {
		f.Want += " by " + reason
	}
	a.tally.find(at, f)
	return nil
}

// goesOn reports whether a thread has staged records beyond those adopted.
func (a *auditor) goesOn(name string) (bool, error) {
	to, err := a.lane.part.StagedTo(name)
	if err != nil || to.ChainSeq == 0 {
		return false, err
	}
	h, err := a.lane.part.Header(name)
	return h != nil && to.ChainSeq > h.ChainSeq, err
}

// uncalled notes a record that its event does not justify.
func (a *auditor) uncalled(r *onRecord) {
	if r.borne {
		return
	}
	at := scope{thread: r.thread, policy: policyOf(r.rec), at: r.staged.Time}
	reason, _ := reasonOf(r.rec)
	if t, ok := triggerOf(r.rec); ok && a.underOthers() && counted(t) {
		a.tally.doubt(at, doubtCounted)
		return
	}
	a.tally.find(at, Finding{
		Thread: events.OrNull(r.thread), Summary: summaryOf(r.rec), Check: CheckTrigger, EventSeq: r.rec.Common().EventSeq,
		Want: "nothing decided: the event does not call for it under the configuration in force",
		Got:  fmt.Sprintf("%s (%s)", r.staged.Type, reason),
	})
}
