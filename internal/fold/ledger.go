package fold

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/hashicorp/golang-lru/v2/simplelru"

	"precis/events"
	"precis/internal/thread"
	"precis/state"
	"precis/summarize/ledger"
)

// ledgersKept is how many decoded ledgers a partition caches: those of a long thread's tops (15 at 100,000 events), and what an
// edit in its middle needs besides. Each takes some 100 KiB at most.
const ledgersKept = 48

// leastLedgers is the least that it caches, however many partitions there are: the sources of one node and of the next.
const leastLedgers = 2 * fanIn

// ledgers caches what summaries contribute to others, by summary id. The id identifies the sources and the rules, so an entry
// never becomes stale.
type ledgers = simplelru.LRU[string, part]

// part is what a leaf or a node contributes to what is made from it.
type part struct {
	slot          string
	tokens, chars int64 // what it stands for
	ledger        ledger.Ledger
}

func newLedgers(partitions int) (*ledgers, error) {
	return simplelru.NewLRU[string, part](max(leastLedgers, 16*ledgersKept/max(partitions, 16)), nil)
}

// part reads what a summary contributes to others: its counters, and its ledger, stored or recomputed from its sources. The
// caller must not change it.
func (w *compaction) part(ctx context.Context, id string) (part, error) {
	if p, ok := w.f.ledgers.Get(id); ok {
		return p, nil
	}
	sum, err := w.summary(id)
	if err != nil {
		return part{}, err
	}
	p := part{slot: sum.Slot, tokens: sum.TokensBefore, chars: sum.CharsBefore}
	data := w.st.Changes.Ledgers[id]
	if data == nil {
		if data, err = w.f.part.Ledger(w.st.Header.Thread, id); err != nil {
			return part{}, err
		}
	}
	if data == nil {
		p.ledger, err = LedgerOf(ctx, w.f.part.View, w.f.masked, w.st.Header.Thread, id)
		return p, err
	}
	if p.ledger, err = storedLedger(id, data); err == nil {
		w.f.ledgers.Add(id, p)
	}
	return p, err
}

func storedLedger(id string, data []byte) (l ledger.Ledger, err error) {
	if err := l.UnmarshalBinary(data); err != nil {
		return l, fmt.Errorf("read ledger of %s: %w: %w", id, state.ErrDamaged, err)
	}
	return l, nil
}

// LedgerOf returns the ledger of a leaf or a node: the stored one or, if a recovery adopted the summary from its record, one
// recomputed from its sources as they were.
func LedgerOf(ctx context.Context, view state.View, log Log, name, id string) (ledger.Ledger, error) {
	var l ledger.Ledger
	data, err := view.Ledger(name, id)
	if err != nil {
		return l, err
	}
	if data != nil {
		return storedLedger(id, data)
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
	if len(sum.SourceSums) > 0 {
		return mergedOf(ctx, view, log, name, sum.SourceSums)
	}
	messages, err := messagesThen(ctx, view, log, name, sum)
	return ledger.Collect(messages).Trim(), err
}

func mergedOf(ctx context.Context, view state.View, log Log, name string, summaries []string) (merged ledger.Ledger, err error) {
	leaves := make([]ledger.Ledger, 0, len(summaries))
	for _, id := range summaries {
		l, err := LedgerOf(ctx, view, log, name, id)
		if err != nil {
			return merged, err
		}
		leaves = append(leaves, l)
	}
	return ledger.Join(leaves), nil
}

// MessagesOf returns the messages that a summary was made from, at their current revisions and without deleted ones, each tool
// result with its tool's name if its call has it.
func MessagesOf(ctx context.Context, view state.View, log Log, name string, sum *thread.Summary) ([]ledger.Message, error) {
	rows, err := view.MessagesOf(name, sum.Sources)
	if err != nil {
		return nil, err
	}
	list, err := readAll(ctx, log, rows)
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
	var made events.Head
	if err := json.Unmarshal(sum.Record, &made); err != nil {
		return nil, fmt.Errorf("%w: record of %s: %w", state.ErrDamaged, sum.ID, err)
	}
	rows, err := view.MessagesOf(name, sum.Sources)
	for i := 0; err == nil && i < len(rows); i++ {
		rows[i], err = asOf(view, name, rows[i], made.EventSeq)
	}
	if err != nil {
		return nil, err
	}
	return readAll(ctx, log, rows)
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

// readAll reads the messages of the rows that are not deleted.
func readAll(ctx context.Context, log Log, rows []*thread.Message) ([]ledger.Message, error) {
	rows = slices.DeleteFunc(rows, func(m *thread.Message) bool { return m.Deleted })
	var list []ledger.Message
	err := eachRead(ctx, log, rows, func(m *thread.Message) error {
		msg, err := CurrentMessage(ctx, log, m)
		if err == nil {
			list = append(list, ledger.Message{Ordinal: m.Ordinal, Message: spoken(msg)})
		}
		return err
	})
	return list, err
}
