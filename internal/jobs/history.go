package jobs

import (
	"context"

	"precis/events"
	"precis/internal/content"
	"precis/internal/fold"
	"precis/internal/thread"
	"precis/state"
	"precis/summarize"
	"precis/summarize/ledger"
	"precis/summarize/llm"
)

// historyWork reads the sources of a history: the thread's compactions, and the messages behind them, as compactions
// read them.
func (r *Runner) historyWork(ctx context.Context, view state.View, p *summarize.Policy, job *thread.Job) (*work, error) {
	s, err := r.sources(view, p, job)
	if err != nil {
		return nil, err
	}
	l, err := s.read(ctx, job.Started.SourceSummaryIDs)
	if err != nil {
		return nil, err
	}
	messages, err := content.MessagesOf(ctx, view, s.log, s.thread, job.Started.SourceMessageIDs)
	if err != nil {
		return nil, err
	}
	l = ledger.Join([]ledger.Ledger{l, ledger.Collect(messages)})
	if err := s.messages(ctx, job.Started.SourceMessageIDs); err != nil {
		return nil, err
	}
	before, err := s.weight(job.Started)
	if err != nil {
		return nil, err
	}
	budget := fold.HistoryBudget(p, before)
	byRules := func(string) string { return budget.Fit(l.Text, s.call.Tokens) }
	call := s.job(max(1, budget.Tokens))
	call.Facts, call.Rules = func(string) []string { return llm.Facts(byRules("")) }, byRules
	return &work{tokens: before, job: call}, nil
}

// weight returns the tokens of a job's sources.
func (s *sources) weight(started events.Started) (before int64, err error) {
	for _, id := range started.SourceMessageIDs {
		m, err := s.view.Message(s.thread, id)
		if err != nil {
			return 0, err
		}
		if m != nil {
			before += m.Tokens()
		}
	}
	for _, id := range started.SourceSummaryIDs {
		sum, err := s.summary(id)
		if err != nil {
			return 0, err
		}
		before += sum.TokensBefore
	}
	return before, nil
}
