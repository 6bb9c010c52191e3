package audit

import (
	"fmt"

	"precis/events"
	"precis/internal/fold"
	"precis/internal/thread"
	"precis/summarize/pricing"
)

// outcomes of the call that a job ended with.
const (
	callUsed       = "used"
	callSuperseded = "superseded"
)

// codeSuperseded is the failure of a job whose answer came too late.
const codeSuperseded = events.FailedSuperseded

// byModel holds what a summary says of who made it against its job and the calls on record for it. A model's
// text was in the last of them: the attempts that came to nothing before it are told apart.
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

// pricedAs says that the last call names the model that was asked for. It names another one only where that has a price
// and the one that was asked for has none.
func (a *auditor) pricedAs(last *call, rec *events.Summary) bool {
	if last.Cost.AmountMicroUSD == nil {
		return true
	}
	table := a.tables[string(last.Cost.PriceTable)]
	return table != nil && table.Cost(pricing.Tokens{}, rec.CreatedAt, orNone(rec.Model)) != nil
}

// withoutText holds a failure against the calls on record for it: no text of theirs was used.
func (a *auditor) withoutText(at scope, st *thread.State, rec *events.Failed) {
	last, job := a.lastCall(rec.SummaryID), st.Job(rec.SummaryID)
	if last == nil || rec.Code == events.FailedTooLarge {
		return
	}
	// A call and the summary of its text are decided as one: between the two nothing can supersede a job, unless the
	// summary, and the store with it, were lost before it was on record. Nor can the run that made the call fail: a
	// failure whose usage lacks the call is that of a later run, which a lost store began again.
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

// lastCall is the last call on record of a job that has not ended; nil where there is none.
func (a *auditor) lastCall(id string) *call {
	calls := a.calls[id]
	if len(calls) == 0 {
		return nil
	}
	return calls[len(calls)-1]
}

// agrees notes where a record does not say what others on record make of it.
func (a *auditor) agrees(at scope, rec events.Record, name string, want, got any) {
	if want != got {
		a.tally.find(at, a.finding(rec, CheckJob, fmt.Sprintf("%s: %v", name, want), fmt.Sprintf("%s: %v", name, got)))
	}
}
