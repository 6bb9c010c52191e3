package fold

import (
	"context"

	"precis/events"
	"precis/internal/thread"
	"precis/summarize"
)

// draft is a decided record before it has its place in the chain; one of the first three is set.
type draft struct {
	created     *events.Summary
	invalidated *events.Invalidated
	started     *thread.Job
	// fill makes what the rules say in created; nil where that is done.
	fill func(context.Context) error
}

// make makes the draft whole.
func (d *draft) make(ctx context.Context) error {
	if d.fill == nil {
		return nil
	}
	err := d.fill(ctx)
	if err == nil {
		d.fill = nil
	}
	return err
}

// decide says what follows from an event: which summaries are no longer true, and which are made.
func (f *Fold) decide(st *thread.State, in thread.Input, res thread.Result, p *summarize.Policy, fs facts) []draft {
	var drafts []draft
	action := p.Staleness.Action
	stale := false
	if res.Edited && p.Stale("source") {
		drafts, stale = invalidate(st, in, action), true
	}
	if !res.Revised || !st.Message.Tool || st.Message.Deleted || fs.origin == nil {
		return drafts
	}
	trigger, ok := p.ToolTrigger(st.Message.Text.Chars, st.Message.Text.Tokens)
	if !ok {
		return drafts
	}
	slot := st.Slot(toolSlot(st.Message.ID))
	if slot.Holder != "" {
		if !stale || action != events.ActionRegenerate {
			return drafts
		}
		trigger.Reason = events.TriggerRegenerated
	}
	return append(drafts, f.toolDecision(st, in, res, p, fs, trigger))
}

// invalidate drafts the invalidation of every summary that the edited message is a source of, and of
// what was made from those; each cause before its effects.
func invalidate(st *thread.State, in thread.Input, action string) []draft {
	reason := events.ReasonSourceEdited
	if in.Event.Edit.Deleted {
		reason = events.ReasonSourceDeleted
	}
	var drafts []draft
	for _, sum := range st.Summaries {
		if sum.Status != thread.Active {
			continue
		}
		inv := &events.Invalidated{
			SummaryID: sum.ID, Kind: sum.Kind, Reason: reason, Action: action,
			Cause: events.Cause{MessageID: &st.Message.ID}, InvalidatedAt: in.Time,
		}
		if in.Event.Edit.Deleted && sum.Kind == events.KindToolResult {
			inv.Action = events.ActionTrim // there is nothing to make a summary from
		}
		if from := invalidSource(st, sum); from != "" {
			inv.Reason = events.ReasonSourceInvalidated
			inv.Cause = events.Cause{SummaryID: &from}
		}
		drafts = append(drafts, draft{invalidated: inv})
	}
	return drafts
}

// invalidSource is the loaded summary that sum was made from; empty where it was made from messages.
func invalidSource(st *thread.State, sum *thread.Summary) string {
	for _, id := range sum.SourceSums {
		if st.Summary(id) != nil {
			return id
		}
	}
	return ""
}

func toolSlot(message string) string { return "tool:" + message }
