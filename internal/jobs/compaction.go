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

// proseShare is the part of a compaction's tokens that a model's prose may take, in percent. The rest is
// the ledger's, which stands below it whatever the model leaves out.
const proseShare = 40

// compactionWork reads what a thread's current summary stands for: the messages of the leaves that no node
// has taken up, and of what lies further back what the rules say. So a message is read as it is, by a
// model, while its leaf is one of the last, and no model ever reads a model's text.
func (r *Runner) compactionWork(ctx context.Context, view state.View, p *summarize.Policy, job *thread.Job) (*work, error) {
	s, err := r.sources(view, p, job)
	if err != nil {
		return nil, err
	}
	held, err := s.held(job.Started.Slot)
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

// held is the summary by rules that the model's is to take the place of.
func (s *sources) held(name string) (*events.Summary, error) {
	slot, err := s.view.Slot(s.thread, name)
	if err != nil {
		return nil, err
	}
	_, rec, err := s.summary(slot.Holder)
	return rec, err
}
