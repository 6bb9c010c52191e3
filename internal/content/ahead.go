package content

import (
	"context"
	"slices"
	"sync"

	"precis/events"
	"precis/internal/broker"
)

// readers is the number of concurrent requests: each is a round trip to the server and mostly waits.
const readers = 16

const (
	// apart is the maximum distance of events that one request reads, including all events in between: reading one
	// along takes a third of the time of a separate request.
	apart = 3
	// together is the minimum number of events for such a request, which needs its own subscription.
	together = 4
)

// readAll reads events concurrently and passes on those that it can read, in order; a later Event reports the error of
// the others.
func readAll(ctx context.Context, log *broker.LogReader, seqs []uint64, keep func(uint64, *events.Event)) {
	slices.Sort(seqs)
	seqs = slices.Compact(seqs)
	list := make([]*events.Event, len(seqs))
	spans := spansOf(seqs)
	var wg sync.WaitGroup
	for first := range min(readers, len(spans)) {
		wg.Go(func() {
			for i := first; i < len(spans); i += readers {
				s := spans[i]
				readSpan(ctx, log, seqs[s.from:s.to], list[s.from:s.to])
			}
		})
	}
	wg.Wait()
	for i, ev := range list {
		if ev != nil {
			keep(seqs[i], ev)
		}
	}
}

// span is a range of a list.
type span struct{ from, to int }

// spansOf splits ascending sequences into ranges that one request reads each.
func spansOf(seqs []uint64) (spans []span) {
	for from := 0; from < len(seqs); {
		to := from + 1
		for to < len(seqs) && seqs[to]-seqs[to-1] <= apart {
			to++
		}
		if to-from < together {
			to = from + 1
		}
		spans = append(spans, span{from, to})
		from = to
	}
	return spans
}

// readSpan reads events that are close together.
func readSpan(ctx context.Context, log *broker.LogReader, seqs []uint64, list []*events.Event) {
	if len(seqs) == 1 {
		if ev, err := Read(ctx, log, seqs[0]); err == nil {
			list[0] = ev
		}
		return
	}
	for len(seqs) > 0 {
		last := uint64(0)
		n := int(seqs[len(seqs)-1]-seqs[0]) + 1
		_ = log.Several(ctx, seqs[0], n, func(m broker.Stored) {
			last = m.Seq
			at, wanted := slices.BinarySearch(seqs, m.Seq)
			if !wanted {
				return
			}
			if ev, err := decode(m); err == nil {
				list[at] = ev
			}
		})
		if last == 0 {
			return
		}
		behind, _ := slices.BinarySearch(seqs, last+1)
		seqs, list = seqs[behind:], list[behind:]
	}
}
