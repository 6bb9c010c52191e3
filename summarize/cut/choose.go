package cut

import (
	"slices"

	"precis/summarize"
)

// Choose returns the position at which a compaction would cut now; false where nothing can be removed.
// A position before a user message is preferred, unless it would remove less than half of what the
// newest safe position does: then a long turn is cut inside, between two rounds of its loop.
func (s *State) Choose(keep summarize.Keep) (Position, bool) {
	anyone, user := s.valid(s.BestAny, keep), s.valid(s.BestUser, keep)
	most := s.removable(anyone)
	best, got := anyone, most
	if r := s.removable(user); 2*r.Tokens >= most.Tokens && r.Messages > 0 {
		best, got = user, r
	}
	return best, got.Messages > 0
}

// valid is p where it still keeps enough; a policy may ask for more than when p was noted.
func (s *State) valid(p Position, keep summarize.Keep) Position {
	if p.At == 0 || !s.keeps(p, keep) {
		return Position{}
	}
	return p
}

// removable is what a cut at p would replace.
func (s *State) removable(p Position) weight {
	if p.At == 0 {
		return weight{}
	}
	return p.Free.minus(s.Gone).minus(s.held(p.At))
}

// held is what stays verbatim before a position for being the latest of its role. The latest user message may be one of the
// results of the latest assistant turn.
func (s *State) held(at uint64) (w weight) {
	if s.Assistant.At < at {
		w = w.plus(s.Assistant.Weight)
	}
	if s.User.At < at && !(s.Assistant.At < at && slices.Contains(s.Assistant.Members, s.User.At)) {
		w = w.plus(s.User.Weight)
	}
	return w
}

// Replace records that a compaction at p has replaced what was removable before it.
func (s *State) Replace(p Position) {
	s.Gone = s.Gone.plus(s.removable(p))
	s.Edge, s.Behind = Edge{At: p.Prev, Weight: p.Before.minus(p.Tail)}, s.Seen.minus(p.Before)
	s.Pending = slices.DeleteFunc(s.Pending, func(q Position) bool { return q.At <= p.At })
	if s.BestAny.At <= p.At {
		s.BestAny = Position{}
	}
	if s.BestUser.At <= p.At {
		s.BestUser = Position{}
	}
	s.disown(p.At)
}

// disown notes that early results before a cut are replaced, or fixed: they are no longer their calls' to hold. Those that stay with a
// latest turn are.
func (s *State) disown(at uint64) {
	for i, e := range s.Early {
		if e.At < at && !s.isLatest(e.At) {
			s.Early[i].Weight = weight{}
		}
	}
}

// Adjust takes in a changed weight of a message that is not replaced: an edit, a deletion, a pin (before is
// the item as it was, after as it is now), or a tool summary that takes the place of the output.
func (s *State) Adjust(before, after Item, c summarize.Compaction) {
	d, free := after.weight().minus(before.weight()), after.free(c).minus(before.free(c))
	s.Seen, s.Free = s.Seen.plus(d), s.Free.plus(free)
	switch {
	case before.Ordinal > s.Edge.At:
		s.Behind = s.Behind.plus(d)
	case before.Ordinal == s.Edge.At:
		s.Edge.Weight = s.Edge.Weight.plus(d)
	}
	if before.Ordinal == s.LastAt || before.Ordinal > s.LastAt && !after.Deleted { // restored behind the end of a rewind
		s.LastAt, s.Last = before.Ordinal, after.weight()
	}
	for i := range s.Pending {
		s.Pending[i].shift(before.Ordinal, d, free)
	}
	s.BestAny.shift(before.Ordinal, d, free)
	s.BestUser.shift(before.Ordinal, d, free)
	for i, e := range s.Early {
		if e.At == before.Ordinal {
			s.Early[i].Weight = e.Weight.plus(free)
		}
	}
	s.User.shift(before.Ordinal, free)
	s.Assistant.shift(before.Ordinal, free)
}

func (p *Position) shift(changed uint64, d, free weight) {
	if p.At == 0 || changed >= p.At {
		return
	}
	switch {
	case changed > p.Prev && d.Messages > 0: // restored, of what a rewind removed: it stands before p now
		p.Prev, p.Tail = changed, p.Before
	case changed != p.Prev:
		p.Tail = p.Tail.plus(d)
	}
	p.Before, p.Free = p.Before.plus(d), p.Free.plus(free)
}

func (t *Turn) shift(changed uint64, free weight) {
	if t.At == changed || slices.Contains(t.Members, changed) {
		t.Weight = t.Weight.plus(free)
	}
}
