package audit

import (
	"time"

	"precis/events"
	"precis/internal/thread"
	"precis/state"
	"precis/summarize"
)

// place is a slot of a thread.
type place struct{ thread, slot string }

// byTurn reports whether a record that no event triggered is justified by the reason that it gives: a request, the
// clock, a configuration, or a summary that waits to be recomputed. What is wrong with such a record is a finding.
func (a *auditor) byTurn(at scope, st *thread.State, s *state.Staged, rec events.Record) bool {
	switch rec := rec.(type) {
	case *events.Invalidated:
		_, byEvent := reasonOf(rec)
		return !byEvent // its cause is checked like every other one
	case *events.Summary:
		return a.slotByTurn(at, st, rec.Slot, rec.Kind, rec.PolicyFingerprint, rec.Trigger) || a.asked(at, st, s, rec) ||
			a.told(at, st, s, rec, rec.Trigger, rec.CreatedAt)
	case *events.Started:
		return a.slotByTurn(at, st, rec.Slot, rec.Kind, rec.PolicyFingerprint, rec.Trigger) ||
			a.told(at, st, s, rec, rec.Trigger, a.current.Time)
	}
	return false
}

// told compares a requested history with what there was to summarize.
func (a *auditor) told(at scope, st *thread.State, s *state.Staged, rec events.Record, trigger events.Trigger, made time.Time) bool {
	if kindOf(rec) != events.KindHistory || trigger.Reason != events.TriggerRequested {
		return false
	}
	d := a.delivery()
	d.Seq, d.Time = rec.Common().EventSeq, made
	a.history(at, st, &onRecord{thread: s.Thread, rec: rec, staged: s}, d)
	return true
}

// slotByTurn reports whether a slot waits to be filled again: its holder is stale and due to be recomputed, a
// configuration overtook its job, or a history fell due meanwhile.
func (a *auditor) slotByTurn(at scope, st *thread.State, slot, kind, fingerprint string, trigger events.Trigger) bool {
	p, _ := summarize.Resolve(a.lane.fold.Config().Policies, st.Header.Policy, st.Header.FirstAgentID, st.Header.Thread)
	if fingerprint != summarize.KindFingerprint(*p, kind) {
		return false
	}
	if a.again[place{at.thread, slot}] {
		delete(a.again, place{at.thread, slot})
		a.tally.holds(at, CheckTrigger)
		return true
	}
	held := st.Summary(st.Slot(slot).Holder)
	if trigger.Reason != events.TriggerRegenerated || held == nil || !held.Renew {
		return false
	}
	a.tally.holds(at, CheckTrigger)
	return true
}

// asked compares a compaction that was requested, or made by the clock, with what could be summarized then. What is
// made above its leaf follows from the leaf.
func (a *auditor) asked(at scope, st *thread.State, s *state.Staged, rec *events.Summary) bool {
	reason := rec.Trigger.Reason
	if rec.Kind != events.KindCompaction || reason != events.TriggerRequested && reason != events.TriggerIdle {
		return false
	}
	if rec.Level > 0 || rec.Version > 1 {
		return true
	}
	d := a.delivery()
	d.Seq, d.Time = rec.EventSeq, rec.CreatedAt
	want, err := a.lane.fold.AskedLeaf(st, d, rec.Trigger)
	switch {
	case err != nil:
		a.tally.doubt(at, "a compaction whose messages can't be read")
		return true
	case want == nil && a.byOthers(rec):
		a.tally.doubt(at, doubtCounted)
		return true
	case want == nil:
		a.tally.find(at, a.finding(rec, CheckTrigger, "no compaction: there is not enough to summarize, or it has not been idle for so long", rec.Slot+" by "+showTrigger(rec.Trigger)))
		return true
	}
	if a.byOthers(rec) && !a.sameSources(at, want, rec) {
		return true
	}
	r := &onRecord{thread: s.Thread, rec: rec, staged: s}
	asSaid(want, rec)
	want.Current, want.Head = rec.Current, rec.Head
	want.ID = identity(at.thread, want.Kind, want.Slot, want.Version, want.SourceDigest, want.PolicyFingerprint, orNone(rec.RulesVersion), "")
	if err := a.compare(at, r, want, CheckTrigger); err != nil {
		a.tally.find(at, a.finding(rec, CheckReadable, "a record", err.Error()))
	}
	if reason == events.TriggerIdle {
		a.idleFor(at, st, rec)
	}
	return true
}

// idleFor compares the idle time on record with the thread's last event.
func (a *auditor) idleFor(at scope, st *thread.State, rec *events.Summary) {
	idle := rec.CreatedAt.Sub(time.Unix(0, st.Header.LastAt))
	if said := time.Duration(*rec.Trigger.Value * float64(time.Second)); (said - idle).Abs() > time.Millisecond {
		a.tally.find(at, a.finding(rec, CheckTrigger, "idle for "+idle.String(), said.String()))
	}
}
