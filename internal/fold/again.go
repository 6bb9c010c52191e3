package fold

import (
	"context"
	"slices"

	"precis/events"
	"precis/internal/thread"
)

// again recomputes what an edit made stale: the leaf that contains the message, the nodes above it and the current summary.
// Other leaves stay the same, byte for byte.
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

// remake recomputes a stale summary; sources must be recomputed before what was made from them. own: the event itself made it
// stale.
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

// live returns the rows as the event leaves them, without deleted messages.
func (w *compaction) live(rows []*thread.Message) []*thread.Message {
	var list []*thread.Message
	for _, m := range rows {
		if m = asItIs(w.st, m); !m.Deleted {
			list = append(list, m)
		}
	}
	return list
}

// weigh returns the tokens that messages take now in a prompt without compaction.
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

// staleCompactions returns the compactions that the drafts make stale and the policy recomputes, sources before what was made
// from them.
func staleCompactions(st *thread.State, drafts []draft) []*thread.Summary {
	var list []*thread.Summary
	for _, d := range drafts {
		if d.invalidated == nil || d.invalidated.Kind != events.KindCompaction || d.invalidated.Action != events.ActionRegenerate {
			continue
		}
		if sum := st.Summary(d.invalidated.SummaryID); sum != nil && sum.Status == thread.Stale {
			list = append(list, sum)
		}
	}
	slices.SortStableFunc(list, func(a, b *thread.Summary) int { return rank(a) - rank(b) })
	return list
}

func rank(sum *thread.Summary) int {
	if sum.Slot == events.SlotCurrent {
		return 1 << 30
	}
	return sum.Level
}
