package llm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"precis/events"
	"precis/summarize/pricing"
)

// run is one job on its way down the ladder. It belongs to one goroutine.
type run struct {
	options Options
	job     Job
	content string // masked
	prompt  Prompt
	limits  limits
	facts   []string
	file    *file // where the content is one

	calls    []Call
	reserved int      // calls before this one belong to rungs that did not hold
	reasons  []string // "summarizer: overloaded"
	last     string   // the last reason's word
	stopped  error    // the job's Begin refused a call
}

func newRun(o Options, job Job) *run {
	content := o.Mask(strings.ToValidUTF8(job.Content, "\uFFFD"))
	r := &run{
		options: o, job: job, content: content,
		prompt: job.Prompts.For(job.Kind, job.Category),
		limits: job.limits(content),
	}
	if job.Category == fileContent {
		r.file = newFile(content, job.Relevant, r.limits)
	}
	if job.Facts != nil && len(job.Providers) > 0 {
		r.facts = job.Facts(content)
	}
	return r
}

// adopted makes the outcome of a model's text: facts put back, masked as everything that is published.
func (r *run) adopted(e *endpoint, text string) Outcome {
	if r.file != nil {
		text = r.file.with(text)
	}
	text = r.options.Mask(keepFacts(text, r.facts, r.limits.fits))
	o := r.outcome(text, events.MethodLLM)
	o.Provider, o.Model = e.name, e.config.Model
	return o
}

// fell notes why a rung did not hold.
func (r *run) fell(e *endpoint, err error) {
	r.last = reasonOf(err)
	reason := e.name + ": " + r.last
	if n := len(r.calls) - r.reserved; n > 1 {
		reason = fmt.Sprintf("%s (%d calls)", reason, n)
	}
	r.reserved = len(r.calls)
	r.reasons = append(r.reasons, reason)
}

// discard takes back what the rung's calls were marked as when it seemed to hold.
func (r *run) discard() {
	for i := range r.calls {
		r.calls[i].discard()
	}
}

func (c *Call) discard() {
	if c.Outcome == CallUsed {
		c.Outcome, c.Why = CallFailed, "not_used"
	}
}

func (r *run) withoutModel() Outcome {
	if len(r.reasons) == 0 {
		r.last, r.reasons = "no_provider", []string{"no provider"}
	}
	if r.job.FailWithoutModel {
		return r.failed()
	}
	rungs := []struct {
		method string
		make   func(string) string
	}{{events.MethodRules, r.job.Rules}, {events.MethodTruncation, r.job.Truncate}}
	for _, rung := range rungs {
		if rung.make == nil {
			continue
		}
		text := r.options.Mask(rung.make(r.content))
		if text != "" && r.limits.fits(text) {
			return r.outcome(text, rung.method)
		}
		r.last = "no_room"
		r.reasons = append(r.reasons, rung.method+": no room")
	}
	return r.failed()
}

func (r *run) failed() Outcome {
	o := r.outcome("", "")
	o.FallbackReason = ""
	o.Failure = &Failure{Code: r.last, Message: strings.Join(r.reasons, "; ")}
	return o
}

func (r *run) interrupted(err error) Outcome {
	return Outcome{Calls: r.calls, PriceTable: r.options.Prices.Name(), Err: err}
}

func (r *run) outcome(text, method string) Outcome {
	return Outcome{
		Text: text, Method: method, FallbackReason: strings.Join(r.reasons, "; "),
		Calls: r.calls, PriceTable: r.options.Prices.Name(),
	}
}

// call makes one request as often as the endpoint sees fit, and notes every attempt.
func (r *run) call(ctx context.Context, e *endpoint, req Request) (Reply, error) {
	guess := Usage{InputTokens: int64(r.limits.count(req.System) + r.limits.count(req.User)), Source: FromEstimate}
	return e.do(ctx, func(ctx context.Context) (Reply, error) { return r.attempt(ctx, e, req, guess) })
}

func (r *run) attempt(ctx context.Context, e *endpoint, req Request, guess Usage) (Reply, error) {
	at := r.options.Now()
	day := dayOf(at)
	most := Usage{InputTokens: guess.InputTokens, OutputTokens: int64(req.MaxTokens + thinkingRoom(req.Model))}
	_, held := r.price(e, at, most, "")
	if held == nil && e.config.BudgetMicroUSDPerDay > 0 {
		return Reply{}, errNoPrice
	}
	if !e.purse.hold(day, amount(held)) {
		return Reply{}, errBudget
	}
	call := Call{Provider: e.name, Attempt: len(r.calls) + 1, Day: day}
	call.unanswered(guess)
	call.Model, call.Cost = r.price(e, at, call.Usage, "")
	if err := r.begin(ctx, call); err != nil {
		e.purse.settle(day, amount(held), 0)
		return Reply{}, err
	}
	start := r.options.Now()
	one, cancel := context.WithTimeout(ctx, e.config.Timeout)
	defer cancel()
	reply, err := e.provider.Complete(one, req)
	call.Latency = r.options.Now().Sub(start)
	if err != nil {
		call.failed(err, guess)
	} else {
		call.answered(&reply, guess, r.limits.count)
	}
	call.Model, call.Cost = r.price(e, at, call.Usage, reply.Model)
	r.calls = append(r.calls, call)
	e.purse.settle(day, amount(held), amount(call.Cost))
	if r.job.Called != nil {
		r.job.Called(Made{Call: call, Began: start, Kind: e.config.Kind, Host: e.host, Requested: e.config.Model, Reported: reply.Model, Err: err})
	}
	return reply, err
}

// begin reports a call that is about to leave to the job's owner, behind the calls before it as they are to be
// recorded if the process ends now: a text of theirs is used by nothing then.
func (r *run) begin(ctx context.Context, next Call) error {
	if r.job.Begin == nil {
		return nil
	}
	calls := append(slices.Clone(r.calls), next)
	for i := range calls {
		calls[i].discard()
	}
	r.stopped = r.job.Begin(ctx, calls)
	return r.stopped
}

// unanswered: the call may be billed, and its usage is at least what was sent.
func (c *Call) unanswered(guess Usage) {
	c.Outcome, c.Billed, c.Usage = CallUnknown, true, guess
}

// failed: an error status is not billed, and reports no usage.
func (c *Call) failed(err error, guess Usage) {
	c.Why = reasonOf(err)
	if e, ok := errors.AsType[*Error](err); ok && e.lost() {
		c.unanswered(guess)
		return
	}
	c.Outcome, c.Billed, c.Usage = CallFailed, false, Usage{}
}

func (c *Call) answered(reply *Reply, guess Usage, count func(string) int) {
	if !reply.Usage.known() {
		guess.OutputTokens = int64(count(reply.Text))
		reply.Usage = guess
	}
	reply.Usage = reply.Usage.parts()
	c.Outcome, c.Billed, c.Usage = CallUsed, true, reply.Usage
}

// refuse notes that the last call's answer was not adopted.
func (r *run) refuse(err error) {
	last := &r.calls[len(r.calls)-1]
	last.Outcome, last.Why = CallRefused, reasonOf(err)
}

// price is what a call costs and the model whose price that is: the one that was asked for, unless only what
// the provider says it used has one. An alias that a gateway or a deployment made up is priced by that.
func (r *run) price(e *endpoint, at time.Time, u Usage, reported string) (model string, cost *int64) {
	used := pricing.Tokens{
		Input: u.InputTokens, CachedInput: u.CachedInputTokens, CacheWrite: u.CacheWriteTokens, Output: u.OutputTokens,
	}
	if cost = r.options.Prices.Cost(used, at, e.config.Model); cost == nil && reported != "" {
		if cost = r.options.Prices.Cost(used, at, reported); cost != nil {
			return reported, cost
		}
	}
	return e.config.Model, cost
}

func amount(micro *int64) int64 {
	if micro == nil {
		return 0
	}
	return *micro
}
