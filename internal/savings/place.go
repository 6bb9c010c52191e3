package savings

import (
	"math"

	"precis/events"
	"precis/internal/thread"
)

// rowsAtOnce is how many rows of messages are read at once.
const rowsAtOnce = 1000

// kept computes how much of a turn's prompts stood at the same place at the turn before.
func (t *Tracker) kept(p *progress, h *thread.Header, turn *Turn) error {
	now, cold := p.compaction(), p.turns == 0 || t.opts.CacheFor <= 0 || turn.At.Sub(p.at) > t.opts.CacheFor
	opening := p.opening
	if now != p.standing || now != "" && opening == nil {
		var err error
		if opening, err = t.opens(p, h, now); err != nil {
			return err
		}
	}
	was, wasOpening := p.standing, p.opening
	p.standing, p.opening = now, opening
	if cold {
		return nil
	}
	turn.WholeKept, turn.HeldKept, turn.HeldSame = p.whole, p.held, p.held
	if p.dirty > 0 {
		before, err := t.wholeBefore(p, h, p.dirty)
		if err != nil {
			return err
		}
		turn.WholeKept = before
	}
	changed := p.changedAt()
	if now == was && changed == 0 {
		return clamp(turn)
	}
	var err error
	if now == was {
		turn.HeldKept, err = t.heldBefore(p, h, changed)
	} else {
		turn.HeldKept, err = t.commonOpening(p, h, wasOpening, was, now, changed)
	}
	if err != nil {
		return err
	}
	agents := p.end + 1
	if p.dirty > 0 {
		agents = p.dirty
	}
	turn.HeldSame, err = t.heldBefore(p, h, agents)
	if err != nil {
		return err
	}
	return clamp(turn)
}

// clamp keeps the parts of prompts within them.
func clamp(turn *Turn) error {
	turn.WholeKept = min(max(turn.WholeKept, 0), turn.Whole)
	turn.HeldKept = min(max(turn.HeldKept, 0), turn.Held)
	turn.HeldSame = min(max(turn.HeldSame, turn.HeldKept), turn.Held)
	return nil
}

// each calls f with the rows of a thread from an ordinal (inclusive) to another (exclusive), without deleted messages, until it
// returns false.
func (t *Tracker) each(name string, from, to uint64, f func(*thread.Message) (more bool, err error)) error {
	for ; from < to; from += rowsAtOnce {
		rows, err := t.Rows().Messages(name, from, min(to, from+rowsAtOnce))
		if err != nil {
			return err
		}
		for _, m := range rows {
			if m.Deleted {
				continue
			}
			if more, err := f(m); err != nil || !more {
				return err
			}
		}
	}
	return nil
}

// wholeBefore returns the tokens of all messages before an ordinal: of those or of the others, whichever are fewer.
func (t *Tracker) wholeBefore(p *progress, h *thread.Header, at uint64) (tokens int64, err error) {
	sum := func(m *thread.Message) (bool, error) {
		tokens += m.Tokens()
		return true, nil
	}
	if at <= h.Ordinals/2 {
		err = t.each(h.Thread, 1, at, sum)
		return tokens, err
	}
	err = t.each(h.Thread, at, h.Ordinals+1, sum)
	return p.tokens - tokens, err
}

// heldBefore returns the tokens of the compacted prompt before the place of an ordinal.
func (t *Tracker) heldBefore(p *progress, h *thread.Header, at uint64) (tokens int64, err error) {
	sum := func(m *thread.Message) (bool, error) {
		w, err := t.weight(h.Thread, m)
		tokens += w
		return true, err
	}
	compacted := p.compaction() != ""
	switch {
	case compacted && at <= p.to:
		return t.stayBefore(p, h, at)
	case compacted || at > h.Ordinals/2:
		err = t.each(h.Thread, at, h.Ordinals+1, sum)
		return p.live - tokens, err
	}
	err = t.each(h.Thread, 1, at, sum)
	return tokens, err
}

// stayBefore is heldBefore for a place before the end of what the compaction stands for: there are the opening, the compaction, and
// the messages that stay verbatim.
func (t *Tracker) stayBefore(p *progress, h *thread.Header, at uint64) (tokens int64, err error) {
	rows, err := t.Rows().MessagesAt(h.Thread, p.stay)
	if err != nil {
		return 0, err
	}
	opening := uint64(0)
	if n := len(p.opening); n > 0 {
		opening = p.opening[n-1]
	}
	if at > opening {
		tokens = p.after
	}
	for _, m := range rows {
		if m.Ordinal >= at || m.Deleted {
			continue
		}
		w, err := t.weight(h.Thread, m)
		if err != nil {
			return 0, err
		}
		tokens += w
	}
	return tokens, nil
}

// weight returns the tokens of a message in a prompt: its own or those of its summary, as the fold's counters count them.
func (t *Tracker) weight(name string, m *thread.Message) (int64, error) {
	if !m.Tool || m.Pinned {
		return m.Tokens(), nil
	}
	slot, err := t.Rows().Slot(name, events.ToolSlot(m.ID))
	if err != nil || slot.Holder == "" {
		return m.Tokens(), err
	}
	sum, err := t.Rows().Summary(name, slot.Holder)
	if err != nil || sum == nil || !sum.Stands() {
		return m.Tokens(), err
	}
	return m.Tokens() - sum.Saved(), nil
}

// opens returns the ordinals of the system messages that stand before the compaction; never nil. Without one there are none.
func (t *Tracker) opens(p *progress, h *thread.Header, compaction string) ([]uint64, error) {
	opening := []uint64{}
	if compaction == "" {
		return nil, nil
	}
	rows, err := t.Rows().MessagesAt(h.Thread, p.stay)
	if err != nil {
		return nil, err
	}
	for _, m := range rows {
		if m.Deleted {
			continue
		}
		if !isSystem(m) {
			return opening, nil
		}
		opening = append(opening, m.Ordinal)
	}
	err = t.each(h.Thread, p.to+1, h.Ordinals+1, func(m *thread.Message) (bool, error) {
		if isSystem(m) {
			opening = append(opening, m.Ordinal)
		}
		return isSystem(m), nil
	})
	return opening, err
}

func isSystem(m *thread.Message) bool {
	return m.Role == events.RoleSystem || m.Role == events.RoleDeveloper
}

// commonOpening returns the tokens that begin both the prompt of the turn before and this one, where another compaction stands in one
// of them or none does.
func (t *Tracker) commonOpening(p *progress, h *thread.Header, before []uint64, was, now string, changed uint64) (tokens int64, err error) {
	if changed == 0 {
		changed = math.MaxUint64
	}
	a, b := before, p.opening
	if was == "" {
		a = b
	} else if now == "" {
		b = a
	}
	bare := was == "" || now == "" // one of them has all messages in order
	n := 0
	if len(a) == 0 || len(b) == 0 {
		return 0, nil
	}
	err = t.each(h.Thread, 1, min(a[len(a)-1], b[len(b)-1], p.end)+1, func(m *thread.Message) (bool, error) {
		same := n < len(a) && n < len(b) && a[n] == m.Ordinal && b[n] == m.Ordinal && m.Ordinal < changed
		if !same {
			return !bare && m.Ordinal < changed, nil
		}
		tokens += m.Tokens()
		n++
		return true, nil
	})
	return tokens, err
}
