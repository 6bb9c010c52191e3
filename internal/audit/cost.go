package audit

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"precis/events"
	"precis/internal/thread"
	"precis/summarize/llm"
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
		a.expect(r, CheckJob, fmt.Sprintf("call %d, event %d", job.Attempts+1, job.Started.EventSeq), fmt.Sprintf("call %d, event %d", rec.Attempt, rec.EventSeq))
	}
	a.possible(r, rec)
	a.priced(r, rec)
}

// possible checks a call against what no call can be.
func (a *auditor) possible(r *onRecord, rec *events.UsageRecord) {
	u := rec.Usage
	a.agrees(r, "outcome", true, slices.Contains([]string{llm.CallUsed, llm.CallRefused, llm.CallFailed, callSuperseded, llm.CallUnknown}, rec.Outcome))
	a.expect(r, CheckCost, "attempts 1", fmt.Sprint("attempts ", u.Attempts))
	if !slices.Contains([]events.OrNull{"", llm.FromProvider, llm.FromEstimate}, u.Source) {
		a.find(r, CheckCost, "source provider, estimate or null", "source "+string(u.Source))
	}
	if least := min(u.InputTokens, u.OutputTokens, u.CachedInputTokens, u.CacheCreationInputTokens, u.LatencyMS); least < 0 {
		a.find(r, CheckCost, "no amount below 0", fmt.Sprint(least))
	}
	began := a.job(rec.SummaryID).madeAt
	if longest := max(r.staged.Made.Sub(began), 0) + clocks; !began.IsZero() && time.Duration(u.LatencyMS)*time.Millisecond > longest {
		a.find(r, CheckTimes, "a latency of no more than "+longest.String()+": its job began then", fmt.Sprint(u.LatencyMS, " ms"))
	}
}

// stands reports whether a job's answer can be used.
func (a *auditor) stands(st *thread.State, job *thread.Job) bool {
	return !job.Superseded && a.lane.fold.JobPolicy(st, job) != nil
}

// longestJob bounds the days between the event of a job and its last call.
const longestJob = 1000

// priced checks a call's cost against its usage, at the prices of the model and table that it names.
func (a *auditor) priced(r *onRecord, rec *events.UsageRecord) {
	name := string(rec.Cost.PriceTable)
	table := a.tables[name]
	a.expect(r, CheckCost, "currency "+pricing.Currency, "currency "+rec.Cost.Currency)
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
	// The price is that of the day on which the call began. The record is written when the job ends, or when a restarted processor finds
	// the answer lost: that can be days later, and the job's event days before the job.
	when, began := r.staged.Made, a.job(rec.SummaryID).madeAt
	want := table.Cost(tokens, when, rec.Model)
	for day := when; ; day = day.AddDate(0, 0, -1) {
		if equal(table.Cost(tokens, day, rec.Model), rec.Cost.AmountMicroUSD) {
			a.tally.holds(r.scope, CheckCost)
			return
		}
		if day.Before(when) && day.Before(began) || day.Before(when.AddDate(0, 0, -longestJob)) {
			break
		}
	}
	a.find(r, CheckCost, micro(want)+" by price table "+name, micro(rec.Cost.AmountMicroUSD))
}

// spent checks the cost that a job reports against its calls on record, and ends the job. A job reports the paid calls of its
// attempts; one that was restarted counts only its last run, which made the last calls on record.
func (a *auditor) spent(r *onRecord, id string, usage events.Usage, cost events.Cost) {
	calls := a.job(id).calls
	delete(a.jobs, id)
	said := spending{usage, cost}
	for n := 0; ; n++ {
		sum := spentBy(calls[len(calls)-n:])
		if sum.usage.Attempts = usage.Attempts; n < usage.Attempts { // calls that ended in an error took time too
			sum.usage.LatencyMS = max(sum.usage.LatencyMS, usage.LatencyMS)
		}
		if sum.String() == said.String() {
			a.tally.holds(r.scope, CheckCost)
			return
		}
		if n == min(usage.Attempts, len(calls)) {
			a.find(r, CheckCost, sum.String()+" by its calls", said.String())
			return
		}
	}
}

// spending is what a summary says that it took.
type spending struct {
	usage events.Usage
	cost  events.Cost
}

// spentBy sums calls up, as a job does. Calls that ended in an error are not on record: they have no tokens and no cost.
func spentBy(calls []*call) spending {
	s := spending{cost: events.Cost{AmountMicroUSD: new(int64), Currency: pricing.Currency}}
	bill := Bill{CostMicroUSD: new(int64)}
	for _, c := range calls {
		bill.add(c.UsageRecord)
		s.usage.Attempts++
		s.usage.CachedInputTokens += c.Usage.CachedInputTokens
		s.usage.CacheCreationInputTokens += c.Usage.CacheCreationInputTokens
		s.usage.LatencyMS += c.Usage.LatencyMS
		if c.Usage.Source != "" && s.usage.Source != llm.FromEstimate {
			s.usage.Source = c.Usage.Source
		}
		s.cost.PriceTable = c.Cost.PriceTable
	}
	s.usage.InputTokens, s.usage.OutputTokens, s.cost.AmountMicroUSD = bill.InputTokens, bill.OutputTokens, bill.CostMicroUSD
	return s
}

func (s spending) String() string {
	u := s.usage
	return fmt.Sprintf("%d tokens in (%d cached, %d written), %d out (%s), %s %s by %s, %d attempts in %d ms",
		u.InputTokens, u.CachedInputTokens, u.CacheCreationInputTokens, u.OutputTokens, cmp.Or(string(u.Source), "null"),
		micro(s.cost.AmountMicroUSD), s.cost.Currency, cmp.Or(string(s.cost.PriceTable), "null"), u.Attempts, u.LatencyMS)
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

func equal(a, b *int64) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }

func micro(amount *int64) string {
	if amount == nil {
		return "unknown"
	}
	return fmt.Sprintf("%d micro-dollars", *amount)
}
