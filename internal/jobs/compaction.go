package jobs

import (
	"context"

	"precis/events"
	"precis/internal/fold"
	"precis/internal/thread"
	"precis/state"
	"precis/summarize"
	"precis/summarize/ledger"
)

// proseShare is the maximum share of a compaction's tokens for the model's text, in percent. The rest is reserved for
// the ledger, which holds whatever the model omits.
const proseShare = 40

// compactionWork reads the sources of a thread's current summary: the messages of the leaves that no node covers yet,
// and the rule summaries of what lies further back. So a model reads a message itself while its leaf is recent, and a
// model never reads another model's text.
func (r *Runner) compactionWork(ctx context.Context, view state.View, p *summarize.Policy, job *thread.Job) (*work, error) {
	s, err := r.sources(view, p, job)
	if err != nil {
		return nil, err
	}
	held, err := s.held(ctx, job.Started.Slot)
	if err != nil {
		return nil, err
	}
	merged, err := s.read(ctx, job.Started.SourceSummaryIDs)
	if err != nil {
		return nil, err
	}
	budget := fold.NewBudget(p.Compaction, held.TokenCountBefore)
	w := &work{instead: held.Content}
	w.finish = func(prose string) string {
		return r.Ladder.Mask(budget.Fit(func(chars int) string { return ledger.Render(merged, prose, chars) }, s.call.Tokens))
	}
	w.job = s.job(max(1, budget.Tokens*proseShare/100))
	w.job.MaxChars = max(1, budget.Chars*proseShare/100)
	return w, nil
}

// held returns the rule summary that the model's summary replaces.
func (s *sources) held(ctx context.Context, name string) (*events.Summary, error) {
	slot, err := s.view.Slot(s.thread, name)
	if err != nil {
		return nil, err
	}
	sum, err := s.summary(slot.Holder)
	if err != nil {
		return nil, err
	}
	return s.record(ctx, sum)
}
