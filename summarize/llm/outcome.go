package llm

import (
	"time"

	"precis/events"
)

// What became of a call; usage.recorded states it. events has two more that are decided elsewhere:
// superseded, when a used text came too late.
const (
	CallUsed    = "used"
	CallRefused = "refused" // answered, and the answer was not adopted
	CallFailed  = "failed"  // not answered, or a part of a whole that came to nothing
	CallUnknown = "unknown" // its answer was lost, and may have been billed; its usage is an estimate
)

// Call is one HTTP request to a provider.
type Call struct {
	Provider string
	Model    string // the one that was asked for; where only the provider's own name for it has a price, that
	Attempt  int    // counts up from 1 over all calls of the job
	Outcome  string
	Why      string // the Kind or the Refusal; empty where it was used
	Billed   bool   // the provider charges for it, or may
	Usage    Usage
	Cost     *int64 // micro-dollars; nil is unknown
	Latency  time.Duration
	Day      string // the UTC day of the budget that it counts for
}

// Outcome is how a job ended: with a Text, or with a Failure, or, where the context ended first or the job's
// Begin refused a call, with that error.
type Outcome struct {
	Text           string
	Method         string // events.MethodLLM, MethodRules or MethodTruncation
	FallbackReason string // why it is not the first provider's; empty where it is
	Provider       string // of the text; empty unless a model made it
	Model          string // the configured one
	Calls          []Call
	PriceTable     string
	Failure        *Failure
	Err            error
}

// Failure is a job that came to nothing.
type Failure struct {
	Code    string // the last rung's reason: a Kind, a Refusal, "budget_exhausted", "circuit_open", "queue_full"
	Message string // the whole way down
}

// Usage sums the calls up, as a summary record states it. It is an estimate if a part of it is, and has
// no source where nothing was called, or nobody answered with what was used.
func (o Outcome) Usage() events.Usage {
	sum := events.Usage{Attempts: len(o.Calls)}
	for _, c := range o.Calls {
		sum.InputTokens += c.Usage.InputTokens
		sum.OutputTokens += c.Usage.OutputTokens
		sum.CachedInputTokens += c.Usage.CachedInputTokens
		sum.CacheCreationInputTokens += c.Usage.CacheWriteTokens
		sum.LatencyMS += c.Latency.Milliseconds()
		if c.Usage.Source != "" && sum.Source != FromEstimate {
			sum.Source = events.OrNull(c.Usage.Source)
		}
	}
	return sum
}

// Cost sums the paid calls up: each is rounded by itself, and one that is unknown makes the sum unknown.
func (o Outcome) Cost() events.Cost {
	cost := events.Cost{Currency: "USD"}
	var sum int64
	for _, c := range o.Calls {
		if !c.Billed {
			continue
		}
		cost.PriceTable = events.OrNull(o.PriceTable)
		if c.Cost == nil {
			return cost
		}
		sum += *c.Cost
	}
	cost.AmountMicroUSD = &sum
	return cost
}

// Record is the call as a usage.recorded event states it.
func (c Call) Record(priceTable string) (events.Usage, events.Cost) {
	u := events.Usage{
		InputTokens: c.Usage.InputTokens, OutputTokens: c.Usage.OutputTokens, CachedInputTokens: c.Usage.CachedInputTokens,
		CacheCreationInputTokens: c.Usage.CacheWriteTokens,
		Attempts:                 1, LatencyMS: c.Latency.Milliseconds(), Source: events.OrNull(c.Usage.Source),
	}
	return u, events.Cost{AmountMicroUSD: c.Cost, Currency: "USD", PriceTable: events.OrNull(priceTable)}
}
