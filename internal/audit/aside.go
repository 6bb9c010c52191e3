package audit

import (
	"fmt"
	"time"

	"precis/events"
	"precis/internal/fold"
	"precis/internal/thread"
	"precis/summarize"
)

// These checks are of what a record states besides its decision: the newest message, an unknown policy's name, times, and its id. The first
// two are in the thread's state. Times come from several clocks: the server gives its events theirs, and each processor has its own for
// what no event decides. So some times must be equal, and others can only be bounded.

// clocks is how far two clocks may be apart, since a processor whose clock is wrong alters nothing: as far as those that take the time of
// one zone for that of another.
const clocks = 26 * time.Hour

// aside checks what a summary says of its thread, and its id. A job has noted what it found when it was started.
func (a *auditor) aside(r *onRecord, job *thread.Job, rec *events.Summary) {
	h := &r.st.Header
	_, unresolved := summarize.Resolve(a.lane.fold.Config().Policies, h.Policy, h.FirstAgentID, h.Thread)
	newest := h.LastMessageID
	if job != nil {
		newest, unresolved = job.AsOf, job.Unresolved
	}
	a.expect(r, CheckTrigger, "as_of_message_id: "+newest, "as_of_message_id: "+orNone(rec.AsOfMessageID))
	a.expect(r, CheckTrigger, "policy_unresolved: "+unresolved, "policy_unresolved: "+orNone(rec.PolicyUnresolved))
	if a.inForce(r, workOf(rec)) {
		a.expect(r, CheckTimes, "expires_at: "+showTime(a.lane.fold.Expiry(r.st, rec.CreatedAt)), "expires_at: "+showTime(rec.ExpiresAt))
	}
	if job == nil && rec.RulesVersion != nil {
		a.identified(r, rec.ID, identity(r.thread, rec.Kind, rec.Slot, rec.Version, rec.SourceDigest, rec.PolicyFingerprint, *rec.RulesVersion, ""))
	}
}

// announced checks the id of a job.
func (a *auditor) announced(r *onRecord, rec *events.Started) {
	if rec.Model == nil {
		return // one by rules that is too large to publish: their version is not on record
	}
	a.identified(r, rec.SummaryID, identity(r.thread, rec.Kind, rec.Slot, rec.Version, rec.SourceDigest, rec.PolicyFingerprint,
		orNone(rec.PromptVersion), *rec.Model))
}

// identified checks an id against what it is made from.
func (a *auditor) identified(r *onRecord, id, want string) {
	if want != id {
		a.find(r, CheckReadable, "the id that its members make: "+want, id)
	}
}

// timed checks the times of a record, before it ends its job.
func (a *auditor) timed(r *onRecord) {
	head, made := r.rec.Common(), r.staged.Made
	a.stored(r)
	if said := saidTime(r.rec); !said.IsZero() {
		a.sameTime(r, "the time of its envelope", made, said)
	}
	if head.Step.Cause == events.ByEvent && head.EventSeq == a.current.Seq {
		a.sameTime(r, "the time of its event", a.current.Time, made)
		return
	}
	if last := r.st.Header.LastAt; last != 0 {
		a.after(r, "the thread's last event", time.Unix(0, last))
	}
	if job := a.jobs[string(summaryOf(r.rec))]; job != nil {
		a.after(r, "the start of its job", job.madeAt)
	}
}

// sameTime checks a time of a record against the one that it must be.
func (a *auditor) sameTime(r *onRecord, what string, want, got time.Time) {
	if !want.Equal(got) {
		a.find(r, CheckTimes, showTime(&want)+", "+what, showTime(&got))
		return
	}
	a.tally.holds(r.scope, CheckTimes)
}

// after checks that a record was not decided before something else, as far as clocks can tell.
func (a *auditor) after(r *onRecord, what string, at time.Time) {
	if r.staged.Made.Before(at.Add(-clocks)) {
		a.find(r, CheckTimes, "not before "+showTime(&at)+", "+what, showTime(&r.staged.Made))
		return
	}
	a.tally.holds(r.scope, CheckTimes)
}

// saidTime is when a record says that it was decided, where no event decided it; zero if it does not say.
func saidTime(rec events.Record) time.Time {
	switch rec := rec.(type) {
	case *events.Summary:
		return rec.CreatedAt
	case *events.Invalidated:
		if rec.Step.Cause != events.ByEvent { // which is compared with what the event decides
			return rec.InvalidatedAt
		}
	}
	return time.Time{}
}

// stored checks when a record says its event was stored. What a job led to is of the event at which the job was started.
func (a *auditor) stored(r *onRecord) {
	head := r.rec.Common()
	want := fold.EventAt(r.st, head.EventSeq)
	if job := r.st.Job(string(summaryOf(r.rec))); job != nil {
		want = job.Started.EventAt
	}
	switch {
	case showTime(want) == showTime(head.EventAt):
		a.tally.holds(r.scope, CheckEvent)
	case want == nil && a.retained.cut(r.thread): // the event is gone
		a.tally.doubt(r.scope, eventRemoved)
	default:
		a.find(r, CheckEvent, fmt.Sprintf("event %d, stored at %s", head.EventSeq, showTime(want)), "another event there, stored at "+showTime(head.EventAt))
	}
}

func showTime(t *time.Time) string {
	if t == nil {
		return "null"
	}
	return `"` + written(*t) + `"`
}

// written is a time as records have it.
func written(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
