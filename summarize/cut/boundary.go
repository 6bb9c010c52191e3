package cut

import (
	"cmp"
	"slices"

	"precis/summarize"
)

// Cut is what a compaction replaces and what it leaves, both in order; together they are the input.
type Cut struct {
	Position        // the zero Position: nothing is replaced
	Replaced []Item // what the summary stands for
	Held     []Item // before the position, and verbatim all the same
	Kept     []Item // behind the position
}

// Removed is the weight of what is replaced.
func (c Cut) Removed() (tokens, messages int64) {
	for _, it := range c.Replaced {
		w := it.weight()
		tokens, messages = tokens+w.Tokens, messages+w.Messages
	}
	return tokens, messages
}

// Hold is c where nothing is replaced from an item on, by its ordinal: what lies before the position is held.
func (c Cut) Hold(from uint64) Cut {
	i := slices.IndexFunc(c.Replaced, func(it Item) bool { return it.Ordinal >= from })
	if i < 0 {
		return c
	}
	c.Held = append(c.Held, c.Replaced[i:]...)
	slices.SortFunc(c.Held, func(a, b Item) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	c.Replaced = c.Replaced[:i]
	return c
}

// Boundary cuts the messages of a thread that no summary has replaced yet, in order.
func Boundary(items []Item, c summarize.Compaction) Cut {
	var s State
	for _, it := range items {
		s.Apply(it, c)
	}
	p, ok := s.Choose(c.Keep)
	if !ok {
		return Cut{Kept: items}
	}
	return s.Split(p, items, c)
}

// Split sorts items, the thread's messages that no summary has replaced yet, by what a cut at p does
// to them. Latest turns are those of the State, so it must have applied all items.
func (s *State) Split(p Position, items []Item, c summarize.Compaction) Cut {
	cut := Cut{Position: p}
	for _, it := range items {
		switch {
		case it.Ordinal >= p.At:
			cut.Kept = append(cut.Kept, it)
		case it.fixed(c.SummarizeSystem) || s.isLatest(it.Ordinal):
			cut.Held = append(cut.Held, it)
		default:
			cut.Replaced = append(cut.Replaced, it)
		}
	}
	return cut
}

func (s *State) isLatest(ordinal uint64) bool {
	return ordinal == s.User.At || ordinal == s.Assistant.At ||
		slices.Contains(s.Assistant.Members, ordinal)
}
