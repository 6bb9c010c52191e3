package thread

import "precis/events"

// Ranks of summaries that wait to be recomputed, in order.
const (
	rankMost    = 249 // of leaves and nodes, by level
	rankCurrent = 250
	rankHistory = 251
	rankTool    = 252
)

// RenewalRank orders the summaries of a thread that wait to be recomputed: sources come before what is made from them, and what
// shrinks a prompt most comes first.
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

// Waive gives up recomputing a summary that has lost its reason: its source became small, or the policy no longer wants one. It
// stays stale.
func (s *State) Waive(sum *Summary) {
	s.waits(sum, false)
	s.retire(sum)
	s.putSummary(sum)
}

// Stands reports whether prompts may use the summary: it is active, or it serves until it is recomputed.
func (sum *Summary) Stands() bool { return sum.Status == Active || sum.Serves }

// placeholder reports whether a summary only reserves the slot for a model's text: no prompt uses it.
func (sum *Summary) placeholder() bool { return sum.Slot == events.SlotCurrent && !sum.Current }

// serving returns the summary that serves in a slot without being active; nil if none does. The slot must be loaded.
func (s *State) serving(slot *Slot) *Summary {
	for _, id := range []string{slot.Holder, slot.Serving} {
		if sum := s.Summary(id); sum != nil && sum.Serves {
			return sum
		}
	}
	return nil
}

// Retire stops a stale summary from serving in a slot: its source has changed, or nothing replaces it. The slot must be loaded.
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
	sum.shed()
	s.Header.TokensLive += sum.Saved()
	s.putSummary(sum)
}

// succeed stops what has served in a slot when its successor arrives. A placeholder for a model's text is no successor, unless
// it stands for more than the old summary.
func (s *State) succeed(slot *Slot, rec *events.Summary) {
	keepsPlace := rec.Kind == events.KindCompaction && rec.Slot == events.SlotCurrent && !rec.Current
	if old := s.serving(slot); old != nil && keepsPlace && rec.Trigger.Reason == events.TriggerRegenerated {
		slot.Serving = old.ID
		return
	}
	s.Retire(slot.Name)
}

// waits sets whether a summary waits to be recomputed.
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
