package fold

import (
	"slices"

	"precis/events"
	"precis/internal/thread"
	"precis/summarize/cut"
)

// A rewind takes the thread back to a message. What stands for nothing that was removed keeps its place, byte for byte; of the rest,
// the last cut moves back: a node is taken apart, a leaf with a removed source is dropped, and its other sources stand verbatim
// again, as they did before that cut. All of this follows from the event and the thread's rows, live and in recovery. The records
// say what it makes stale, all for one cause, and what is made in place of the current summary and a history.

// SettingRewind is the setting that the invalidations of a rewind name beside its message, to which the thread went back.
const SettingRewind = "rewind"

// rewindRecords bounds the invalidations of a rewind: its step has a few records more, and at most 1,000 (bounds). Summaries beyond
// it become stale without a record; tool outputs' come last, and no prompt uses them.
const rewindRecords = 800

// afterItems returns the messages that the event's rewind removes as cuts see them; nil for any other event.
func (s *Step) afterItems() []cut.Item {
	if s.st.After == nil || s.st.Compaction == nil {
		return nil
	}
	return s.items(s.st.After)
}

// rewind updates what decides on the next cut after a rewind; before are the removed messages as they were.
func (s *Step) rewind(before []cut.Item) {
	c, last := s.st.Compaction, s.st.Message.Ordinal
	s.slot(events.SlotCurrent)
	for i, m := range s.st.Changes.Rewound {
		s.adjust(before[i], s.item(m))
	}
	to := min(c.To(), last)
	if c.To() > last {
		to = s.cutBack(last)
	}
	s.recount(to, last)
}

// cutBack moves the last cut back to where no compaction stands for a message after the ordinal last, and returns that place.
func (s *Step) cutBack(last uint64) (to uint64) {
	c := s.st.Compaction
	b := branch{step: s, last: last, placed: map[uint64]bool{}}
	for _, top := range c.Tops {
		if b.to <= last && top.To <= last {
			b.keep(top)
			continue
		}
		b.follow(top.Summary)
	}
	back := slices.DeleteFunc(b.verbatim, func(m *thread.Message) bool {
		placed := b.placed[m.Ordinal] // by another leaf, which took it when it was restored
		b.placed[m.Ordinal] = true
		return placed || !c.Replaced(m.Ordinal)
	})
	items := s.items(back)
	c.Cut.Return(items)
	behind := func(at uint64) bool { return at > b.to }
	c.Tops, c.Held, c.Fixed = b.tops, slices.DeleteFunc(c.Held, behind), slices.DeleteFunc(c.Fixed, behind)
	s.keep(slices.DeleteFunc(items, func(it cut.Item) bool { return behind(it.Ordinal) }))
	s.dropped = b.dropped
	return b.to
}

// branch collects what of the thread's compactions stands for nothing after the ordinal last.
type branch struct {
	step     *Step
	last     uint64
	tops     []thread.Top
	to       uint64 // of the last top
	dropped  []*thread.Summary
	verbatim []*thread.Message // the other sources of dropped leaves
	placed   map[uint64]bool   // ordinals of sources of leaves that are kept
}

func (b *branch) keep(top thread.Top) {
	b.to = max(b.to, min(top.To, b.last))
	top.To = b.to
	b.tops = append(b.tops, top)
}

// follow keeps a leaf or node, or what it was made from.
func (b *branch) follow(id string) {
	s := b.step
	sum := s.holder(s.slotOf(id))
	if top, whole := b.top(sum); whole {
		b.keep(top)
		return
	}
	b.dropped = append(b.dropped, sum)
	for _, child := range sum.SourceSums {
		b.follow(child)
	}
	if len(sum.SourceSums) == 0 {
		for _, m := range s.rowsOf(sum.Sources) {
			if m.Ordinal <= b.last && !m.Deleted {
				b.verbatim = append(b.verbatim, m)
			}
		}
	}
}

// top returns a leaf or node as a top, and whether it stands for nothing after last.
func (b *branch) top(sum *thread.Summary) (top thread.Top, whole bool) {
	s := b.step
	top = thread.Top{Summary: sum.ID, Slot: sum.Slot, Level: sum.Level}
	// A leaf whose messages were all deleted has its place by its name alone.
	if top.From = s.firstOf(sum.Slot); top.From > b.last {
		return top, false
	}
	rows := s.rowsOf(sum.Sources)
	for _, m := range rows {
		if m.Ordinal > b.last {
			return top, false
		}
		top.To = max(top.To, m.Ordinal)
	}
	for _, m := range rows {
		b.placed[m.Ordinal] = true
	}
	for _, child := range sum.SourceSums {
		below, whole := b.top(s.holder(s.slotOf(child)))
		if !whole {
			return top, false
		}
		top.To = max(top.To, below.To)
	}
	return top, true
}

// firstOf returns the ordinal of the message that a leaf's or a node's slot is named after.
func (s *Step) firstOf(slot string) uint64 {
	if m := got(s.f.part.Message(s.st.Header.Thread, events.SlotMessage(slot))); m != nil {
		return m.Ordinal
	}
	return 0
}

// recount folds the messages behind the last cut again: positions to cut at, calls that wait for their results again, the latest
// turns, outputs that stand whole. to is the last message that the cut passed, last the thread's newest one.
func (s *Step) recount(to, last uint64) {
	c := s.st.Compaction
	from := max(to, cut.Lookback) - cut.Lookback + 1
	rows := s.rows(from, last+1)
	for i, m := range rows {
		rows[i] = s.messageNow(m)
	}
	rows = slices.DeleteFunc(rows, func(m *thread.Message) bool { return m.Rewound })
	items := s.items(rows)
	c.Cut.Rewind(items, to, s.p.Compaction)
	if len(c.Tops) > 0 {
		s.lower(&c.Cut)
	}
	if c.Cut.User.At == 0 {
		s.retakeAs(events.RoleUser, s.lastBefore(events.RoleUser, from))
	}
	if c.Cut.Assistant.At == 0 {
		s.retakeAs(events.RoleAssistant, s.lastBefore(events.RoleAssistant, from))
	}
	s.keepAgain(from, rows, items)
	s.st.Changes.Compacted = true
}

// invalidateRewound decides what a rewind makes stale: every active summary with a removed source, what was made from those, and
// what is dropped. It needs no policy: what these stand for is not in the thread any more.
func (s *Step) invalidateRewound() {
	room, setting := rewindRecords, SettingRewind
	for _, sum := range s.outlived() {
		action := events.ActionTrim // its place is gone
		again := sum.Kind == events.KindHistory || sum.Slot == events.SlotCurrent && len(s.st.Compaction.Tops) > 0
		if again {
			action = s.p.Staleness.Action
		} else if room--; room < 0 {
			s.st.Lapse(sum)
			continue
		}
		s.decided = append(s.decided, &events.Invalidated{
			SummaryID: sum.ID, Kind: sum.Kind, Reason: events.ReasonSourceDeleted, Action: action, Meanwhile: events.MeanwhileRaw,
			Cause: events.Cause{MessageID: &s.st.Message.ID, Setting: &setting}, InvalidatedAt: s.in.Time,
		})
	}
}

// outlived returns the active summaries that stand for something that a rewind has removed, sources before what is made from them. What
// is dropped waits for nothing any more, and nothing of it serves.
func (s *Step) outlived() (list []*thread.Summary) {
	gone := map[string]bool{}
	for _, m := range s.st.Changes.Rewound {
		if gone[m.ID] = true; m.Tool {
			s.st.Retire(events.ToolSlot(m.ID))
		}
	}
	stale := map[string]bool{}
	for _, sum := range s.dropped {
		stale[sum.ID] = true
		if sum.Renew {
			s.st.Waive(sum)
		}
	}
	tops := s.st.Compaction.Tops
	if len(s.dropped) > 0 {
		s.st.Retire(events.SlotCurrent)
		if sum := s.holder(events.SlotCurrent); sum != nil && sum.Renew && len(tops) == 0 {
			s.st.Waive(sum)
		}
	}
	for _, sum := range s.byRank() {
		if stale[sum.ID] || sum.Slot == events.SlotCurrent && len(s.dropped) > 0 || slices.ContainsFunc(sum.Sources, func(id string) bool { return gone[id] }) ||
			slices.ContainsFunc(sum.SourceSums, func(id string) bool { return stale[id] }) {
			stale[sum.ID] = true
			list = append(list, sum)
		}
	}
	s.st.Overtake(func(j *thread.Job) bool {
		return j.Started.Slot == events.SlotCurrent && len(s.dropped) > 0 || slices.ContainsFunc(j.Started.SourceSummaryIDs, func(id string) bool { return stale[id] })
	})
	return list
}

// byRank returns the active summaries that are loaded, sources before what is made from them.
func (s *Step) byRank() []*thread.Summary {
	active := slices.DeleteFunc(slices.Clone(s.st.Summaries), func(sum *thread.Summary) bool { return sum.Status != thread.Active })
	slices.SortStableFunc(active, func(a, b *thread.Summary) int { return int(a.RenewalRank()) - int(b.RenewalRank()) })
	return active
}
