package fold

import (
	"context"
	"errors"
	"slices"

	"precis/events"
	"precis/internal/thread"
	"precis/summarize"
	"precis/summarize/cut"
)

// A compaction gives messages back. What the policy keeps, the latest turns and pinned messages must stand verbatim, even if a
// cut has passed them: messages after the cut were deleted, the policy keeps more, or an edit pinned one. The leaf is recomputed
// without them in its own slot, and so are the nodes above it and the current summary. Nothing in them has become untrue, so
// nothing is invalidated, and the policy's staleness action does not matter. A leaf's recorded sources define what it stands
// for: what it lets go is verbatim from that record on, live and in recovery.
//
// A stale leaf is left alone: recomputing it leaves them out, and until then no old text serves (settle).

// stand gives back the messages that must stand verbatim, of as many leaves as a step takes.
func (w *compaction) stand(ctx context.Context, trigger events.Trigger) error {
	if !w.f.mustStand(w.st, w.p, w.pinned) {
		return nil
	}
	// Jobs that use a replaced summary are superseded.
	if err := errors.Join(w.f.part.LoadSlot(w.st, events.SlotCurrent), w.f.part.LoadJobs(w.st)); err != nil {
		return err
	}
	var replaced []string
	left := true
	for len(replaced) < standAtOnce {
		leaf, rows, err := w.tooFar()
		if err != nil {
			return err
		}
		if leaf == nil || slices.Contains(replaced, leaf.ID) {
			left = false
			break
		}
		before, err := w.weigh(rows)
		if err != nil {
			return err
		}
		if err := w.leaf(ctx, leaf.Slot, rows, max(before, 1), trigger); err != nil {
			return err
		}
		replaced = append(replaced, leaf.ID)
	}
	w.unfinished = w.unfinished || left
	return w.above(ctx, replaced, trigger)
}

// mustStand reports whether a message that must stand verbatim may be replaced.
func (f *Fold) mustStand(st *thread.State, p *summarize.Policy, pinned *thread.Message) bool {
	c := st.Compaction
	if c == nil || c.To() == 0 {
		return false
	}
	return c.Cut.Lacks(p.Compaction.Keep) || slices.ContainsFunc(latest(c, pinned), c.Replaced)
}

// latest returns the ordinals of the latest turns and of a message just pinned.
func latest(c *thread.Compaction, pinned *thread.Message) []uint64 {
	list := append([]uint64{c.Cut.User.At, c.Cut.Assistant.At}, c.Cut.Assistant.Members...)
	if pinned != nil && pinned.Pinned { // first: a later step does not know of it
		list = slices.Insert(list, 0, pinned.Ordinal)
	}
	return slices.DeleteFunc(list, func(at uint64) bool { return at == 0 })
}

// tooFar returns a leaf that stands for messages that must stand verbatim, and the messages it may keep; nil if there is none.
func (w *compaction) tooFar() (leaf *thread.Summary, rows []*thread.Message, err error) {
	c := w.st.Compaction
	inside, err := w.f.part.MessagesAt(w.st.Header.Thread, slices.DeleteFunc(latest(c, w.pinned), func(at uint64) bool { return !c.Replaced(at) }))
	if err != nil {
		return nil, nil, err
	}
	for _, m := range w.live(inside) {
		if leaf, rows, err = w.holding(m); err != nil || leaf != nil {
			return leaf, rows, err
		}
	}
	if !c.Cut.Lacks(w.p.Compaction.Keep) {
		return nil, nil, nil
	}
	state := c.Cut.Clone()
	newest, err := w.f.lower(w.st, &state)
	if err != nil || newest == nil || !state.Lacks(w.p.Compaction.Keep) {
		return nil, nil, err
	}
	if leaf, rows, err = w.holding(newest); err != nil || leaf == nil {
		return nil, nil, err
	}
	items, err := w.f.items(w.st, rows)
	if err != nil {
		return nil, nil, err
	}
	at := state.Back(items, w.p.Compaction)
	return leaf, slices.DeleteFunc(rows, func(m *thread.Message) bool { return m.Ordinal >= at }), nil
}

// holding returns the active leaf that a message is a source of, and the sources that the leaf may stand for.
func (w *compaction) holding(m *thread.Message) (*thread.Summary, []*thread.Message, error) {
	name := w.st.Header.Thread
	made, err := w.f.part.MadeFromMessage(name, m.ID)
	if err != nil {
		return nil, nil, err
	}
	for _, id := range made {
		if err := w.f.part.LoadSummary(w.st, id); err != nil {
			return nil, nil, err
		}
	}
	leaf := leafOf(w.st, m.ID)
	if leaf == nil {
		return nil, nil, nil
	}
	rows, err := w.f.part.MessagesOf(name, leaf.Sources)
	return leaf, w.inside(rows), err
}

// leafOf returns the active leaf, among the loaded summaries, that a message is a source of; nil if there is none.
func leafOf(st *thread.State, message string) *thread.Summary {
	for _, sum := range st.Summaries {
		if sum.Status == thread.Active && sum.Kind == events.KindCompaction && slices.Contains(sum.Sources, message) {
			return sum
		}
	}
	return nil
}

// inside returns the messages of a leaf that it may stand for.
func (w *compaction) inside(rows []*thread.Message) []*thread.Message {
	c := w.st.Compaction
	out := latest(c, nil)
	return slices.DeleteFunc(w.live(rows), func(m *thread.Message) bool {
		return !c.Replaced(m.Ordinal) || slices.Contains(out, m.Ordinal) || m.Item(0).Fixed(w.p.Compaction)
	})
}

// above recomputes what was made from replaced summaries: nodes, lower levels first, and the current summary. Histories made
// from them become stale: an edit would no longer find them by their sources.
func (w *compaction) above(ctx context.Context, replaced []string, trigger events.Trigger) error {
	if len(replaced) == 0 {
		return nil
	}
	made, err := w.madeFrom(replaced)
	if err != nil {
		return err
	}
	slices.SortStableFunc(made, func(a, b *thread.Summary) int { return a.Level - b.Level })
	for _, sum := range made {
		if sum.Kind == events.KindCompaction && sum.Slot != events.SlotCurrent {
			if err := w.remake(ctx, sum, trigger, false); err != nil {
				return err
			}
		}
	}
	holder := w.st.Summary(w.st.Slot(events.SlotCurrent).Holder)
	if holder != nil && holder.Status == thread.Active && !slices.Equal(holder.SourceSums, ids(w.st.Compaction.Tops)) {
		if err := w.current(ctx, trigger); err != nil {
			return err
		}
	}
	for _, sum := range made {
		if sum.Kind == events.KindHistory {
			w.outdateHistory(sum)
		}
	}
	return nil
}

// outdateHistory invalidates a history if one of its sources has been replaced.
func (w *compaction) outdateHistory(sum *thread.Summary) {
	for _, id := range sum.SourceSums {
		from := w.st.Summary(id)
		if from == nil || from.Status != thread.Replaced {
			continue
		}
		w.f.emit(w.st, draft{invalidated: &events.Invalidated{
			SummaryID: sum.ID, Kind: sum.Kind, Reason: events.ReasonSourceInvalidated, Cause: events.Cause{SummaryID: &id},
			Action: w.p.Staleness.Action, Meanwhile: events.MeanwhileRaw, InvalidatedAt: w.d.Time,
		}}, w.d)
		return
	}
}

// madeFrom returns the active summaries made from the given ones, directly or indirectly.
func (w *compaction) madeFrom(from []string) (list []*thread.Summary, err error) {
	for queue := slices.Clone(from); len(queue) > 0; queue = queue[1:] {
		made, err := w.f.part.MadeFrom(w.st.Header.Thread, queue[0])
		if err != nil {
			return nil, err
		}
		for _, id := range append(made, queue[0]) {
			if err := w.f.part.LoadSummary(w.st, id); err != nil {
				return nil, err
			}
		}
		for _, sum := range w.st.Summaries {
			if sum.Status == thread.Active && slices.Contains(sum.SourceSums, queue[0]) && !slices.Contains(list, sum) {
				list, queue = append(list, sum), append(queue, sum.ID)
			}
		}
	}
	return list, nil
}

// lower returns the newest message that a compaction stands for, or nil if there is none, and has s count the messages after it.
func (f *Fold) lower(st *thread.State, s *cut.State) (*thread.Message, error) {
	var verbatim []cut.Item
	for to, n := s.Edge.At+1, uint64(8); to > 1; n = min(4*n, 512) {
		from := max(to, n+1) - n
		rows, err := f.part.Messages(st.Header.Thread, from, to)
		if err != nil {
			return nil, err
		}
		for _, m := range slices.Backward(rows) {
			if m = asItIs(st, m); m.Deleted {
				continue
			}
			items, err := f.items(st, []*thread.Message{m})
			if err != nil {
				return nil, err
			}
			if st.Compaction.Replaced(m.Ordinal) {
				s.Lower(&items[0], verbatim)
				return m, nil
			}
			verbatim = append(verbatim, items[0])
		}
		to = from
	}
	s.Lower(nil, verbatim)
	return nil, nil
}

// items returns messages as the cut package sees them.
func (f *Fold) items(st *thread.State, rows []*thread.Message) ([]cut.Item, error) {
	items := make([]cut.Item, len(rows))
	for i, m := range rows {
		if m.Tool {
			if err := f.part.LoadSlot(st, toolSlot(m.ID)); err != nil {
				return nil, err
			}
		}
		items[i] = m.Item(weightOf(st, m))
	}
	return items, nil
}

// letGo returns the messages that the previous version of a leaf stood for and this record does not; none for any other record.
// Deleted messages are omitted, since they are not verbatim. The leaf's slot must be loaded.
func (f *Fold) letGo(st *thread.State, rec *events.Summary) ([]cut.Item, error) {
	old := st.Summary(st.Slot(rec.Slot).Holder)
	if rec.Kind != events.KindCompaction || rec.Level > 0 || old == nil || st.Compaction == nil {
		return nil, nil
	}
	still := map[string]bool{}
	for _, id := range rec.SourceMessageIDs {
		still[id] = true
	}
	gone := slices.DeleteFunc(slices.Clone(old.Sources), func(id string) bool { return still[id] })
	rows, err := f.part.MessagesOf(st.Header.Thread, gone)
	if err != nil {
		return nil, err
	}
	var live []*thread.Message
	for _, m := range rows {
		if m = asItIs(st, m); !m.Deleted && st.Compaction.Replaced(m.Ordinal) {
			live = append(live, m)
		}
	}
	if len(live) > 0 { // created stops a stale compaction that still stands for them from serving
		if err := f.part.LoadSlot(st, events.SlotCurrent); err != nil {
			return nil, err
		}
	}
	return f.items(st, live)
}

// giveBack makes messages verbatim again that a compaction stood for.
func giveBack(c *thread.Compaction, items []cut.Item, p summarize.Compaction) {
	c.Cut.Return(items)
	for _, it := range items {
		if it.Fixed(p) {
			c.Fix(it.Ordinal)
		} else {
			c.Hold(it.Ordinal)
		}
	}
}

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
