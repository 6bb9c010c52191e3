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
