package fold

import (
	"context"
	"fmt"

	"github.com/hashicorp/golang-lru/v2/simplelru"

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
