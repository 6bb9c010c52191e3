package llm

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"precis/events"
	"precis/summarize/lex"
	"precis/summarize/pricing"
)

// Ladder runs jobs. It is safe for concurrent use, and starts no goroutine of its own.
type Ladder struct {
	options   Options
	endpoints map[string]*endpoint
}

// New makes a ladder over the providers. Errors wrap ErrProvider and name the one that can't be.
func New(o Options) (*Ladder, error) {
	o = o.WithDefaults()
	l := &Ladder{options: o, endpoints: map[string]*endpoint{}}
	for _, name := range slices.Sorted(maps.Keys(o.Providers)) {
		e, err := newEndpoint(name, o.Providers[name], o)
		if err != nil {
			l.Close()
			return nil, fmt.Errorf("provider %s: %w", name, err)
		}
		l.endpoints[name] = e
	}
	return l, nil
}

// Close lets go of idle connections. No job may be running.
func (l *Ladder) Close() {
	for _, e := range l.endpoints {
		e.provider.Close()
	}
}

// Run does a job. It blocks until there is an Outcome, which is at the latest when the context ends.
func (l *Ladder) Run(ctx context.Context, job Job) Outcome {
	r := newRun(l.options, job)
	for _, e := range l.rungs(job.Providers) {
		text, err := r.summarize(ctx, e)
		if err == nil {
			return r.adopted(e, text)
		}
		r.discard()
		if ctx.Err() != nil {
			return r.interrupted(ctx.Err())
		}
		if r.stopped != nil {
			return r.interrupted(r.stopped)
		}
		r.fell(e, err)
	}
	return r.withoutModel()
}

func (l *Ladder) rungs(names []string) []*endpoint {
	var out []*endpoint
	for _, name := range names {
		if e, ok := l.endpoints[name]; ok && !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	return out
}

// PriceTable names the prices that calls are costed by.
func (l *Ladder) PriceTable() string { return l.options.Prices.Name() }

// Mask takes secrets out of a text, as it is done with all that a job makes.
func (l *Ladder) Mask(text string) string { return l.options.Mask(text) }

// Job is one summary to be made. Its functions are called from the goroutine that runs it.
type Job struct {
	Kind     string // events.KindToolResult, KindCompaction or KindHistory
	Category string // of a tool output
	ToolName string
	Content  string            // the tool's output, or the messages as text
	Relevant *events.LineRange // of a file; nil: its middle third

	MaxChars      int // of the summary; 0: no such limit
	MaxTokens     int // of the summary; 0: no such limit
	MaxInputChars int // of the material of one call; beyond it, parts are summarized and merged; 0: no limit

	Prompts   Prompts
	Providers []string              // names, in order; one that is named twice or that the ladder does not have is left out
	Tokens    func(text string) int // counts for MaxTokens, and where a provider does not say

	// Facts gives what must not get lost, the most important first, out of the masked content. May be nil.
	Facts func(content string) []string
	// Rules and Truncate make the summary without a model, out of the masked content. A nil one, an empty
	// text and one that is over the budget are passed over.
	Rules    func(content string) string
	Truncate func(content string) string
	// Begin is called for each call when it has its place and its turn, just before the request leaves, with all calls of
	// the job as they are to be recorded if the process ends now: those before it with their usage, and the new one as
	// unknown, with an estimate of its input. An error keeps the call from being made and ends the job. May be nil.
	Begin func(ctx context.Context, calls []Call) error
	// Called receives each call that was made, when it is over. May be nil.
	Called func(Made)

	// FailWithoutModel: no rules, no truncation (the policy's on_failure: fail).
	FailWithoutModel bool
}

func (j Job) limits(content string) limits {
	l := limits{chars: j.MaxChars, tokens: j.MaxTokens, source: lex.Runes(content), count: j.Tokens}
	if l.count == nil {
		l.count = roughly
	}
	return l
}

// roughly counts tokens from bytes alone.
func roughly(text string) int { return (len(text) + charsPerToken - 1) / charsPerToken }

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

// Made is a call that is over. Whether its text is used is not decided yet.
type Made struct {
	Call
	Began     time.Time
	Kind      string // of the provider
	Host      string
	Requested string // the model that was asked for
	Reported  string // the model that answered, in the provider's words; empty if it does not say
	Err       error  // of a call that failed; an *Error where it was sent
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
// no source if no call was made, or if no answer stated its usage.
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
	cost := events.Cost{Currency: pricing.Currency}
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
	return u, events.Cost{AmountMicroUSD: c.Cost, Currency: pricing.Currency, PriceTable: events.OrNull(priceTable)}
}
