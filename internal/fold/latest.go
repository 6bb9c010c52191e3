package fold

import (
	"slices"

	"precis/events"
	"precis/internal/thread"
	"precis/summarize"
	"precis/summarize/cut"
)

// settle corrects, after an event that removed or restored something, what a cut must not pass: the latest turns and the edge of
// the compactions. It reads rows and may fail; live and recovery get the same result.
func (f *Fold) settle(st *thread.State, res thread.Result, before *cut.Item, p *summarize.Policy) error {
	c := st.Compaction
	if c == nil {
		return nil
	}
	if res.Revised && !st.Changes.MessageNew && before.Deleted != st.Message.Deleted {
		if err := f.retake(st, p); err != nil {
			return err
		}
	}
	if c.Cut.Lacks(p.Compaction.Keep) {
		st.Changes.Compacted = true
		if _, err := f.lower(st, &c.Cut); err != nil {
			return err
		}
	}
	// A stale leaf lets go of messages that must stand verbatim when it is recomputed. Until then the old text must not serve.
	if st.Header.RenewCompactions == 0 || !f.mustStand(st, p, pinnedAt(st, res)) {
		return nil
	}
	if err := f.part.LoadSlot(st, events.SlotCurrent); err != nil {
		return err
	}
	st.Retire(events.SlotCurrent)
	return nil
}

// retake makes the message before a deleted one the latest of its role, or a restored one again.
func (f *Fold) retake(st *thread.State, p *summarize.Policy) error {
	m, at := st.Message, st.Compaction.Cut.User.At
	switch m.Role {
	case events.RoleUser:
	case events.RoleAssistant:
		at = st.Compaction.Cut.Assistant.At
	default:
		return nil
	}
	if m.Deleted && m.Ordinal != at || !m.Deleted && m.Ordinal < at {
		return nil
	}
	latest := m
	if m.Deleted {
		var err error
		if latest, err = f.lastBefore(st, m); err != nil {
			return err
		}
	}
	if latest == nil {
		st.Compaction.Cut.Retake(m.Role, cut.Item{}, nil, p.Compaction)
		return nil
	}
	results, err := f.resultsOf(st, latest)
	if err != nil {
		return err
	}
	items, err := f.items(st, append([]*thread.Message{latest}, results...))
	if err == nil {
		st.Compaction.Cut.Retake(m.Role, items[0], items[1:], p.Compaction)
	}
	return err
}

// lastBefore returns the newest message before a deleted one that has its role and is not deleted; nil if there is none.
func (f *Fold) lastBefore(st *thread.State, m *thread.Message) (*thread.Message, error) {
	for to, n := m.Ordinal, uint64(8); to > 1; n = min(4*n, 512) {
		from := max(to, n+1) - n
		rows, err := f.part.Messages(st.Header.Thread, from, to)
		if err != nil {
			return nil, err
		}
		for _, row := range slices.Backward(rows) {
			if row.Role == m.Role && !row.Deleted {
				return row, nil
			}
		}
		to = from
	}
	return nil, nil
}

// resultsOf returns the results of a message's calls, within the range in which a cut waits for them.
func (f *Fold) resultsOf(st *thread.State, m *thread.Message) (results []*thread.Message, err error) {
	open := slices.Clone(m.CallIDs)
	if len(open) == 0 {
		return nil, nil
	}
	rows, err := f.part.Messages(st.Header.Thread, m.Ordinal+1, m.Ordinal+1+cut.Patience)
	for _, row := range rows {
		if i := slices.Index(open, row.CallID); i >= 0 {
			open, results = slices.Delete(open, i, i+1), append(results, row)
		}
	}
	return results, err
}
