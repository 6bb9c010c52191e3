package fold

import (
	"context"
	"slices"

	"precis/events"
	"precis/internal/thread"
	"precis/summarize/cut"
)

// A compaction gives messages back. What the policy keeps, the latest turns and pinned messages must stand verbatim, even if a
// cut has passed them: messages after the cut were deleted, the policy keeps more, or an edit pinned one. The leaf is recomputed
// without them in its own slot, and so are the nodes above it and the current summary. Nothing in them has become untrue, so
// nothing is invalidated, and the policy's staleness action does not matter. A leaf's recorded sources define what it stands
// for: what it lets go is verbatim from that record on, live and in recovery.
//
// A stale leaf is left alone: recomputing it leaves them out, and until then no old text serves (correctCut).

// standVerbatim gives back the messages that must stand verbatim, of as many leaves as a step takes.
func (s *Step) standVerbatim(ctx context.Context, trigger events.Trigger) {
	if !s.mustStand() {
		return
	}
	s.slot(events.SlotCurrent)
	s.loadJobs() // those that use a replaced summary are superseded
	var replaced []string
	left := true
	for len(replaced) < standAtOnce {
		leaf, rows := s.tooFar()
		if leaf == nil || slices.Contains(replaced, leaf.ID) {
			left = false
			break
		}
		s.leaf(ctx, leaf.Slot, rows, max(s.weigh(rows), 1), trigger)
		replaced = append(replaced, leaf.ID)
	}
	s.unfinished = s.unfinished || left
	s.above(ctx, replaced, trigger)
}

// mustStand reports whether a message that must stand verbatim may be replaced.
func (s *Step) mustStand() bool {
	c := s.st.Compaction
	if c == nil || c.To() == 0 {
		return false
	}
	return c.Cut.Lacks(s.p.Compaction.Keep) || slices.ContainsFunc(latest(c, s.pinned), c.Replaced)
}

// latest returns the ordinals of the latest turns and of a message just pinned.
func latest(c *thread.Compaction, pinned *thread.Message) []uint64 {
	list := append([]uint64{c.Cut.User.At, c.Cut.Assistant.At}, c.Cut.Assistant.Members...)
	if pinned != nil { // first: a later step does not know of it
		list = slices.Insert(list, 0, pinned.Ordinal)
	}
	return slices.DeleteFunc(list, func(at uint64) bool { return at == 0 })
}

// tooFar returns a leaf that stands for messages that must stand verbatim, and the messages it may keep; nil if there is none.
func (s *Step) tooFar() (leaf *thread.Summary, rows []*thread.Message) {
	c, keep := s.st.Compaction, s.p.Compaction.Keep
	inside := s.rowsAt(slices.DeleteFunc(latest(c, s.pinned), func(at uint64) bool { return !c.Replaced(at) }))
	for _, m := range s.live(inside) {
		if leaf, rows = s.holding(m); leaf != nil {
			return leaf, rows
		}
	}
	if !c.Cut.Lacks(keep) {
		return nil, nil
	}
	lowered := c.Cut.Clone()
	newest := s.lower(&lowered)
	if newest == nil || !lowered.Lacks(keep) {
		return nil, nil
	}
	if leaf, rows = s.holding(newest); leaf == nil {
		return nil, nil
	}
	at := lowered.Back(s.items(rows), s.p.Compaction)
	return leaf, slices.DeleteFunc(rows, func(m *thread.Message) bool { return m.Ordinal >= at })
}

// holding returns the active leaf that a message is a source of, and the sources that the leaf may stand for.
func (s *Step) holding(m *thread.Message) (*thread.Summary, []*thread.Message) {
	for _, id := range got(s.f.part.MadeFromMessage(s.st.Header.Thread, m.ID)) {
		s.summary(id)
	}
	leaf := s.leafOf(m.ID)
	if leaf == nil {
		return nil, nil
	}
	return leaf, s.inside(s.rowsOf(leaf.Sources))
}

// leafOf returns the active leaf, among the loaded summaries, that a message is a source of; nil if there is none.
func (s *Step) leafOf(message string) *thread.Summary {
	for _, sum := range s.st.Summaries {
		if sum.Status == thread.Active && sum.Kind == events.KindCompaction && slices.Contains(sum.Sources, message) {
			return sum
		}
	}
	return nil
}

// inside returns the messages of a leaf that it may stand for.
func (s *Step) inside(rows []*thread.Message) []*thread.Message {
	c := s.st.Compaction
	out := latest(c, nil)
	return slices.DeleteFunc(s.live(rows), func(m *thread.Message) bool {
		return !c.Replaced(m.Ordinal) || slices.Contains(out, m.Ordinal) || m.Item(0).Fixed(s.p.Compaction)
	})
}

// above recomputes what was made from replaced summaries: nodes, lower levels first, and the current summary. Histories made
// from them become stale: an edit would no longer find them by their sources.
func (s *Step) above(ctx context.Context, replaced []string, trigger events.Trigger) {
	if len(replaced) == 0 {
		return
	}
	made := s.madeFrom(replaced)
	slices.SortStableFunc(made, func(a, b *thread.Summary) int { return a.Level - b.Level })
	for _, sum := range made {
		if sum.Kind == events.KindCompaction && sum.Slot != events.SlotCurrent {
			s.remake(ctx, sum, trigger, false)
		}
	}
	holder := s.activeHolder(events.SlotCurrent)
	if holder != nil && !slices.Equal(holder.SourceSums, ids(s.st.Compaction.Tops)) {
		s.current(ctx, trigger)
	}
	for _, sum := range made {
		if sum.Kind == events.KindHistory {
			s.outdateHistory(sum)
		}
	}
}

// madeFrom returns the active summaries made from the given ones, directly or indirectly.
func (s *Step) madeFrom(from []string) (list []*thread.Summary) {
	for queue := slices.Clone(from); len(queue) > 0; queue = queue[1:] {
		for _, id := range append(got(s.f.part.MadeFrom(s.st.Header.Thread, queue[0])), queue[0]) {
			s.summary(id)
		}
		for _, sum := range s.st.Summaries {
			if sum.Status == thread.Active && slices.Contains(sum.SourceSums, queue[0]) && !slices.Contains(list, sum) {
				list, queue = append(list, sum), append(queue, sum.ID)
			}
		}
	}
	return list
}

// lower returns the newest message that a compaction stands for, or nil if there is none, and has c count the messages after it.
func (s *Step) lower(c *cut.State) (newest *thread.Message) {
	var verbatim []cut.Item
	var last *cut.Item
	s.backwards(c.Edge.At+1, func(m *thread.Message) bool {
		if m = s.messageNow(m); m.Deleted {
			return true
		}
		it := s.items([]*thread.Message{m})[0]
		if s.st.Compaction.Replaced(m.Ordinal) {
			newest, last = m, &it
			return false
		}
		verbatim = append(verbatim, it)
		return true
	})
	c.Lower(last, verbatim)
	return newest
}

// letGo returns the messages that the previous version of a leaf stood for and this record does not; none for any other record.
// Deleted messages are omitted, since they are not verbatim. The leaf's slot must be loaded.
func (s *Step) letGo(rec *events.Summary) []cut.Item {
	old := s.st.Summary(s.st.Slot(rec.Slot).Holder)
	if rec.Kind != events.KindCompaction || rec.Level > 0 || old == nil || s.st.Compaction == nil {
		return nil
	}
	still := map[string]bool{}
	for _, id := range rec.SourceMessageIDs {
		still[id] = true
	}
	gone := slices.DeleteFunc(slices.Clone(old.Sources), func(id string) bool { return still[id] })
	live := slices.DeleteFunc(s.live(s.rowsOf(gone)), func(m *thread.Message) bool { return !s.st.Compaction.Replaced(m.Ordinal) })
	if len(live) > 0 { // created stops a stale compaction that still stands for them from serving
		s.slot(events.SlotCurrent)
	}
	return s.items(live)
}
