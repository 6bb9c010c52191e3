package audit

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"precis/events"
	"precis/internal/fold"
	"precis/internal/thread"
	"precis/state"
	"precis/summarize/pricing"
)

// created checks a summary against its sources and, if a job made it, against the job that was started.
func (a *auditor) created(at scope, st *thread.State, s *state.Staged, rec *events.Summary) {
	a.sources(at, st, rec)
	a.slot(at, st, rec)
	job := st.Job(rec.ID)
	if job == nil {
		if rec.Method == events.MethodLLM {
			a.tally.find(at, a.finding(rec, CheckJob, "a summary.started of that id before it", "none"))
		}
		a.caused(at, st, s, rec)
		a.free(at, rec)
		return
	}
	if rec.Step.Cause != events.ByResult {
		a.uncaused(at, rec)
	}
	a.asStarted(at, job, rec)
	a.byModel(at, st, job, rec)
	a.owed(at, st, job)
	a.spent(at, rec, rec.ID, rec.Usage, rec.Cost)
	delete(a.startedAt, rec.ID)
	switch {
	case rec.Method == events.MethodLLM:
		a.tally.doubt(at, "a model's text is taken from the record")
	case rec.Kind == events.KindCompaction:
		a.instead(at, st, rec)
	case a.rules != nil:
		a.remakes = append(a.remakes, remake{at: at, rec: rec, job: job})
	}
}

func (a *auditor) finding(rec events.Record, check, want, got string) Finding {
	head := rec.Common()
	f := Finding{Summary: summaryOf(rec), Check: check, Want: want, Got: got, EventSeq: head.EventSeq}
	if head.ThreadID != nil {
		f.Thread = events.OrNull(*head.ThreadID)
	}
	return f
}

// asStarted compares a summary with the record that announced it.
func (a *auditor) asStarted(at scope, job *thread.Job, rec *events.Summary) {
	was := job.Started
	type part struct {
		check     string
		want, got any
	}
	ok := true
	for _, p := range []part{
		{CheckJob, was.Kind + " " + was.Slot, rec.Kind + " " + rec.Slot},
		{CheckJob, was.Version, rec.Version},
		{CheckJob, was.EventSeq, rec.EventSeq},
		{CheckSources, fmt.Sprint(was.SourceMessageIDs, was.SourceSummaryIDs), fmt.Sprint(rec.SourceMessageIDs, rec.SourceSummaryIDs)},
		{CheckSources, was.SourceDigest, rec.SourceDigest},
		{CheckTrigger, showTrigger(was.Trigger), showTrigger(rec.Trigger)},
		{CheckTrigger, was.Policy + " " + was.PolicyFingerprint, rec.Policy + " " + rec.PolicyFingerprint},
	} {
		if p.want != p.got {
			ok = false
			a.tally.find(at, a.finding(rec, p.check, fmt.Sprint(p.want), fmt.Sprint(p.got)))
		}
	}
	if job.Superseded {
		ok = false
		a.tally.find(at, a.finding(rec, CheckSources, "no summary: a source has changed since it was started", "summary.created"))
	}
	if ok {
		a.tally.holds(at, CheckJob)
	}
}

func showTrigger(t events.Trigger) string {
	show := func(v *float64) string {
		if v == nil {
			return "null"
		}
		return strconv.FormatFloat(*v, 'f', -1, 64)
	}
	return t.Reason + " " + show(t.Value) + ", threshold " + show(t.Threshold)
}

// sources checks that every source of a summary exists, with the digest that it had.
func (a *auditor) sources(at scope, st *thread.State, rec *events.Summary) {
	var rows []*thread.Message
	for _, id := range rec.SourceMessageIDs {
		m, err := a.lane.part.Message(st.Header.Thread, id)
		switch {
		case err != nil:
			a.tally.doubt(at, "its sources can't be read")
			return
		case m == nil:
			a.tally.find(at, a.finding(rec, CheckSources, "message "+id+" in the log", "missing"))
			return
		}
		rows = append(rows, m)
	}
	for _, id := range rec.SourceSummaryIDs {
		if sum, err := a.lane.part.Summary(st.Header.Thread, id); err != nil || sum == nil {
			a.tally.find(at, a.finding(rec, CheckSources, "summary "+id+" on record", "missing"))
			return
		}
	}
	if want := digestOf(rows, rec.SourceSummaryIDs); want != rec.SourceDigest {
		a.tally.find(at, a.finding(rec, CheckSources, "source_digest "+want+" of the log", rec.SourceDigest))
		return
	}
	a.tally.holds(at, CheckSources)
}

// slot checks that a summary replaces the holder of its slot, with a higher version.
func (a *auditor) slot(at scope, st *thread.State, rec *events.Summary) {
	slot := st.Slot(rec.Slot)
	if slot.Holder != orNone(rec.Replaces) {
		a.tally.find(at, a.finding(rec, CheckTrigger, "replaces: "+slot.Holder, "replaces: "+orNone(rec.Replaces)))
	}
	if held := st.Summary(slot.Holder); held != nil && rec.Version <= held.Version {
		a.tally.find(at, a.finding(rec, CheckTrigger, fmt.Sprintf("a version above %d", held.Version), fmt.Sprint(rec.Version)))
	}
}

// failed checks the end of a job without a summary.
func (a *auditor) failed(at scope, st *thread.State, rec *events.Failed) {
	if st.Job(rec.SummaryID) == nil {
		a.tally.find(at, a.finding(rec, CheckJob, "a summary.started of that id before it", "none"))
	} else {
		a.tally.holds(at, CheckJob)
	}
	if job := st.Job(rec.SummaryID); job != nil && !job.Superseded && a.lane.fold.JobPolicy(st, job) == nil {
		a.again[place{at.thread, job.Started.Slot}] = true
	}
	if job := st.Job(rec.SummaryID); job != nil {
		a.owed(at, st, job)
	}
	a.withoutText(at, st, rec)
	a.spent(at, rec, rec.SummaryID, rec.Usage, rec.Cost)
	delete(a.startedAt, rec.SummaryID)
}

// owed notes that a history fell due while another one was being made: the end of that one triggers the next.
func (a *auditor) owed(at scope, st *thread.State, job *thread.Job) {
	if owed, err := a.lane.fold.HistoryOwed(st, job); err == nil && owed {
		a.again[place{at.thread, job.Started.Slot}] = true
	}
}

// underWay is how long a job may take before it counts as never ended: longer than a ladder of providers takes with
// all attempts.
const underWay = 15 * time.Minute

// unended notes jobs that have not ended. A job that a store at rest still holds continues when its processor does,
// however long that has been stopped.
func (a *auditor) unended() error {
	open, err := a.lane.part.Jobs()
	if err != nil {
		return err
	}
	for _, job := range open {
		started := job.Started
		name := *started.ThreadID
		h, err := a.lane.part.Header(name)
		if err != nil {
			return err
		}
		at := scope{thread: name, policy: started.Policy}
		if h != nil {
			at.agent = h.FirstAgentID
		}
		held, err := a.inStore(name, started.SummaryID)
		if err != nil {
			return err
		}
		since, known := a.startedAt[started.SummaryID]
		if !known {
			continue // the fold decided it itself: its start already counts as pending or missed
		}
		// A job that ended in a void record continues when the processor runs again.
		if held || a.voided[started.SummaryID] || a.lane.partial || a.now.Sub(since) < underWay {
			a.tally.late(at)
			continue
		}
		a.tally.find(at, a.finding(&started, CheckEnded, "summary.created or summary.failed", "neither"))
	}
	return nil
}

// sourcesThere reports whether the log holds the messages from which a summary was made.
func (a *auditor) sourcesThere(r remake) (bool, error) {
	rows, err := a.lane.part.MessagesOf(r.at.thread, r.rec.SourceMessageIDs)
	return len(rows) == len(r.rec.SourceMessageIDs), err
}

// remake is a rule-based summary that a job made.
type remake struct {
	at  scope
	rec *events.Summary
	job *thread.Job
}

// remake recomputes the rule-based summaries of jobs from their current sources. Those are unchanged: a job whose
// source changes makes no summary.
func (a *auditor) remake(ctx context.Context) error {
	for _, r := range a.remakes {
		st, err := a.lane.part.LoadThread(r.at.thread)
		if err != nil {
			return err
		}
		p := a.lane.fold.JobPolicy(st, r.job)
		if p == nil || r.rec.RulesVersion == nil && r.rec.Method == events.MethodRules {
			a.tally.doubt(r.at, "made under a policy that is no longer in force")
			continue
		}
		if r.rec.RulesVersion != nil && *r.rec.RulesVersion != a.rulesVersion {
			a.tally.doubt(r.at, "made by rules "+*r.rec.RulesVersion+", this program has "+a.rulesVersion)
			continue
		}
		whole, err := a.sourcesThere(r)
		if err != nil {
			return err
		}
		if !whole {
			continue // missing sources are a finding of their own, or due to retention
		}
		policy := *p
		policy.OnFailure = "fallback"
		res, err := a.rules.Run(ctx, a.lane.part.View, &policy, r.job, nil)
		if err != nil {
			return fmt.Errorf("make %s again: %w", r.rec.ID, err)
		}
		if want, got := apart(res.Text, r.rec.Content); res.Text != r.rec.Content || res.Method != r.rec.Method {
			a.tally.find(r.at, a.finding(r.rec, CheckRemade, res.Method+": "+want, r.rec.Method+": "+got))
			continue
		}
		a.tally.holds(r.at, CheckRemade)
	}
	a.remakes = slices.Delete(a.remakes, 0, len(a.remakes))
	return nil
}

// Outcomes of the call with which a job ended.
const (
	callUsed       = "used"
	callSuperseded = "superseded"
)

// codeSuperseded is the failure code of a job whose answer came too late.
const codeSuperseded = events.FailedSuperseded

// byModel checks what a summary says about its maker against its job and the calls on record for it. A model's text
// came with the last call; the calls before it produced none.
func (a *auditor) byModel(at scope, st *thread.State, job *thread.Job, rec *events.Summary) {
	prompt, model := "", rec.Method == events.MethodLLM
	if model {
		prompt = orNone(job.Started.PromptVersion)
	}
	a.agrees(at, rec, "prompt_version", prompt, orNone(rec.PromptVersion))
	a.agrees(at, rec, "provider and model are told", model, rec.Provider != nil && rec.Model != nil)
	a.agrees(at, rec, "rules_version is told", rec.Method == events.MethodRules, rec.RulesVersion != nil)
	if want := fold.CurrentOf(st, &job.Started); rec.Current != want {
		a.tally.find(at, a.finding(rec, CheckTrigger, fmt.Sprintf("current: %v", want), fmt.Sprintf("current: %v", rec.Current)))
	}
	last := a.lastCall(rec.ID)
	a.agrees(at, rec, "the last call's text was used", model, last != nil && last.Outcome == callUsed)
	a.agrees(at, rec, "the last call's text came too late", false, last != nil && last.Outcome == callSuperseded)
	if !model || last == nil {
		return
	}
	a.agrees(at, rec, "provider", last.Provider, orNone(rec.Provider))
	if a.pricedAs(last, rec) {
		a.agrees(at, rec, "model", last.Model, orNone(rec.Model))
	}
}

// pricedAs reports whether the last call names the requested model. It names another one only if that one has a price
// and the requested one has none.
func (a *auditor) pricedAs(last *call, rec *events.Summary) bool {
	if last.Cost.AmountMicroUSD == nil {
		return true
	}
	table := a.tables[string(last.Cost.PriceTable)]
	return table != nil && table.Cost(pricing.Tokens{}, rec.CreatedAt, orNone(rec.Model)) != nil
}

// withoutText checks a failure against the calls on record for it: none of their texts was used.
func (a *auditor) withoutText(at scope, st *thread.State, rec *events.Failed) {
	last, job := a.lastCall(rec.SummaryID), st.Job(rec.SummaryID)
	if last == nil || rec.Code == events.FailedTooLarge {
		return
	}
	// A call and the summary of its text are decided together, so nothing can supersede the job between the two,
	// unless the summary was lost, with its store, before it was on record. Nor can the run that made the call fail: a
	// failure whose usage lacks the call belongs to a later run, which a lost store began again.
	superseded := rec.Code == codeSuperseded && job != nil && !a.stands(st, job)
	later := rec.Code != codeSuperseded && rec.Usage.Attempts > 0 && rec.Usage.InputTokens < last.Usage.InputTokens
	if last.Outcome == callUsed && last.inTime && (superseded || later) {
		a.tally.doubt(at, "a model's text was lost with its store before it was on record")
		return
	}
	a.agrees(at, rec, "the last call's text was used", false, last.Outcome == callUsed)
	if rec.Code != codeSuperseded {
		a.agrees(at, rec, "the last call's text came too late", false, last.Outcome == callSuperseded)
	}
}

// lastCall is the last call on record of a job that has not ended; nil if there is none.
func (a *auditor) lastCall(id string) *call {
	calls := a.calls[id]
	if len(calls) == 0 {
		return nil
	}
	return calls[len(calls)-1]
}

// agrees notes a value of a record that contradicts the other records.
func (a *auditor) agrees(at scope, rec events.Record, name string, want, got any) {
	if want != got {
		a.tally.find(at, a.finding(rec, CheckJob, fmt.Sprintf("%s: %v", name, want), fmt.Sprintf("%s: %v", name, got)))
	}
}
