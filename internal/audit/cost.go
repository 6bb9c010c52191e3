package audit

import (
	"fmt"
	"time"

	"precis/events"
	"precis/internal/thread"
	"precis/summarize/pricing"
)

// prices holds the price tables that were in force, by name.
type prices struct {
	tables map[string]*pricing.Table
}

// apply adds the price table of a config.applied.
func (p *prices) apply(rec *events.Config) {
	table, err := pricing.Parse(rec.PriceTable)
	if err != nil || table == nil {
		return
	}
	if p.tables == nil {
		p.tables = map[string]*pricing.Table{}
	}
	p.tables[table.Name()] = table
}

// usage checks a call against its job, and its cost against its usage. The job starts before the call on record and
// ends after it, even if the answer came too late.
func (a *auditor) usage(at scope, st *thread.State, rec *events.UsageRecord, when time.Time) {
	if job := st.Job(rec.SummaryID); job == nil {
		a.tally.find(at, a.finding(rec, CheckJob, "a summary.started of that id before it, which has not ended", "none"))
	} else {
		a.calls[rec.SummaryID] = append(a.calls[rec.SummaryID], &call{UsageRecord: rec, inTime: a.stands(st, job)})
		if want := job.Attempts + 1; rec.Attempt != want {
			a.tally.find(at, a.finding(rec, CheckJob, fmt.Sprintf("call %d of its job", want), fmt.Sprintf("call %d", rec.Attempt)))
		}
	}
	a.priced(at, rec, when)
}

// call is a paid call on record.
type call struct {
	*events.UsageRecord
	inTime bool // the job could still use its answer when it was recorded
}

// stands reports whether a job's answer can be used.
func (a *auditor) stands(st *thread.State, job *thread.Job) bool {
	return !job.Superseded && a.lane.fold.JobPolicy(st, job) != nil
}

// priced checks a call's cost against its usage, at the prices of the model and table that it names.
func (a *auditor) priced(at scope, rec *events.UsageRecord, when time.Time) {
	name := string(rec.Cost.PriceTable)
	if name == "" {
		if rec.Cost.AmountMicroUSD != nil && *rec.Cost.AmountMicroUSD != 0 {
			a.tally.find(at, a.finding(rec, CheckCost, "the price table that it is from", "a cost without one"))
		}
		return
	}
	table := a.tables[name]
	if table == nil {
		a.unpriced(at, rec, name)
		return
	}
	tokens := pricing.Tokens{
		Input: rec.Usage.InputTokens, CachedInput: rec.Usage.CachedInputTokens,
		CacheWrite: rec.Usage.CacheCreationInputTokens, Output: rec.Usage.OutputTokens,
	}
	var want *int64
	// The price is that of the day on which the call began. The record is written when the job ends, or when a
	// restarted processor finds the answer lost.
	for _, day := range []time.Time{a.startedAt[rec.SummaryID], when.AddDate(0, 0, -1), when.Add(-time.Duration(rec.Usage.LatencyMS) * time.Millisecond), when} {
		if want = table.Cost(tokens, day, rec.Model); equal(want, rec.Cost.AmountMicroUSD) {
			a.tally.holds(at, CheckCost)
			return
		}
	}
	a.tally.find(at, a.finding(rec, CheckCost, micro(want)+" by price table "+name, micro(rec.Cost.AmountMicroUSD)))
}

func (a *auditor) unpriced(at scope, rec *events.UsageRecord, name string) {
	if len(a.tables) == 0 {
		a.tally.doubt(at, "no prices are on record")
		return
	}
	a.tally.find(at, a.finding(rec, CheckCost, "a price table that was in force", name))
}

// free checks that a summary made without a call costs nothing.
func (a *auditor) free(at scope, rec *events.Summary) {
	if got := rec.Cost.AmountMicroUSD; got == nil || *got != 0 {
		a.tally.find(at, a.finding(rec, CheckCost, micro(new(int64)), micro(got)))
	}
}

// spent checks the cost that a job reports against its calls on record. A job reports the paid calls of its attempts;
// one that was restarted counts only its last run, which made the last calls on record.
func (a *auditor) spent(at scope, rec events.Record, id string, usage events.Usage, cost events.Cost) {
	calls := a.calls[id]
	delete(a.calls, id)
	said := bill{usage.InputTokens, usage.OutputTokens, cost.AmountMicroUSD}
	sum := bill{cost: new(int64)}
	for n := 0; ; n++ {
		if sum.in == said.in && sum.out == said.out && equal(sum.cost, said.cost) {
			a.tally.holds(at, CheckCost)
			return
		}
		if n == min(usage.Attempts, len(calls)) {
			a.tally.find(at, a.finding(rec, CheckCost, sum.String()+" by its calls", said.String()))
			return
		}
		sum = sum.with(calls[len(calls)-1-n].UsageRecord)
	}
}

// bill is the usage and cost of calls. One unknown cost makes the total unknown.
type bill struct {
	in, out int64
	cost    *int64
}

func (b bill) with(call *events.UsageRecord) bill {
	b.in, b.out = b.in+call.Usage.InputTokens, b.out+call.Usage.OutputTokens
	if b.cost == nil || call.Cost.AmountMicroUSD == nil {
		b.cost = nil
		return b
	}
	total := *b.cost + *call.Cost.AmountMicroUSD
	b.cost = &total
	return b
}

func (b bill) String() string {
	return fmt.Sprintf("%d tokens in, %d out, %s", b.in, b.out, micro(b.cost))
}

func equal(a, b *int64) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }

func micro(amount *int64) string {
	if amount == nil {
		return "unknown"
	}
	return fmt.Sprintf("%d micro-dollars", *amount)
}
