package cut

import (
	"slices"

	"precis/events"
)

// pair opens the calls that an item makes and closes those it is the result of.
func (s *State) pair(it Item, free weight) {
	if it.Role != events.RoleTool && !it.Deleted {
		s.Open = slices.DeleteFunc(s.Open, func(c Call) bool { return c.ID == Leads })
	}
	for _, id := range it.Calls {
		if id != Leads || !it.Deleted {
			s.open(id, it.Ordinal)
		}
	}
	for _, id := range it.Results {
		s.close(Call{ID: id, At: it.Ordinal, Count: s.Count, Weight: free})
	}
}

// close ends the call that a result is of; one that is not known may come later.
func (s *State) close(c Call) {
	i := indexOf(s.Open, c.ID)
	if i < 0 {
		s.Early = bounded(append(s.Early, c), maxEarly)
		return
	}
	s.join(s.Open[i].At, c)
	s.Open = slices.Delete(s.Open, i, i+1)
}

// open notes a call that waits, unless its result came first.
func (s *State) open(id string, at uint64) {
	i := indexOf(s.Early, id)
	if i < 0 {
		s.Open = bounded(append(s.Open, Call{ID: id, At: at, Count: s.Count}), maxOpen)
		return
	}
	s.forbid(s.Early[i].At, at)
	s.join(at, s.Early[i])
	s.Early = slices.Delete(s.Early, i, i+1)
}

// join counts a result to the latest assistant turn where that made the call. An item with the results of several calls
// counts once, whichever of them are the turn's; the turn's own message counts already, if it answers itself.
func (s *State) join(caller uint64, result Call) {
	t := &s.Assistant
	if caller != t.At || result.At == t.At || slices.Contains(t.Members, result.At) {
		return
	}
	t.Weight, t.Members = t.Weight.plus(result.Weight), append(t.Members, result.At)
}

// led reports whether the latest assistant message is reasoning that the next one belongs to.
func (s *State) led() bool {
	i := indexOf(s.Open, Leads)
	return i >= 0 && s.Open[i].At == s.Assistant.At
}

// forbid withdraws the positions between a result and the call that came after it.
func (s *State) forbid(result, call uint64) {
	between := func(p Position) bool { return p.At > result && p.At <= call }
	s.Pending = slices.DeleteFunc(s.Pending, between)
	if between(s.BestAny) {
		s.BestAny = Position{}
	}
	if between(s.BestUser) {
		s.BestUser = Position{}
	}
}

// abandon forgets calls that waited too long, and early results whose call is not to be expected.
func (s *State) abandon() {
	old := func(c Call) bool { return s.Count-c.Count >= Patience }
	s.Open = slices.DeleteFunc(s.Open, old)
	s.Early = slices.DeleteFunc(s.Early, old)
}

// indexOf finds the oldest entry with an id: providers exist that use ids again in every turn.
func indexOf(list []Call, id string) int {
	return slices.IndexFunc(list, func(c Call) bool { return c.ID == id })
}

func bounded(list []Call, limit int) []Call {
	if len(list) <= limit {
		return list
	}
	return slices.Delete(list, 0, len(list)-limit)
}

// EarlyResults returns the ordinals of the results that came before the calls with these ids.
func (s *State) EarlyResults(calls []string) (at []uint64) {
	for _, id := range calls {
		if i := indexOf(s.Early, id); i >= 0 {
			at = append(at, s.Early[i].At)
		}
	}
	return at
}

// Speaking reports whether the newest message is an assistant's: several in a row are one turn.
func (s *State) Speaking() bool { return s.Assistant.At > 0 && s.Assistant.At == s.LastAt }
