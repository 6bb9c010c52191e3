package fold

import (
	"context"
	"fmt"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"precis/state"
	"precis/summarize/ledger"
)

// ledgersKept is how many ledgers a partition keeps decoded: those of a long thread's tops (15 of 100,000
// events), and what an edit in its middle needs besides. Of each some 100 KiB at most.
const ledgersKept = 48

// leastLedgers is how many it keeps where there are more: what one node is made from, and the next.
const leastLedgers = 2 * fanIn

// ledgers keeps what summaries bring into others, by summary. A summary's id says what it was made from and by
// which rules, so that this is always the same.
type ledgers = simplelru.LRU[string, part]

// part is what a leaf or a node brings into what is made from it.
type part struct {
	slot          string
	tokens, chars int64 // what it stands for
	ledger        ledger.Ledger
}

func newLedgers(partitions int) (*ledgers, error) {
	return simplelru.NewLRU[string, part](max(leastLedgers, 16*ledgersKept/max(partitions, 16)), nil)
}

// part reads what a summary brings into others: its counters, and its ledger, the stored one, or made again from
// its sources. It may not be changed.
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
