package thread

import "precis/events"

// Ranks of what waits to be made again, in the order in which it is.
const (
	rankMost    = 249 // of leaves and nodes, by level
	rankCurrent = 250
	rankHistory = 251
	rankTool    = 252
)

// RenewalRank says when a summary's turn comes among those of its thread that wait to be made again: what
// it is made from comes before it, and what makes a prompt smallest first.
func (sum *Summary) RenewalRank() byte {
	switch {
	case sum.Kind == events.KindToolResult:
		return rankTool
	case sum.Kind == events.KindHistory:
		return rankHistory
	case sum.Slot == events.SlotCurrent:
		return rankCurrent
	}
	return byte(min(sum.Level, rankMost))
}

// Waive gives up making a summary again that there is no more reason to make: its source became small, or
// the policy no longer asks for one. It goes on being stale.
func (s *State) Waive(sum *Summary) {
	s.waits(sum, false)
	s.putSummary(sum)
}

// waits notes whether a summary waits to be made again.
func (s *State) waits(sum *Summary, renew bool) {
	if sum.Renew == renew {
		return
	}
	sum.Renew = renew
	by := uint64(1)
	if !renew {
		by = ^uint64(0)
	}
	s.Header.Renewals += by
	if sum.Kind == events.KindCompaction {
		s.Header.RenewCompactions += by
	}
}
