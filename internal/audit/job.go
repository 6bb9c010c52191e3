package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"precis/events"
	"precis/internal/content"
	"precis/internal/fold"
	"precis/internal/thread"
	"precis/summarize/llm"
	"precis/summarize/pricing"
)

// openJob is what is on record of a job that has not ended.
type openJob struct {
	startedAt time.Time // when its start was stored; zero if that is not on record
	madeAt    time.Time // when it was decided
	calls     []*call
}

func (a *auditor) job(id string) *openJob {
	if a.jobs[id] == nil {
		a.jobs[id] = &openJob{}
	}
	return a.jobs[id]
}

// created checks a summary against its sources and, if a job made it, against the job that was started.
func (a *auditor) created(r *onRecord, rec *events.Summary) {
	a.sources(r, rec)
	a.slot(r, rec)
	job := r.st.Job(rec.ID)
	a.aside(r, job, rec)
	if job == nil {
		if rec.Method == events.MethodLLM {
			a.find(r, CheckJob, "a summary.started of that id before it", "none")
		}
		a.caused(r)
		a.expect(r, CheckCost, spentBy(nil).String(), spending{rec.Usage, rec.Cost}.String()) // made without a call
		return
	}
	if rec.Step.Cause != events.ByResult {
		a.uncaused(r)
	}
	a.asStarted(r, job, rec)
	a.byModel(r, job, rec)
	a.owed(r, job)
	a.spent(r, rec.ID, rec.Usage, rec.Cost)
	switch {
	case rec.Method == events.MethodLLM:
		a.tally.doubt(r.scope, "a model's text is taken from the record")
		if a.Rules && rec.Kind != events.KindCompaction {
			a.remakes = append(a.remakes, remake{onRecord: r, rec: rec, job: job})
		}
	case rec.Kind == events.KindCompaction:
		a.byRulesInstead(r, rec)
	case a.Rules:
		a.remakes = append(a.remakes, remake{onRecord: r, rec: rec, job: job})
	}
}

// asStarted compares a summary with the record that announced it.
func (a *auditor) asStarted(r *onRecord, job *thread.Job, rec *events.Summary) {
	was, ok := job.Started, true
	for _, p := range []struct{ check, want, got string }{
		{CheckJob, was.Kind + " " + was.Slot, rec.Kind + " " + rec.Slot},
		{CheckJob, fmt.Sprint("version ", was.Version), fmt.Sprint("version ", rec.Version)},
		{CheckJob, fmt.Sprint("event ", was.EventSeq), fmt.Sprint("event ", rec.EventSeq)},
		{CheckSources, fmt.Sprint(was.SourceMessageIDs, was.SourceSummaryIDs), fmt.Sprint(rec.SourceMessageIDs, rec.SourceSummaryIDs)},
		{CheckSources, was.SourceDigest, rec.SourceDigest},
		{CheckTrigger, showTrigger(was.Trigger), showTrigger(rec.Trigger)},
		{CheckTrigger, was.Policy + " " + was.PolicyFingerprint, rec.Policy + " " + rec.PolicyFingerprint},
	} {
		ok = a.expect(r, p.check, p.want, p.got) && ok
	}
	if job.Superseded {
		ok = a.expect(r, CheckSources, "no summary: a source has changed since it was started", "summary.created")
	}
	if ok = a.recounted(r, job, rec) && ok; ok {
		a.tally.holds(r.scope, CheckJob)
	}
}

// recounted compares what a summary says beside its text with what follows from the text, its sources and the policy.
func (a *auditor) recounted(r *onRecord, job *thread.Job, rec *events.Summary) (ok bool) {
	want := a.lane.fold.Recounted(r.st, job, rec)
	if want == nil {
		return true
	}
	if a.underOthers() { // whose tokenizer may count otherwise
		want.TokenCountAfter, want.TokenCountBefore = rec.TokenCountAfter, rec.TokenCountBefore
	}
	show := func(s *events.Summary) string {
		return fmt.Sprintf("level %d, %d characters and %d tokens (%s) after", s.Level, s.CharsAfter, s.TokenCountAfter, s.Tokenizer)
	}
	a.expect(r, CheckSources, before(want), before(rec))
	return a.expect(r, CheckJob, show(want), show(rec))
}

// before is what a summary says of the size of its sources.
func before(s *events.Summary) string {
	return fmt.Sprintf("%d characters and %d tokens before", s.CharsBefore, s.TokenCountBefore)
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
func (a *auditor) sources(r *onRecord, rec *events.Summary) {
	var rows []*thread.Message
	for _, id := range rec.SourceMessageIDs {
		m, err := a.lane.part.Message(r.thread, id)
		switch {
		case err != nil:
			a.tally.doubt(r.scope, "its sources can't be read")
			return
		case m == nil:
			a.find(r, CheckSources, "message "+id+" in the log", "missing")
			return
		}
		rows = append(rows, m)
	}
	for _, id := range rec.SourceSummaryIDs {
		if sum, err := a.lane.part.Summary(r.thread, id); err != nil || sum == nil {
			a.find(r, CheckSources, "summary "+id+" on record", "missing")
			return
		}
	}
	if a.expect(r, CheckSources, "source_digest "+digestOf(rows, rec.SourceSummaryIDs), "source_digest "+rec.SourceDigest) {
		a.tally.holds(r.scope, CheckSources)
	}
}

// slot checks that a summary replaces the holder of its slot, with a higher version.
func (a *auditor) slot(r *onRecord, rec *events.Summary) {
	slot := r.st.Slot(rec.Slot)
	a.expect(r, CheckTrigger, "replaces: "+slot.Holder, "replaces: "+orNone(rec.Replaces))
	if held := r.st.Summary(slot.Holder); held != nil && rec.Version <= held.Version {
		a.find(r, CheckTrigger, fmt.Sprintf("a version above %d", held.Version), fmt.Sprint(rec.Version))
	}
}

// failed checks the end of a job without a summary.
func (a *auditor) failed(r *onRecord, rec *events.Failed) {
	job := r.st.Job(rec.SummaryID)
	if job == nil {
		a.find(r, CheckJob, "a summary.started of that id before it", "none")
	} else {
		a.tally.holds(r.scope, CheckJob)
		if !job.Superseded && a.lane.fold.JobPolicy(r.st, job) == nil {
			a.again[place{r.thread, job.Started.Slot}] = true
		}
		a.owed(r, job)
		a.expect(r, CheckJob, fmt.Sprintf("%s, event %d", job.Started.Kind, job.Started.EventSeq), fmt.Sprintf("%s, event %d", rec.Kind, rec.EventSeq))
		a.expect(r, CheckJob, "action "+actionOf(rec.Code), "action "+rec.Action)
	}
	a.withoutText(r, job, rec)
	a.spent(r, rec.SummaryID, rec.Usage, rec.Cost)
}

// actionOf is what follows from a failure of that code.
func actionOf(code string) string {
	switch code {
	case events.FailedSuperseded, events.FailedTooLarge, events.FailedUnavailable:
		return events.ActionTrim
	}
	return events.ActionFail
}

// owed notes that a history fell due while another one was being made: the end of that one triggers the next.
func (a *auditor) owed(r *onRecord, job *thread.Job) {
	if owed, err := a.lane.fold.HistoryOwed(r.st, job); err == nil && owed {
		a.again[place{r.thread, job.Started.Slot}] = true
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
		started := &job.Started
		name, since := *started.ThreadID, a.job(started.SummaryID).startedAt
		if since.IsZero() {
			continue // the fold decided it itself: its start already counts as pending or missed
		}
		r := &onRecord{scope: scope{thread: name, policy: started.Policy}, rec: started}
		h, err := a.lane.part.Header(name)
		if err != nil {
			return err
		}
		if h != nil {
			r.agent = h.FirstAgentID
		}
		// A job that ended in a void record continues when the processor runs again.
		continues := a.voided[started.SummaryID] || a.partial || a.now.Sub(since) < underWay
		if a.Store != nil && !continues {
			held, err := a.Store.View(a.lane.id).Job(name, started.SummaryID)
			if err != nil {
				return err
			}
			continues = held != nil
		}
		if continues {
			a.tally.late(r.scope)
			continue
		}
		a.find(r, CheckEnded, "summary.created or summary.failed", "neither")
	}
	return nil
}

// remake is a rule-based summary that a job made.
type remake struct {
	*onRecord
	rec *events.Summary
	job *thread.Job
}

// remake recomputes the rule-based summaries of jobs from their current sources. Those are unchanged: a job whose
// source changes makes no summary.
func (a *auditor) remake(ctx context.Context) error {
	for _, r := range a.remakes {
		st, err := a.lane.part.LoadThread(r.thread)
		if err != nil {
			return err
		}
		p := a.lane.fold.JobPolicy(st, r.job)
		if r.rec.Method == events.MethodLLM && (p == nil || a.underOthers()) {
			continue
		}
		if p == nil || r.rec.RulesVersion == nil && r.rec.Method == events.MethodRules {
			a.tally.doubt(r.scope, "made under a policy that is no longer in force")
			continue
		}
		if r.rec.RulesVersion != nil && a.byOthers(r.rec) {
			a.tally.doubt(r.scope, a.otherRules(r.rec))
			continue
		}
		rows, err := a.lane.part.MessagesOf(r.thread, r.rec.SourceMessageIDs)
		if err != nil {
			return err
		}
		if len(rows) < len(r.rec.SourceMessageIDs) {
			continue // missing sources are a finding of their own, or due to retention
		}
		policy := *p
		policy.OnFailure = "fallback"
		res, err := a.runner.Run(ctx, a.lane.part.View, &policy, r.job, nil)
		if errors.Is(err, content.ErrGone) {
			a.tally.doubt(r.scope, doubtUnread)
			continue
		}
		if err != nil {
			return fmt.Errorf("make %s again: %w", r.rec.ID, err)
		}
		if r.rec.Method == events.MethodLLM { // its sources alone can be counted again
			want := *r.rec
			want.TokenCountBefore = res.Tokens
			if want.Kind == events.KindToolResult {
				want.CharsBefore = res.Chars
			}
			a.expect(r.onRecord, CheckSources, before(&want), before(r.rec))
			continue
		}
		if res.Method != r.rec.Method {
			a.find(r.onRecord, CheckRemade, res.Method, r.rec.Method)
			continue
		}
		a.remade(r.onRecord, res.Text, r.rec.Content)
	}
	a.remakes = slices.Delete(a.remakes, 0, len(a.remakes))
	return nil
}

// callSuperseded is the outcome of a call whose answer came too late.
const callSuperseded = "superseded"

// byModel checks what a summary says about its maker against its job and the calls on record for it. A model's text
// came with the last call; the calls before it produced none.
func (a *auditor) byModel(r *onRecord, job *thread.Job, rec *events.Summary) {
	prompt, model, last := "", rec.Method == events.MethodLLM, a.lastCall(rec.ID)
	if model {
		prompt = orNone(job.Started.PromptVersion)
	}
	a.agrees(r, "prompt_version", prompt, orNone(rec.PromptVersion))
	a.agrees(r, "provider and model are told", model, rec.Provider != nil && rec.Model != nil)
	a.agrees(r, "rules_version is told", rec.Method == events.MethodRules, rec.RulesVersion != nil)
	a.expect(r, CheckTrigger, fmt.Sprintf("current: %v", fold.CurrentOf(r.st, &job.Started)), fmt.Sprintf("current: %v", rec.Current))
	a.agrees(r, "the last call's text was used", model, last.Outcome == llm.CallUsed)
	a.agrees(r, "the last call's text came too late", false, last.Outcome == callSuperseded)
	if !model || last.Outcome == "" {
		return
	}
	a.agrees(r, "provider", last.Provider, orNone(rec.Provider))
	if a.pricedAs(last, rec) {
		a.agrees(r, "model", last.Model, orNone(rec.Model))
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
func (a *auditor) withoutText(r *onRecord, job *thread.Job, rec *events.Failed) {
	last, late := a.lastCall(rec.SummaryID), rec.Code == events.FailedSuperseded
	if rec.Code == events.FailedTooLarge {
		return
	}
	// A call and the summary of its text are decided together, so nothing can supersede the job between the two,
	// unless the summary was lost, with its store, before it was on record. Nor can the run that made the call fail: a
	// failure whose usage lacks the call belongs to a later run, which a lost store began again.
	superseded := late && job != nil && !a.stands(r.st, job)
	later := !late && rec.Usage.Attempts > 0 && rec.Usage.InputTokens < last.Usage.InputTokens
	if last.Outcome == llm.CallUsed && last.inTime && (superseded || later) {
		a.tally.doubt(r.scope, "a model's text was lost with its store before it was on record")
		return
	}
	a.agrees(r, "the last call's text was used", false, last.Outcome == llm.CallUsed)
	if !late {
		a.agrees(r, "the last call's text came too late", false, last.Outcome == callSuperseded)
	}
}

// lastCall is the last call on record of a job that has not ended; one without an outcome if there is none.
func (a *auditor) lastCall(id string) *call {
	calls := a.job(id).calls
	if len(calls) == 0 {
		return &call{UsageRecord: &events.UsageRecord{}}
	}
	return calls[len(calls)-1]
}

// agrees notes a value of a record that contradicts the other records.
func (a *auditor) agrees(r *onRecord, name string, want, got any) {
	a.expect(r, CheckJob, fmt.Sprintf("%s: %v", name, want), fmt.Sprintf("%s: %v", name, got))
}
