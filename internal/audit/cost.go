package audit

import (
	"fmt"
	"time"

	"precis/events"
	"precis/internal/thread"
	"precis/summarize/pricing"
)

// call is a paid call on record.
type call struct {
	*events.UsageRecord
	inTime bool // the job could still use its answer when it was recorded
}

// usage checks a call against its job, and its cost against its usage. The job starts before the call on record and
// ends after it, even if the answer came too late.
func (a *auditor) usage(r *onRecord, rec *events.UsageRecord) {
	if job := r.st.Job(rec.SummaryID); job == nil {
		a.find(r, CheckJob, "a summary.started of that id before it, which has not ended", "none")
	} else {
		open := a.job(rec.SummaryID)
		open.calls = append(open.calls, &call{UsageRecord: rec, inTime: a.stands(r.st, job)})
		a.expect(r, CheckJob, fmt.Sprintf("call %d", job.Attempts+1), fmt.Sprintf("call %d", rec.Attempt))
	}
	a.priced(r, rec)
}

// stands reports whether a job's answer can be used.
func (a *auditor) stands(st *thread.State, job *thread.Job) bool {
	return !job.Superseded && a.lane.fold.JobPolicy(st, job) != nil
}

// priced checks a call's cost against its usage, at the prices of the model and table that it names.
func (a *auditor) priced(r *onRecord, rec *events.UsageRecord) {
	name := string(rec.Cost.PriceTable)
	table := a.tables[name]
	switch {
	case name == "":
		if rec.Cost.AmountMicroUSD != nil && *rec.Cost.AmountMicroUSD != 0 {
			a.find(r, CheckCost, "the price table that it is from", "a cost without one")
		}
		return
	case table == nil && len(a.tables) == 0:
		a.tally.doubt(r.scope, "no prices are on record")
		return
	case table == nil:
		a.find(r, CheckCost, "a price table that was in force", name)
		return
	}
	tokens := pricing.Tokens{
		Input: rec.Usage.InputTokens, CachedInput: rec.Usage.CachedInputTokens,
		CacheWrite: rec.Usage.CacheCreationInputTokens, Output: rec.Usage.OutputTokens,
	}
	var want *int64
	// The price is that of the day on which the call began. The record is written when the job ends, or when a
	// restarted processor finds the answer lost.
	when := r.staged.Time
	for _, day := range []time.Time{a.job(rec.SummaryID).startedAt, when.AddDate(0, 0, -1), when.Add(-time.Duration(rec.Usage.LatencyMS) * time.Millisecond), when} {
		if want = table.Cost(tokens, day, rec.Model); equal(want, rec.Cost.AmountMicroUSD) {
			a.tally.holds(r.scope, CheckCost)
			return
		}
	}
	a.find(r, CheckCost, micro(want)+" by price table "+name, micro(rec.Cost.AmountMicroUSD))
}

// spent checks the cost that a job reports against its calls on record, and ends the job. A job reports the paid calls of its
// attempts; one that was restarted counts only its last run, which made the last calls on record.
func (a *auditor) spent(r *onRecord, id string, usage events.Usage, cost events.Cost) {
	calls := a.job(id).calls
	delete(a.jobs, id)
	said := Bill{InputTokens: usage.InputTokens, OutputTokens: usage.OutputTokens, CostMicroUSD: cost.AmountMicroUSD}
	sum := Bill{CostMicroUSD: new(int64)}
	for n := 0; ; n++ {
		if sum.String() == said.String() {
			a.tally.holds(r.scope, CheckCost)
			return
		}
		if n == min(usage.Attempts, len(calls)) {
			a.find(r, CheckCost, sum.String()+" by its calls", said.String())
			return
		}
		sum.add(calls[len(calls)-1-n].UsageRecord)
	}
}

// add adds a call. One unknown cost makes the total unknown.
func (b *Bill) add(call *events.UsageRecord) {
	b.Calls++
	b.InputTokens += call.Usage.InputTokens
	b.OutputTokens += call.Usage.OutputTokens
	if b.CostMicroUSD == nil || call.Cost.AmountMicroUSD == nil {
		b.CostMicroUSD = nil
		return
	}
	total := *b.CostMicroUSD + *call.Cost.AmountMicroUSD
	b.CostMicroUSD = &total
}

func (b *Bill) String() string {
	return fmt.Sprintf("%d tokens in, %d out, %s", b.InputTokens, b.OutputTokens, micro(b.CostMicroUSD))
}

func equal(a, b *int64) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }

func micro(amount *int64) string {
	if amount == nil {
		return "unknown"
	}
	return fmt.Sprintf("%d micro-dollars", *amount)
}
