package content

import (
	"context"
	"fmt"

	"precis/internal/thread"
	"precis/state"
	"precis/summarize/ledger"
)

// StoredLedger decodes the stored ledger of a summary.
func StoredLedger(id string, data []byte) (l ledger.Ledger, err error) {
	if err := l.UnmarshalBinary(data); err != nil {
		return l, fmt.Errorf("read ledger of %s: %w: %w", id, state.ErrDamaged, err)
	}
	return l, nil
}

// LedgerOf returns the ledger of a leaf or a node: the stored one or, if a recovery adopted the summary from its record, one
// recomputed from its sources as they were.
func LedgerOf(ctx context.Context, view state.View, log Log, name, id string) (l ledger.Ledger, err error) {
	data, err := view.Ledger(name, id)
	switch {
	case err != nil:
		return l, err
	case data != nil:
		return StoredLedger(id, data)
	}
	return LedgerAgain(ctx, view, log, name, id)
}

// LedgerAgain recomputes the ledger of a leaf or a node from its sources, even if one is stored. The ledgers of a node's sources
// come from LedgerOf.
func LedgerAgain(ctx context.Context, view state.View, log Log, name, id string) (l ledger.Ledger, err error) {
	sum, err := view.Summary(name, id)
	if err != nil {
		return l, err
	}
	if sum == nil {
		return l, fmt.Errorf("%w: summary %q of thread %q has no row", state.ErrDamaged, id, name)
	}
	if len(sum.SourceSums) == 0 {
		messages, err := messagesThen(ctx, view, log, name, sum)
		return ledger.Collect(messages).Trim(), err
	}
	parts := make([]ledger.Ledger, len(sum.SourceSums))
	for i, source := range sum.SourceSums {
		if parts[i], err = LedgerOf(ctx, view, log, name, source); err != nil {
			return l, err
		}
	}
	return ledger.Join(parts), nil
}

// MessagesOf returns the messages with the given ids, at their current revisions and without deleted ones, each tool
// result with its tool's name if its call has it.
func MessagesOf(ctx context.Context, view state.View, log Log, name string, ids []string) ([]ledger.Message, error) {
	rows, err := view.MessagesOf(name, ids)
	if err != nil {
		return nil, err
	}
	list, err := Spoken(ctx, log, rows)
	if err != nil {
		return nil, err
	}
	for _, m := range list {
		called, err := Called(ctx, view, log, name, m.Ordinal, Now, m.Message)
		if err != nil {
			return nil, err
		}
		m.Message.ToolName = called.ToolName // Message is a copy
	}
	return list, nil
}

// messagesThen returns the messages that a summary was made from, as they were then: if a policy ignores edits the summary
// continues to stand for those, and so does its ledger.
func messagesThen(ctx context.Context, view state.View, log Log, name string, sum *thread.Summary) ([]ledger.Message, error) {
	rows, err := view.MessagesOf(name, sum.Sources)
	for i := 0; err == nil && i < len(rows); i++ {
		rows[i], err = asOf(view, name, rows[i], sum.EventSeq)
	}
	if err != nil {
		return nil, err
	}
	return Spoken(ctx, log, rows)
}

// asOf returns a message that was not deleted at an event, at the revision that it had after the event.
func asOf(view state.View, name string, m *thread.Message, event uint64) (*thread.Message, error) {
	if m.Seq <= event {
		return m, nil
	}
	then := *m
	for then.Deleted = false; then.Seq > event && then.Revision > 0; {
		var err error
		then.Revision--
		if then.Seq, err = view.RevisionSeq(name, m, then.Revision); err != nil {
			return nil, err
		}
	}
	return &then, nil
}
