package audit

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/internal/fold"
	"precis/internal/thread"
)

// byEvent keeps a record that the current event decided. If the rules are not run again, the fold does not make compactions and
// histories there, and they are compared with what is due in the thread.
func (a *auditor) byEvent(r *onRecord, w work) {
	a.here = append(a.here, r)
	r.borne = a.renewed(r, w)
	if w.started && w.kind == events.KindCompaction {
		a.pending(r)
	}
	if a.Rules {
		return
	}
	switch rec := r.rec.(type) {
	case *events.Invalidated:
		// That a leaf gives messages back makes a history stale, which the fold does not say without the rules. The cause was
		// checked.
		r.borne = rec.Reason == events.ReasonSourceInvalidated
		return
	case *events.Summary:
		if r.met = w.kind == events.KindCompaction && !r.borne; r.met && rec.Level == 0 && rec.Version == 1 {
			// What is made above a new leaf, or recomputed below it, follows from the leaf.
			want, err := a.lane.fold.DueLeaf(r.st, deliveryOf(a.current))
			a.leaf(r, rec, want, err, "the thread is not due")
		}
	case *events.Started:
		r.met = w.kind == events.KindCompaction
	}
	if w.kind == events.KindHistory && !r.borne {
		r.met = true
		a.history(r, w, a.current.Time)
	}
}

// elsewhere judges a record whose event is not the one being folded.
func (a *auditor) elsewhere(r *onRecord) {
	seq := r.rec.Common().EventSeq
	if seq <= a.retained.to() {
		a.tally.doubt(r.scope, eventRemoved)
		return
	}
	a.find(r, CheckTrigger, fmt.Sprintf("event %d, which calls for it (%s)", seq, reasonOf(r.rec)),
		fmt.Sprintf("SUMMARIES %d, and no such event of the thread", r.staged.Seq))
}

// reasonOf is why a record was made.
func reasonOf(rec events.Record) string {
	if inv, ok := rec.(*events.Invalidated); ok {
		return inv.Reason
	}
	return workOf(rec).trigger.Reason
}

// decided compares what the fold decides with what is on record.
func (a *auditor) decided(at scope, s fold.Stepped, d events.Record) error {
	for _, r := range a.here {
		if !r.met && r.thread == s.State.Header.Thread && placeOf(r.rec) == placeOf(d) {
			r.met = true
			a.same(r, d, s.Whole)
			return nil
		}
	}
	return a.missed(at, s, d)
}

// placeOf is what a record is about, whatever it says: the slot that it fills, or the summary that it invalidates.
func placeOf(rec events.Record) string {
	if inv, ok := rec.(*events.Invalidated); ok {
		return "invalidates " + inv.SummaryID
	}
	if w := workOf(rec); w.kind != "" {
		return "slot " + w.slot
	}
	return ""
}

// grace is how long a processor may take to record a decision before it counts as missing.
const grace = time.Minute

// passing is how long a decision may take to be on record behind one of its partition that was made later: threads do not wait for each other, and what
// had no answer is sent again.
const passing = 10 * time.Second

// missed notes a decision that is not on record.
func (a *auditor) missed(at scope, s fold.Stepped, d events.Record) error {
	behind, err := a.goesOn(at.thread)
	if err != nil {
		return err
	}
	w := workOf(d)
	// A job starts when it has its turn; all else is written in about the order in which it was decided.
	if passed := !w.started && a.recordedTo[a.lane.id] > s.Delivery.Seq; !behind && !passed && a.recent(at) {
		a.tally.late(at)
		return nil
	}
	if a.underOthers() && counted(w.trigger) {
		a.tally.doubt(at, doubtCounted)
		return nil
	}
	f := Finding{
		Thread: events.OrNull(at.thread), Summary: summaryOf(d), Check: CheckMissed, EventSeq: s.Delivery.Seq,
		Want: placeOf(d), Got: "not on record",
	}
	if rec, ok := d.(*events.Invalidated); ok {
		f.Check, f.Want = CheckInvalidations, fmt.Sprintf("summary.invalidated (%s)", rec.Reason)
	} else if w.trigger.Reason != "" {
		f.Want += " by " + w.trigger.Reason
	}
	a.tally.find(at, f)
	return nil
}

// recent reports whether a decision at the end of the log may not be on record yet.
func (a *auditor) recent(at scope) bool { return !a.endsBefore() && a.now.Sub(at.at) < grace }

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
	if a.underOthers() && counted(workOf(r.rec).trigger) {
		a.tally.doubt(r.scope, doubtCounted)
		return
	}
	a.find(r, CheckTrigger, "nothing decided: the event does not call for it under the configuration in force",
		fmt.Sprintf("%s (%s)", r.staged.Type, reasonOf(r.rec)))
}

// leaf compares a leaf with the one that was due in its thread; none says why none would be. It returns false if nothing could be
// compared.
func (a *auditor) leaf(r *onRecord, rec, want *events.Summary, err error, none string) bool {
	switch {
	case err != nil:
		a.tally.doubt(r.scope, doubtUnread)
	case want == nil && a.byOthers(rec) && counted(rec.Trigger):
		a.tally.doubt(r.scope, doubtCounted)
	case want == nil:
		a.find(r, CheckTrigger, "no compaction: "+none, rec.Slot+" by "+showTrigger(rec.Trigger))
	default:
		return a.sameSummary(r, *want, rec, false)
	}
	return false
}

// doubtUnread: a source that retention or damage has taken from EVENTS.
const doubtUnread = "a compaction or a history whose messages can't be read"

// leafMissed notes a compaction that is still due after its event.
func (a *auditor) leafMissed(at scope, s fold.Stepped) error {
	// An event cuts once, even if the thread is due again after it: a cut before a user message is preferred, and what remains
	// before the next safe one may suffice. A fork cuts never: what it begins with may be due, and its next event cuts it.
	if t, _, _ := events.ParseSubject(s.Delivery.Raw.Subject); t == events.ThreadForked || s.Turned || slices.ContainsFunc(a.here, func(r *onRecord) bool { return r.thread == at.thread && cuts(r.rec) }) {
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

// history compares a history, or the start of one by a model, with what was due in its thread when it was made.
func (a *auditor) history(r *onRecord, w work, made time.Time) {
	d := deliveryOf(a.current)
	d.Seq, d.Time = r.rec.Common().EventSeq, made
	switch want, err := a.lane.fold.DueHistory(r.st, d, w.trigger); {
	case err != nil:
		a.tally.doubt(r.scope, doubtUnread)
	case want == nil:
		a.find(r, CheckTrigger, "no history: the thread is not due", showTrigger(w.trigger))
	default:
		a.same(r, want, false)
	}
}

// pending compares the start of a compaction by a model with the rule-based one that it is to replace: it has the same
// source summaries and the next version.
func (a *auditor) pending(r *onRecord) {
	job := r.rec.(*events.Started)
	slot := r.st.Slot(job.Slot)
	held := r.st.Summary(slot.Holder)
	if held == nil {
		a.find(r, CheckTrigger, "a compaction by rules in its place", "none")
		return
	}
	if a.expect(r, CheckSources, fmt.Sprint(held.SourceSums, slot.Version+1), fmt.Sprint(job.SourceSummaryIDs, job.Version)) &&
		a.expect(r, CheckSources, "source_digest "+digestOf(nil, job.SourceSummaryIDs), "source_digest "+job.SourceDigest) {
		a.tally.holds(r.scope, CheckTrigger)
	}
}

// byRulesInstead compares a compaction that fell back to the rules with the rule-based one in its place: both have the same
// content.
func (a *auditor) byRulesInstead(r *onRecord, rec *events.Summary) {
	held := r.st.Summary(r.st.Slot(rec.Slot).Holder)
	if held == nil {
		a.find(r, CheckRemade, "a compaction by rules in its place", "none")
		return
	}
	var was events.Summary
	if err := json.Unmarshal(held.Record, &was); err != nil {
		a.find(r, CheckReadable, "a record in its place", err.Error())
		return
	}
	a.remade(r, was.Content, rec.Content)
}

// remade compares a text with the one that the rules make.
func (a *auditor) remade(r *onRecord, want, got string) {
	if shownWant, shownGot := apart(want, got); want != got {
		a.find(r, CheckRemade, shownWant, shownGot)
		return
	}
	a.tally.holds(r.scope, CheckRemade)
}

// invalidated checks an invalidation against its cause. It returns false if there is nothing to check it against.
func (a *auditor) invalidated(r *onRecord, rec *events.Invalidated) bool {
	sum := r.st.Summary(rec.SummaryID)
	if sum == nil {
		return false // the fold refuses it
	}
	if sum.Status != thread.Active {
		a.find(r, CheckCause, "an active summary", "one that is "+string(sum.Status))
	}
	switch want, got := a.causeOf(r, sum, rec); {
	case orNone(rec.Cause.Setting) == fold.SettingRewind && rec.EventSeq <= a.retained.to(): // the rewind itself is gone
		a.tally.doubt(r.scope, eventRemoved)
	case want == got:
		a.tally.holds(r.scope, CheckCause)
	case rec.Reason == events.ReasonPolicyChanged || rec.Reason == events.ReasonModelChanged:
		a.findOfState(r, CheckCause, want, got)
	default:
		a.find(r, CheckCause, want, got)
	}
	a.expect(r, CheckCause, "kind "+sum.Kind, "kind "+rec.Kind)
	if cause := rec.Step.Cause; cause == events.BySweep || cause == events.ByExpiry {
		if want := a.policyOf(r.st).Staleness.Action; want != rec.Action {
			a.findOfState(r, CheckCause, "action "+want, "action "+rec.Action)
		}
	}
	got := cmp.Or(rec.Meanwhile, events.MeanwhileRaw)
	if want, err := a.lane.fold.MeanwhileOf(r.st, sum, rec); err == nil && want != got {
		a.findOfState(r, CheckCause, "meanwhile "+want, "meanwhile "+got)
	}
	return true
}

// causeOf returns what would justify an invalidation and what is there instead; both are empty if its cause does.
func (a *auditor) causeOf(r *onRecord, sum *thread.Summary, rec *events.Invalidated) (want, got string) {
	switch rec.Reason {
	case events.ReasonSourceEdited, events.ReasonSourceDeleted:
		if orNone(rec.Cause.Setting) == fold.SettingRewind {
			return a.rewound(r, rec)
		}
		if id := orNone(rec.Cause.MessageID); !slices.Contains(sum.Sources, id) {
			return "a message that it was made from", fmt.Sprintf("message %q", id)
		}
	case events.ReasonSourceInvalidated:
		id := orNone(rec.Cause.SummaryID)
		if !slices.Contains(sum.SourceSums, id) {
			return "a summary that it was made from", fmt.Sprintf("summary %q", id)
		}
		from, err := a.lane.part.Summary(r.thread, id)
		if err != nil || from == nil || from.Status == thread.Active {
			return "summary " + id + " invalidated before", "it is active"
		}
	case events.ReasonTTLExpired:
		if sum.ExpiresAt.IsZero() || rec.InvalidatedAt.Before(sum.ExpiresAt) {
			return fmt.Sprintf("not before it expires (%s)", sum.ExpiresAt), rec.InvalidatedAt.String()
		}
		if want, got := written(sum.ExpiresAt), orNone(rec.Cause.Old); want != got {
			return "it expired at " + want, "at " + got
		}
	case events.ReasonPolicyChanged, events.ReasonModelChanged: // as the sweep compared it with the configuration in force
		inv, _ := a.lane.fold.Outdated(r.st, sum) // one that can't be read is not outdated
		return showSetting(inv), showSetting(rec)
	case events.ReasonPromptChanged:
		if orNone(rec.Cause.Old) == orNone(rec.Cause.New) {
			return "a setting that has changed", orNone(rec.Cause.Setting) + " is as it was"
		}
	default:
		return "one of the contract's reasons", rec.Reason
	}
	return "", ""
}

func showSetting(inv *events.Invalidated) string {
	if inv == nil {
		return "nothing: the configuration in force has nothing against it"
	}
	return fmt.Sprintf("%s: %s from %q to %q", inv.Reason, orNone(inv.Cause.Setting), orNone(inv.Cause.Old), orNone(inv.Cause.New))
}

// rewound returns what would justify an invalidation by a rewind, and what is there instead.
func (a *auditor) rewound(r *onRecord, rec *events.Invalidated) (want, got string) {
	raw := deliveryOf(a.current).Raw
	ev, why := events.Decode(raw, events.Limits{EventBytes: len(raw.Body)})
	if why != nil || ev.Edit == nil || !ev.Edit.Rewind || ev.Edit.MessageID != orNone(rec.Cause.MessageID) {
		return "a rewind to its message", fmt.Sprintf("event %d, which is none", r.rec.Common().EventSeq)
	}
	return "", ""
}
