package jobs

import (
	"context"
	"fmt"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/content"
	"precis/internal/fold"
	"precis/internal/thread"
	"precis/internal/tracing"
	"precis/state"
	"precis/summarize"
	"precis/summarize/llm"
	"precis/summarize/rules"
)

// Runner computes the summaries of jobs. It is safe for concurrent use; the ladder enforces the limits of each
// provider.
type Runner struct {
	Ladder *llm.Ladder
	Log    *broker.LogReader // EVENTS
	// Summaries reads SUMMARIES.
	Summaries *broker.LogReader
	Called    func(ctx context.Context, made llm.Made) // receives each call that is over; may be nil
}

// Begin records the calls of a job, of which the last is about to be made, in the form in which they count if the
// process ends now. It returns when they are durable; on an error the call is not made.
type Begin func(ctx context.Context, calls []events.UsageRecord) error

// Run does a job. An error means that the job was not done. With ErrInterrupted, ctx ended or begin refused a call, and
// the result still holds the calls made so far. With any other error the sources could not be read and no call was made;
// Transient reports whether a retry may succeed. begin may be nil.
func (r *Runner) Run(ctx context.Context, view state.View, p *summarize.Policy, job *thread.Job, begin Begin) (fold.Result, error) {
	prepare := r.toolWork
	switch job.Started.Kind {
	case events.KindCompaction:
		prepare = r.compactionWork
	case events.KindHistory:
		prepare = r.historyWork
	}
	w, err := prepare(ctx, view, p, job)
	if err != nil {
		return fold.Result{}, fmt.Errorf("read sources of %s: %w", job.ID(), err)
	}
	if begin != nil {
		w.job.Begin = func(ctx context.Context, calls []llm.Call) error {
			return begin(ctx, records(calls, r.Ladder.PriceTable()))
		}
	}
	w.job.Called = func(made llm.Made) {
		tracing.Called(ctx, made)
		if r.Called != nil {
			r.Called(ctx, made)
		}
	}
	out := r.Ladder.Run(ctx, w.job)
	if out.Err != nil {
		return w.result(out), fmt.Errorf("%w: %w", ErrInterrupted, out.Err)
	}
	return w.result(out), nil
}

// work is a job that is ready for the ladder.
type work struct {
	job    llm.Job
	input  rules.Input
	tokens int64
	tool   *events.ToolSummary // of the rules, if they made the text

	// finish builds the summary from a model's answer; nil if the answer is the summary.
	finish func(text string) string
	// instead is the rules' result, for the case that no model answers and the ladder has no rules.
	instead string
}

// toolWork reads a tool output and the messages before it.
func (r *Runner) toolWork(ctx context.Context, view state.View, p *summarize.Policy, job *thread.Job) (*work, error) {
	call, err := callFor(p, job.Started.Kind)
	if err != nil {
		return nil, err
	}
	in, err := r.input(ctx, view, p, job)
	if err != nil {
		return nil, err
	}
	w := &work{input: in, tokens: int64(call.Tokens(in.Content))}
	masked := fold.MaskedInput(in, r.Ladder.Mask)
	w.input.ToolName, w.input.Arguments = masked.ToolName, masked.Arguments
	category := masked.Recognized()
	call.Category, call.ToolName, call.Content = string(category), masked.ToolName, masked.Content
	call.Relevant, call.MaxChars = in.Relevant, in.MaxChars
	call.Facts = func(content string) []string { return llm.Facts(w.byRules(content)) }
	call.Rules = w.byRules
	call.Truncate = func(content string) string {
		w.tool = nil
		return rules.HeadTail(content, category, in.MaxChars, rules.Original(in.Reader, in.MessageID))
	}
	w.job = call
	return w, nil
}

// byRules returns the rules' summary of the content, with secrets masked.
func (w *work) byRules(content string) string {
	in := w.input
	in.Content = content
	out, _, _ := fold.ByRules(in)
	w.tool = &out.Tool
	return out.Text
}

// input returns the rules' input: the message at its current revision, and what the thread contained before it.
func (r *Runner) input(ctx context.Context, view state.View, p *summarize.Policy, job *thread.Job) (rules.Input, error) {
	name, id := *job.Started.ThreadID, job.Started.SourceMessageIDs[0]
	m, err := view.Message(name, id)
	if err != nil {
		return rules.Input{}, err
	}
	if m == nil {
		return rules.Input{}, fmt.Errorf("%w: message %q has no row", state.ErrDamaged, id)
	}
	origin, err := content.Read(ctx, r.Log, m.FirstSeq)
	if err != nil {
		return rules.Input{}, err
	}
	log := content.Uncached{Log: r.Log}
	msg, err := content.Called(ctx, view, log, name, m.Ordinal, job.Started.EventSeq, origin.Message)
	if err != nil {
		return rules.Input{}, err
	}
	in := fold.InputOf(p, id, msg, msg.Content.Text())
	if m.Seq != m.FirstSeq {
		edit, err := content.Read(ctx, r.Log, m.Seq)
		if err != nil {
			return rules.Input{}, err
		}
		in.Content = edit.Edit.Content.Text()
	}
	in.Earlier, err = content.Earlier(ctx, view, log, name, m.Ordinal, content.EarlierAlone)
	return in, err
}

// result converts the outcome of a job for the fold.
func (w *work) result(out llm.Outcome) fold.Result {
	r := fold.Result{
		Text: out.Text, Method: out.Method, FallbackReason: out.FallbackReason,
		Provider: out.Provider, Model: out.Model,
		Chars: int64(len([]rune(w.input.Content))), Tokens: w.tokens,
		Usage: out.Usage(), Cost: out.Cost(),
	}
	if w.finish != nil && out.Text != "" {
		r.Text = w.finish(out.Text)
	}
	if out.Failure != nil && w.instead != "" && !w.job.FailWithoutModel {
		r.Text, r.Method, r.FallbackReason, out.Failure = w.instead, events.MethodRules, out.Failure.Message, nil
	}
	if out.Method == events.MethodRules {
		r.Tool = w.tool
	}
	r.Calls = records(out.Calls, out.PriceTable)
	if out.Failure != nil {
		r.Failure = &fold.Failure{Code: out.Failure.Code, Message: out.Failure.Message, Action: events.ActionFail}
	}
	return r
}

// records returns the paid calls: a call that ended in an error status costs nothing and is left out.
func records(calls []llm.Call, priceTable string) (list []events.UsageRecord) {
	for _, call := range calls {
		if !call.Billed {
			continue
		}
		usage, cost := call.Record(priceTable)
		list = append(list, events.UsageRecord{
			Provider: call.Provider, Model: call.Model, Outcome: call.Outcome, Usage: usage, Cost: cost,
		})
	}
	return list
}
