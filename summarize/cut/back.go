package cut

import (
	"precis/events"
	"precis/summarize"
)

// Lacks says that less stands verbatim behind what compactions stand for than a policy keeps: messages were deleted
// or became smaller, or the policy keeps more than it did. It may say so where enough stands, until Lower has found
// the edge: the messages before the last cut that are verbatim count from then on.
func (s *State) Lacks(keep summarize.Keep) bool {
	return s.Edge.At > 0 && lacks(s.Behind, s.Edge.Weight, keep)
}

// lacks says the same of what stands behind an edge, and of the item at it: by tokens all that fit are kept.
func lacks(behind, edge weight, keep summarize.Keep) bool {
	if keep.Tokens > 0 {
		return behind.Tokens+edge.Tokens <= int64(keep.Tokens)
	}
	return behind.Messages < int64(keep.Messages)
}

// Lower moves the edge down to an item that a compaction stands for; verbatim are the items between the two that stand
// as they are. Without an item no compaction stands for anything.
func (s *State) Lower(to *Item, verbatim []Item) {
	for _, it := range verbatim {
		s.Behind = s.Behind.plus(it.weight())
	}
	s.Edge = Edge{}
	if to != nil {
		s.Edge = Edge{At: to.Ordinal, Weight: to.weight()}
	}
}

// minSlack is how many messages stand behind an edge at least when it has been moved back: a compaction is not made
// again for each message that is deleted.
const minSlack = 16

// Back is the place in the items of one compaction behind which, with what stands verbatim already, twice as much
// stands as the policy keeps: the next deletions move nothing. It is as safe as a cut; 0 where no item can stay.
func (s *State) Back(items []Item, c summarize.Compaction) uint64 {
	if c.Keep.Tokens > 0 {
		c.Keep.Tokens = 2*c.Keep.Tokens - int(s.Behind.Tokens)
	} else {
		c.Keep.Messages = max(2*c.Keep.Messages, minSlack) - int(s.Behind.Messages)
	}
	return Boundary(items, c).At
}

// Return records that messages which compactions stood for are verbatim again.
func (s *State) Return(items []Item) {
	for _, it := range items {
		s.Gone = s.Gone.minus(it.weight())
	}
}

// Retake makes a message the latest of its role; members are the results of an assistant's calls. The zero Item: there
// is none.
func (s *State) Retake(role string, latest Item, members []Item, c summarize.Compaction) {
	t := Turn{}
	if latest.Ordinal > 0 {
		t = Turn{At: latest.Ordinal, Weight: latest.free(c)}
	}
	for _, it := range members {
		t.Members = append(t.Members, it.Ordinal)
		t.Weight = t.Weight.plus(it.free(c))
	}
	if role == events.RoleUser {
		s.User = t
	} else {
		s.Assistant = t
	}
}
