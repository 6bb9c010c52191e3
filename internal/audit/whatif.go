package audit

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/fold"
	"precis/internal/jobs"
	"precis/internal/savings"
	"precis/internal/thread"
	"precis/state"
	"precis/summarize"
	"precis/summarize/llm"
	"precis/summarize/pricing"
	"precis/summarize/tokens"
)

// WhatIf is the same log as it happened, and under another configuration.
type WhatIf struct {
	Happened  Totals `json:"happened"`
	Imagined  Totals `json:"imagined"`
	Log       Extent `json:"log"`
	Threads   uint64 `json:"threads"`
	Estimates []Bill `json:"estimates"`
	// Savings are those of both; null unless Options.Savings is set. What providers reported was of what happened.
	Savings *BothSavings `json:"savings"`
	// Findings counts the findings of a replay of what happened.
	Findings uint64  `json:"findings"`
	Seconds  float64 `json:"seconds"`
}

// BothSavings are what happened and what would have, at the same prices.
type BothSavings struct {
	Happened savings.Sums `json:"happened"`
	Imagined savings.Sums `json:"imagined"`
}

// Bill is what the imagined rule-based summaries would cost if one model made them all: an estimate from the tokens of
// their sources and their own.
type Bill struct {
	Provider     string `json:"provider"`
	Model        string `json:"model"`
	Calls        uint64 `json:"calls"`
	InputTokens  int64  `json:"input_tokens"`
	OutputTokens int64  `json:"output_tokens"`
	CostMicroUSD *int64 `json:"cost_microusd"` // null if the model has no price
}

// Imagine folds the log under another configuration, without anything on record, and sets the result beside what
// happened. It makes no calls and publishes nothing: where the configuration asks for a model, the rules stand in for
// it, and its calls are priced by an estimate. scratch is a second store to be discarded.
func Imagine(ctx context.Context, o Options, scratch *state.Store, c *fold.Config) (*WhatIf, error) {
	began := o.Now()
	o.Rules, o.Store = false, nil
	was, err := newReplay(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("replay what happened: %w", err)
	}
	for range was.parts {
		was.weights = append(was.weights, map[uint64]int64{})
	}
	happenedBooks, imaginedBooks := o.books(true), o.books(false)
	was.watch = happenedBooks.beside(was.watch)
	happened, err := was.report(ctx)
	if err != nil {
		return nil, fmt.Errorf("replay what happened: %w", err)
	}
	w := &WhatIf{
		Happened: happened.Totals, Log: happened.Log, Threads: happened.Threads,
		Findings: uint64(len(happened.Findings)) + happened.More,
	}
	o.Scratch = scratch
	im, err := newImagination(ctx, o, c, was.weights)
	if err != nil {
		return nil, err
	}
	im.watch = imaginedBooks.beside(im.watch)
	if err := im.rebuild(ctx, func() {}); err != nil {
		return nil, fmt.Errorf("replay under the other configuration: %w", err)
	}
	if err := im.totals.end(scratch, im.strays, o.Filter); err != nil {
		return nil, err
	}
	w.Imagined = im.totals
	for _, name := range slices.Sorted(maps.Keys(im.bills)) {
		w.Estimates = append(w.Estimates, *im.bills[name])
	}
	if o.Savings != nil {
		w.Savings = &BothSavings{}
		if w.Savings.Happened, err = happenedBooks.total(); err == nil {
			w.Savings.Imagined, err = imaginedBooks.total()
		}
	}
	w.Seconds = o.Now().Sub(began).Seconds()
	return w, err
}

// imagination is one run under another configuration.
type imagination struct {
	*run
	prices *pricing.Table
	runner *jobs.Runner

	mu     sync.Mutex // partitions are folded in parallel
	totals Totals
	bills  map[string]*Bill // by provider
}

func newImagination(ctx context.Context, o Options, c *fold.Config, held []map[uint64]int64) (*imagination, error) {
	im := &imagination{bills: map[string]*Bill{}}
	var err error
	if im.prices, err = pricing.Parse(c.PriceTable); err != nil {
		return nil, err
	}
	if im.run, err = newRun(ctx, o); err != nil {
		return nil, err
	}
	im.under, im.watch = c, func(l *lane, o *fold.Options) {
		i := &imagined{imagination: im, lane: l}
		l.watch, o.Watch, o.Observe = i, i, i.observe
		o.HeldAt = func(seq uint64, now int64) int64 {
			if was, ok := held[l.id][seq]; ok {
				return was
			}
			return now
		}
	}
	if !o.Filter.To.IsZero() {
		if err := im.upToTime(ctx, o.Filter.To); err != nil {
			return nil, err
		}
	}
	im.runner, err = rulesRunner(im.run, o.Mask)
	return im, err
}

// weighed notes what a prompt held whose weight its provider reported. Under another configuration the thread's prompt holds
// something else, but what the provider weighed is this one: what it weighed beyond the thread (system prompt, tools) is the same.
func (a *auditor) weighed(s fold.Stepped) {
	c, m := s.State.Compaction, s.State.Message
	if a.weights == nil || c == nil || m == nil || c.Reported.At != m.Ordinal || m.FirstSeq != s.Delivery.Seq {
		return
	}
	a.weights[a.lane.id][m.FirstSeq] = c.Reported.Held
}

// imagined is the watch of one lane of an imagination.
type imagined struct {
	*imagination
	lane    *lane
	now     time.Time
	touched int
}

// Nothing is on record, so nothing is adopted.

// Adopting implements fold.Watch.
func (*imagined) Adopting(*thread.State, *state.Staged, events.Record) {}

// Adopted implements fold.Watch.
func (*imagined) Adopted(*thread.State, *events.Summary) {}

// Refused implements fold.Watch.
func (*imagined) Refused(_ *state.Staged, why error) error { return why }

// Voided implements fold.Watch.
func (*imagined) Voided(*state.Staged) error { return nil }

// Stepped implements fold.Watch.
func (*imagined) Stepped(context.Context, fold.Stepped) error { return nil }

func (*imagined) done(context.Context) error { return nil }

func (i *imagined) begin(_ context.Context, m broker.Stored) error {
	i.now, i.touched = m.Time, len(i.lane.part.JobsTouched())
	return nil
}

// end runs the jobs that the event started, synchronously.
func (i *imagined) end(ctx context.Context, _ fold.Outcome) error {
	for _, job := range slices.Clone(i.lane.part.JobsTouched()[i.touched:]) {
		if err := i.job(ctx, job); err != nil {
			return err
		}
	}
	return nil
}

// job ends a job with the result of the rules, as if a model had made it.
func (i *imagined) job(ctx context.Context, job *thread.Job) error {
	name := *job.Started.ThreadID
	open, err := i.lane.part.Job(name, job.ID())
	if err != nil || open == nil || open.Superseded {
		return err
	}
	st, err := i.lane.part.LoadThread(name)
	if err != nil {
		return err
	}
	p := i.lane.fold.JobPolicy(st, job)
	if p == nil {
		return nil
	}
	policy := *p
	policy.OnFailure = "fallback"
	res, err := i.runner.Run(ctx, i.lane.part.View, &policy, job, nil)
	if err != nil {
		return fmt.Errorf("imagine %s: %w", job.ID(), err)
	}
	counter, err := tokens.For(p.Tokenizer)
	if err != nil {
		return err
	}
	provider := p.Provider
	if _, own := i.under.Providers[provider]; !own {
		provider = summarize.ProviderMain
	}
	size := llm.BuiltinPrompt(job.Started.Kind).Size(counter.Count)
	call := i.call(provider, res.Tokens+int64(size), int64(counter.Count(res.Text)))
	res.Calls, res.Usage, res.Cost = []events.UsageRecord{call}, call.Usage, call.Cost
	if res.Text != "" {
		res.Method, res.FallbackReason, res.Provider, res.Model, res.Tool = events.MethodLLM, "", provider, call.Model, nil
	}
	return i.lane.fold.Finish(name, job.ID(), res, i.now)
}

// call is a model's call as it might have been.
func (i *imagined) call(provider string, in, out int64) events.UsageRecord {
	model := i.under.Providers[provider].Model
	rec := events.UsageRecord{
		Provider: provider, Model: model, Outcome: llm.CallUsed,
		Usage: events.Usage{InputTokens: in, OutputTokens: out, Attempts: 1, Source: llm.FromEstimate},
		Cost:  events.Cost{Currency: pricing.Currency},
	}
	if i.prices != nil {
		rec.Cost.AmountMicroUSD = i.prices.Cost(pricing.Tokens{Input: in, Output: out}, i.now, model)
		rec.Cost.PriceTable = events.OrNull(i.prices.Name())
	}
	return rec
}

// observe counts what the fold decides.
func (i *imagined) observe(d fold.Decided) {
	head := d.Record.Common()
	at := scope{agent: d.Agent, at: i.now}
	if head.ThreadID != nil {
		at.thread = *head.ThreadID
	}
	if !i.Filter.takes(at) {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.totals.add(d.Record)
	if rec, ok := d.Record.(*events.Summary); ok && rec.Method == events.MethodRules {
		i.bill(rec)
	}
}

// bill notes what each provider's model would cost for a rule-based summary.
func (i *imagined) bill(rec *events.Summary) {
	counter, err := tokens.For(rec.Tokenizer)
	if err != nil {
		return // can't happen: that tokenizer counted it
	}
	size := int64(llm.BuiltinPrompt(rec.Kind).Size(counter.Count))
	for name := range i.under.Providers {
		call := i.call(name, rec.TokenCountBefore+size, rec.TokenCountAfter)
		b := i.bills[name]
		if b == nil {
			b = &Bill{Provider: name, Model: call.Model, CostMicroUSD: new(int64)}
			i.bills[name] = b
		}
		b.add(&call)
	}
}
