package audit

import (
	"fmt"

	"precis/events"
	"precis/internal/fold"
	"precis/internal/thread"
	"precis/summarize/pricing"
)

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
