package fold

import (
	"context"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"precis/internal/content"
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
func (s *Step) part(ctx context.Context, id string) part {
	if p, ok := s.f.ledgers.Get(id); ok {
		return p
	}
	sum := s.summary(id)
	p := part{slot: sum.Slot, tokens: sum.TokensBefore, chars: sum.CharsBefore}
	data := s.st.Changes.Ledgers[id]
	if data == nil {
		data = got(s.f.part.Ledger(s.st.Header.Thread, id))
	}
	if data == nil {
		p.ledger = got(content.LedgerOf(ctx, s.f.part.View, s.f.masked, s.st.Header.Thread, id))
		return p
	}
	p.ledger = got(content.StoredLedger(id, data))
	s.f.ledgers.Add(id, p)
	return p
}
