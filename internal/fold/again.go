package fold

import (
	"context"
	"errors"
	"slices"

	"precis/events"
	"precis/internal/thread"
	"precis/state"
	"precis/summarize"
)

// again makes what an edit has made stale: the leaf that the message stands in, the nodes above it and
// the current summary. Other leaves stay as they are, byte for byte.
func (w *compaction) again(ctx context.Context, drafts []draft) error {
	stale := staleCompactions(w.st, drafts)
	if len(stale) == 0 || !w.p.Enabled {
		return nil
	}
	trigger := events.Trigger{Reason: events.TriggerRegenerated}
	for _, sum := range stale {
		if err := w.remake(ctx, sum, trigger, true); err != nil {
			return err
		}
	}
	return nil
}

// remake makes a stale summary again; stale ones come before what was made from them. own says that the event has made
// it stale.
func (w *compaction) remake(ctx context.Context, sum *thread.Summary, trigger events.Trigger, own bool) error {
	var err error
	switch {
	case sum.Slot == events.SlotCurrent:
		return w.current(ctx, trigger)
	case len(sum.SourceSums) > 0:
		var children []string
		if children, err = w.replacedBy(sum.SourceSums, own); err != nil {
			return err
		}
		err = w.node(ctx, sum.Slot, sum.Level, children, trigger)
	default:
		var rows []*thread.Message
		if rows, err = w.f.part.MessagesOf(w.st.Header.Thread, sum.Sources); err != nil {
			return err
		}
		rows = w.inside(rows)
		var before int64
		if before, err = w.weigh(rows); err != nil {
			return err
		}
		err = w.leaf(ctx, sum.Slot, rows, max(before, 1), trigger)
	}
	return err
}

// live are the rows as the event leaves them, without deleted messages.
func (w *compaction) live(rows []*thread.Message) []*thread.Message {
	var list []*thread.Message
	for _, m := range rows {
		if m = asItIs(w.st, m); !m.Deleted {
			list = append(list, m)
		}
	}
	return list
}

// weigh is what messages hold now in a prompt that no compaction shortens.
func (w *compaction) weigh(rows []*thread.Message) (tokens int64, err error) {
	for _, m := range rows {
		if m.Tool {
			if err := w.f.part.LoadSlot(w.st, toolSlot(m.ID)); err != nil {
				return 0, err
			}
		}
		tokens += weightOf(w.st, m)
	}
	return tokens, nil
}

// mend makes what a thread's record ends in the middle of: records of one event are stored one after the
// other, and the last of them may be missing.
func (f *Fold) mend(ctx context.Context, st *thread.State, d Delivery, dec decided, p *summarize.Policy) error {
	if st.Compaction == nil {
		return nil
	}
	for _, dr := range dec.drafts {
		if dr.invalidated == nil || dr.invalidated.Kind != events.KindCompaction {
			continue
		}
		if err := f.loadStale(st, dr.invalidated.SummaryID); err != nil {
			return err
		}
	}
	w := &compaction{f: f, st: st, d: d, p: p, pinned: dec.pinned}
	err := w.adopted(dec.drafts, dec.waiting)
	if err == nil && f.cut == nil && f.freshenedOnRecord() == 0 { // else the cut had begun, behind all of this
		err = w.before(ctx, dec, f.displaced)
	}
	if err != nil {
		return err
	}
	if f.cut != nil {
		err = w.whole(ctx, *f.cut)
	} else {
		err = w.cut(ctx)
	}
	if err != nil {
		return err
	}
	if err := errors.Join(f.part.LoadSlot(st, events.SlotCurrent), f.part.LoadJobs(st)); err != nil {
		return err
	}
	return f.askAgain(st, p, d)
}

// whole makes what follows from the leaf that has cut the thread.
func (w *compaction) whole(ctx context.Context, trigger events.Trigger) error {
	if err := w.condense(ctx, trigger); err != nil {
		return err
	}
	if err := w.f.part.LoadSlot(w.st, events.SlotCurrent); err != nil {
		return err
	}
	holder := w.st.Summary(w.st.Slot(events.SlotCurrent).Holder)
	if holder != nil && slices.Equal(holder.SourceSums, ids(w.st.Compaction.Tops)) {
		return nil
	}
	return w.current(ctx, trigger)
}

// askedLeaf is what a request or the clock has begun with, while records are adopted: a leaf that has cut its thread,
// leaves and nodes that were replaced though they were not stale, or both.
type askedLeaf struct {
	at        Delivery
	trigger   events.Trigger
	cuts      bool
	displaced []string
}

// wholeTurn makes what a thread's record ends in the middle of, where it ends with what a request or the clock called
// for: no event makes that. It is decided where the leaf was, before anything that comes behind it.
func (f *Fold) wholeTurn(s *state.Staged) error {
	due, found := f.asked[s.Thread]
	if !found {
		return nil
	}
	if due.at.Seq != s.EffectiveSeq || s.Type != events.SummaryCreated && s.Type != events.SummaryStarted {
		delete(f.asked, s.Thread) // more was decided behind it, so that all of it is on record
		return nil
	}
	to, err := f.part.StagedTo(s.Thread)
	if err != nil {
		return err
	}
	st, err := f.part.LoadThread(s.Thread)
	if err != nil || to.ChainSeq > st.Header.ChainSeq {
		return err
	}
	delete(f.asked, s.Thread)
	p, _ := f.policy(st, nil)
	if err := errors.Join(f.part.LoadCompaction(st), f.part.LoadJobs(st)); err != nil {
		return err
	}
	w := &compaction{f: f, st: st, d: due.at, p: p, patient: true}
	ctx := context.Background() // a recovery is not given up in the middle
	if err := errors.Join(f.part.LoadSlot(st, events.SlotCurrent), w.above(ctx, due.displaced, due.trigger)); err != nil {
		return err
	}
	if due.cuts {
		if err := w.whole(ctx, due.trigger); err != nil {
			return err
		}
	}
	if err := f.askAgain(st, p, due.at); err != nil {
		return err
	}
	f.done(w)
	return nil
}

// staleCompactions are the compactions that the drafts make stale and the policy makes again, each
// before what was made from it.
func staleCompactions(st *thread.State, drafts []draft) []*thread.Summary {
	list := slices.DeleteFunc(staleOf(st, drafts), func(sum *thread.Summary) bool { return sum.Status != thread.Stale })
	slices.SortStableFunc(list, func(a, b *thread.Summary) int { return rank(a) - rank(b) })
	return list
}

// staleOf are the compactions that the drafts make stale and the policy makes again, also those that were by now.
func staleOf(st *thread.State, drafts []draft) []*thread.Summary {
	var list []*thread.Summary
	for _, d := range drafts {
		if d.invalidated == nil || d.invalidated.Kind != events.KindCompaction || d.invalidated.Action != events.ActionRegenerate {
			continue
		}
		if sum := st.Summary(d.invalidated.SummaryID); sum != nil {
			list = append(list, sum)
		}
	}
	return list
}

func rank(sum *thread.Summary) int {
	if sum.Slot == events.SlotCurrent {
		return 1 << 30
	}
	return sum.Level
}
