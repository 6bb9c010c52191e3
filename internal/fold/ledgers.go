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

// ledgers keeps ledgers by the summary that they are of. A summary's id says what it was made from and by
// which rules, so that its ledger is always the same.
type ledgers = simplelru.LRU[string, ledger.Ledger]

func newLedgers() (*ledgers, error) { return simplelru.NewLRU[string, ledger.Ledger](ledgersKept, nil) }

// ledger is the ledger of a summary: the stored one, or made again from its sources. It may not be changed.
func (w *compaction) ledger(ctx context.Context, id string) (l ledger.Ledger, err error) {
	if l, ok := w.f.ledgers.Get(id); ok {
		return l, nil
	}
	data := w.st.Changes.Ledgers[id]
	if data == nil {
		if data, err = w.f.part.Ledger(w.st.Header.Thread, id); err != nil {
			return l, err
		}
	}
	if data == nil {
		return LedgerOf(ctx, w.f.part.View, w.f.log, w.st.Header.Thread, id)
	}
	if l, err = storedLedger(id, data); err == nil {
		w.f.ledgers.Add(id, l)
	}
	return l, err
}

func storedLedger(id string, data []byte) (l ledger.Ledger, err error) {
	if err := l.UnmarshalBinary(data); err != nil {
		return l, fmt.Errorf("read ledger of %s: %w: %w", id, state.ErrDamaged, err)
	}
	return l, nil
}
