package audit

import (
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/internal/fold"
	"precis/internal/thread"
	"precis/state"
)

// byEvent keeps a record that the current event decided.
func (a *auditor) byEvent(at scope, st *thread.State, r *onRecord) {
	_, kind, _ := workOf(r.rec)
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
	if kind == events.KindHistory && a.rules == nil && !r.borne {
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
	if _, _, t := workOf(d); a.underOthers() && counted(t) {
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
	if _, _, t := workOf(r.rec); a.underOthers() && counted(t) {
		a.tally.doubt(at, doubtCounted)
		return
	}
	a.tally.find(at, Finding{
		Thread: events.OrNull(r.thread), Summary: summaryOf(r.rec), Check: CheckTrigger, EventSeq: r.rec.Common().EventSeq,
		Want: "nothing decided: the event does not call for it under the configuration in force",
		Got:  fmt.Sprintf("%s (%s)", r.staged.Type, reason),
	})
}

// leaf compares a compaction with what was due in its thread, if the rules are not run again. What is made above a new
// leaf, or recomputed below it, follows from the leaf.
func (a *auditor) leaf(at scope, st *thread.State, r *onRecord, rec *events.Summary) {
	if rec.Level > 0 || rec.Version > 1 {
		return
	}
	want, err := a.lane.fold.DueLeaf(st, a.delivery())
	switch {
	case err != nil:
		a.tally.doubt(at, "a compaction whose messages can't be read")
		return
	case want == nil && a.byOthers(rec) && counted(rec.Trigger):
		a.tally.doubt(at, doubtCounted)
		return
	case want == nil:
		a.tally.find(at, a.finding(rec, CheckTrigger, "no compaction: the thread is not due", rec.Slot+" by "+showTrigger(rec.Trigger)))
		return
	}
	if a.byOthers(rec) && !a.sameSources(at, want, rec) {
		return
	}
	asSaid(want, rec)
	want.Current, want.Head = rec.Current, rec.Head
	want.ID = identity(at.thread, want.Kind, want.Slot, want.Version, want.SourceDigest, want.PolicyFingerprint, orNone(rec.RulesVersion), "")
	if err := a.compare(at, r, want, CheckTrigger); err != nil {
		a.tally.find(at, a.finding(rec, CheckReadable, "a record", err.Error()))
	}
}

// leafMissed notes a compaction that is still due after its event.
func (a *auditor) leafMissed(at scope, s fold.Stepped) error {
	// An event cuts once, even if the thread is due again after it: a cut before a user message is preferred, and what remains
	// before the next safe one may suffice.
	if s.Turned || slices.ContainsFunc(a.here, func(r *onRecord) bool { return r.thread == at.thread && cuts(r.rec) }) {
		return nil
	}
	due, err := a.lane.fold.DueLeaf(s.State, s.Delivery)
	if err != nil || due == nil && len(s.Decided) == 0 {
		return err
	}
	st, err := a.lane.part.LoadThread(at.thread)
	if err == nil {
		err = a.lane.part.LoadCompaction(st)
	}
	if err != nil {
		return err
	}
	if due, err = a.lane.fold.DueLeaf(st, s.Delivery); err != nil || due == nil {
		return err
	}
	return a.missed(at, s, due)
}

// cuts reports whether an event's record belongs to a cut: it is the leaf, what is made above it, or a stale source of it that was
// recomputed before.
func cuts(rec events.Record) bool {
	sum, ok := rec.(*events.Summary)
	return ok && sum.Kind == events.KindCompaction && sum.Trigger.Reason != events.TriggerRegenerated
}

func (a *auditor) delivery() fold.Delivery {
	return fold.Delivery{
		Seq: a.current.Seq, Time: a.current.Time,
		Raw: events.Raw{Subject: a.current.Subject, Header: a.current.Header, Body: a.current.Data},
	}
}

// history compares a history, or the start of one by a model, with what was due in its thread.
func (a *auditor) history(at scope, st *thread.State, r *onRecord, d fold.Delivery) {
	var trigger events.Trigger
	switch rec := r.rec.(type) {
	case *events.Summary:
		trigger = rec.Trigger
	case *events.Started:
		trigger = rec.Trigger
	}
	want, err := a.lane.fold.DueHistory(st, d, trigger)
	if err != nil {
		a.tally.doubt(at, "a history whose messages can't be read")
		return
	}
	switch want := want.(type) {
	case nil:
		a.tally.find(at, a.finding(r.rec, CheckTrigger, "no history: the thread is not due", showTrigger(trigger)))
		return
	case *events.Summary:
		err = a.same(at, r, want, false)
	case *events.Started:
		err = a.same(at, r, want, false)
	}
	if err != nil {
		a.tally.find(at, a.finding(r.rec, CheckReadable, "a record", err.Error()))
	}
}

// pending compares the start of a compaction by a model with the rule-based one that it is to replace: it has the same
// source summaries and the next version.
func (a *auditor) pending(at scope, st *thread.State, job *events.Started) {
	slot := st.Slot(job.Slot)
	held := st.Summary(slot.Holder)
	if held == nil {
		a.tally.find(at, a.finding(job, CheckTrigger, "a compaction by rules in its place", "none"))
		return
	}
	want, got := fmt.Sprint(held.SourceSums, slot.Version+1), fmt.Sprint(job.SourceSummaryIDs, job.Version)
	if want != got {
		a.tally.find(at, a.finding(job, CheckSources, want, got))
		return
	}
	if digest := digestOf(nil, job.SourceSummaryIDs); digest != job.SourceDigest {
		a.tally.find(at, a.finding(job, CheckSources, "source_digest "+digest, job.SourceDigest))
		return
	}
	a.tally.holds(at, CheckTrigger)
}

// instead compares a compaction that fell back to the rules with the rule-based one in its place: both have the same
// content.
func (a *auditor) instead(at scope, st *thread.State, rec *events.Summary) {
	held := st.Summary(st.Slot(rec.Slot).Holder)
	if held == nil {
		a.tally.find(at, a.finding(rec, CheckRemade, "a compaction by rules in its place", "none"))
		return
	}
	var was events.Summary
	if err := json.Unmarshal(held.Record, &was); err != nil {
		a.tally.find(at, a.finding(rec, CheckReadable, "a record in its place", err.Error()))
		return
	}
	if want, got := apart(was.Content, rec.Content); was.Content != rec.Content {
		a.tally.find(at, a.finding(rec, CheckRemade, want, got))
		return
	}
	a.tally.holds(at, CheckRemade)
}
