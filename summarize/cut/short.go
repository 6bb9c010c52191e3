package cut

import (
	"slices"

	"precis/summarize"
)

// Lookahead is how many items behind a place decide whether a cut there is safe: a call that comes later than its
// result, by more than that, is taken for another one.
const Lookahead = Patience

// Replaces says whether a cut behind an item would replace it.
func (s *State) Replaces(it Item, c summarize.Compaction) bool {
	return !it.Deleted && !it.fixed(c.SummarizeSystem) && !s.isLatest(it.Ordinal)
}

// Short is where a cut goes that may not reach as far as the position that Choose has found: before the newest item
// behind the ordinal to, and not behind limit, where a cut is safe and replaces something; else before limit itself. A
// result whose call is replaced without it is quoted as text, as one of an abandoned call is. items are the thread's messages
// that no summary has replaced yet, in order, [Lookahead] of them behind limit where there are so many.
func (s *State) Short(items []Item, to, limit uint64, c summarize.Compaction) (at uint64) {
	var walk State
	for _, it := range items {
		walk.abandon()
		walk.offer(it)
		walk.Count++
		walk.pair(it, weight{})
	}
	first := slices.IndexFunc(items, func(it Item) bool { return s.Replaces(it, c) })
	for _, p := range slices.Backward(walk.Pending) {
		if p.At <= limit && p.At > max(to, items[first].Ordinal) {
			return p.At
		}
	}
	return limit
}

// Before is the position at an ordinal where a cut would replace some items. It lies before the one that Choose has
// found, so that it keeps enough. passed are the thread's items from the edge of what compactions stand for up to the
// ordinal, in order.
func (s *State) Before(at uint64, replaced, passed []Item) Position {
	p := Position{At: at, Prev: s.Edge.At, Before: s.Seen.minus(s.Behind), Free: s.Gone.plus(s.held(at))}
	p.Tail = p.Before.minus(s.Edge.Weight)
	for _, it := range passed {
		p.Prev, p.Tail = it.Ordinal, p.Before
		p.Before = p.Before.plus(it.weight())
	}
	for _, it := range replaced {
		p.Free = p.Free.plus(it.weight())
	}
	return p
}
