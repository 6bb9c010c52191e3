package cut

import (
	"slices"

	"precis/summarize"
)

// Lookback is for how many items before the last cut a rewind counts again which results belong to which calls: an early
// result or an open call that still waits is at most [Patience] old, and what else may belong to it as much older.
const Lookback = 2 * Patience

// Rewind takes the counters back to the last of some items, when what stood behind it is gone and [State.Adjust] has counted that. items
// are those that remain, in order: the thread's last ones, from at least [Lookback] before the last cut on. after is the last ordinal
// that the cut passed. A call whose result is gone waits for another one. Behind counts what stands behind after; the edge is there, and
// the caller moves it down to an item that a compaction stands for (Lower). Latest turns are those of items, and the caller finds older
// ones (Retake). The newest item is the last one that remains: the next one speaks on where it is an assistant's.
func (s *State) Rewind(items []Item, after uint64, c summarize.Compaction) {
	back := State{Seen: s.Seen, Free: s.Free, Gone: s.Gone, Count: s.Count - min(s.Count, uint64(len(items)))}
	for _, it := range items {
		back.Seen, back.Free = back.Seen.minus(it.weight()), back.Free.minus(it.free(c))
	}
	passed := false
	for _, it := range items {
		if !passed && it.Ordinal > after { // the cut was here
			back.disown(it.Ordinal)
			passed = true
		}
		back.Apply(it, c)
	}
	if !passed {
		back.disown(after + 1)
	}
	before := func(p Position) bool { return p.At <= after+1 }
	if back.Pending = slices.DeleteFunc(back.Pending, before); before(back.BestAny) {
		back.BestAny = Position{}
	}
	if before(back.BestUser) {
		back.BestUser = Position{}
	}
	back.Behind = back.Seen
	if after > 0 {
		back.Behind, back.Edge = weight{}, Edge{At: after}
		for _, it := range items {
			if it.Ordinal > after {
				back.Behind = back.Behind.plus(it.weight())
			}
		}
	}
	back.Count = s.Count
	*s = back
}
