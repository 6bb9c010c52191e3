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
	s.retire(sum)
	s.putSummary(sum)
}

// Stands says whether prompts may have the summary: it is active, or it serves until it is made again.
func (sum *Summary) Stands() bool { return sum.Status == Active || sum.Serves }

// placeholder says that a summary only keeps the place of a model's text: no prompt has it.
func (sum *Summary) placeholder() bool { return sum.Slot == events.SlotCurrent && !sum.Current }

// serving is the summary that serves in a slot though it is not active; nil where none does. The slot must be loaded.
func (s *State) serving(slot *Slot) *Summary {
	for _, id := range []string{slot.Holder, slot.Serving} {
		if sum := s.Summary(id); sum != nil && sum.Serves {
			return sum
		}
	}
	return nil
}

// Retire ends the service of what serves in a slot though it is stale: its source has changed, or nothing is made in
// its place. The slot must be loaded.
func (s *State) Retire(name string) {
	slot := s.Slot(name)
	if sum := s.serving(slot); sum != nil {
		s.retire(sum)
	}
	if slot.Serving != "" {
		slot.Serving = ""
		s.putSlot(slot)
	}
}

func (s *State) retire(sum *Summary) {
	if !sum.Serves {
		return
	}
	sum.Serves = false
	s.Header.TokensLive += sum.Saved()
	s.putSummary(sum)
}

// succeed ends the service of what has served in a slot, since its successor is there. One that only keeps the place
// of a model's text is no successor, unless it stands for more than the old one.
func (s *State) succeed(slot *Slot, rec *events.Summary) {
	keepsPlace := rec.Kind == events.KindCompaction && rec.Slot == events.SlotCurrent && !rec.Current
	if old := s.serving(slot); old != nil && keepsPlace && rec.Trigger.Reason == events.TriggerRegenerated {
		slot.Serving = old.ID
		return
	}
	s.Retire(slot.Name)
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
