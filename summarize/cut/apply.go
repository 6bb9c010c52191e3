package cut

import (
	"slices"

	"precis/events"
	"precis/summarize"
)

// Apply adds the thread's next message. Items come in the order of their ordinals, each once.
func (s *State) Apply(it Item, c summarize.Compaction) {
	s.abandon()
	s.propose(it)
	w := it.weight()
	s.LastAt, s.Last = it.Ordinal, w
	s.Count++
	s.Seen = s.Seen.plus(w)
	s.Behind = s.Behind.plus(w)
	free := it.free(c)
	s.Free = s.Free.plus(free)
	s.latest(it, free)
	s.pair(it, free)
	s.settle(c.Keep)
}

// latest notes the newest user and assistant messages, which stay verbatim.
func (s *State) latest(it Item, free weight) {
	if it.Deleted {
		return
	}
	switch it.Role {
	case events.RoleUser:
		s.User = Turn{At: it.Ordinal, Weight: free}
	case events.RoleAssistant:
		t := Turn{At: it.Ordinal, Weight: free}
		if s.led() {
			t.Weight, t.Members = t.Weight.plus(s.Assistant.Weight), append(slices.Clone(s.Assistant.Members), s.Assistant.At)
		}
		s.Assistant = t
	}
}

// propose notes the position before it where a cut there would be safe.
func (s *State) propose(it Item) {
	s.offer(it)
	if len(s.Pending) > maxPending {
		s.Pending = thin(s.Pending)
	}
}

// offer does so however many are noted.
func (s *State) offer(it Item) {
	user := it.Role == events.RoleUser
	open := len(s.Open)
	if user && indexOf(s.Open, Leads) >= 0 { // the reasoning led to nothing
		open--
	}
	if it.Deleted || !user && it.Role != events.RoleAssistant || open > 0 {
		return
	}
	s.Pending = append(s.Pending, Position{
		At: it.Ordinal, Prev: s.LastAt, User: user,
		Before: s.Seen, Tail: s.Seen.minus(s.Last), Free: s.Free,
	})
}

// thin halves a list of positions, those before assistant messages first.
func thin(list []Position) []Position {
	kept, odd := list[:0], false
	for i, p := range list {
		odd = !odd
		if p.User || odd || i == len(list)-1 {
			kept = append(kept, p)
		}
	}
	if len(kept) <= maxPending {
		return kept
	}
	half := kept[:0]
	for i, p := range kept {
		if i%2 == 0 {
			half = append(half, p)
		}
	}
	return half
}

// settle moves the positions that by now keep enough behind them out of the pending list.
func (s *State) settle(keep summarize.Keep) {
	n := 0
	for n < len(s.Pending) && s.keeps(s.Pending[n], keep) {
		s.BestAny = s.Pending[n]
		if s.BestAny.User {
			s.BestUser = s.BestAny
		}
		n++
	}
	s.Pending = slices.Delete(s.Pending, 0, n)
}

// keeps says whether a cut at p leaves the newest messages that the policy keeps: by tokens, all that
// fit, so that the message before p would not.
func (s *State) keeps(p Position, keep summarize.Keep) bool {
	if keep.Tokens > 0 {
		return s.Seen.Tokens-p.Tail.Tokens > int64(keep.Tokens)
	}
	return s.Seen.Messages-p.Before.Messages >= int64(keep.Messages)
}
