package audit

import (
	"slices"

	"precis/events"
	"precis/internal/fold"
	"precis/internal/thread"
)

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
