package fold

import (
	"context"
	"slices"

	"precis/events"
	"precis/internal/thread"
	"precis/summarize"
	"precis/summarize/cut"
)

// draft is a decided record without its place in the chain; one of the first three fields is set.
type draft struct {
	created     *events.Summary
	invalidated *events.Invalidated
	started     *thread.Job
	// letGo are the messages that created, a leaf, no longer stands for.
	letGo []cut.Item
	// fill runs the rules that complete created; nil once they have run.
	fill func(context.Context) error
}

// make completes the draft.
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

// decide returns what follows from an event: the summaries that become stale, and those to be made.
func (f *Fold) decide(st *thread.State, in thread.Input, res thread.Result, p *summarize.Policy, fs facts) []draft {
	var drafts []draft
	action := p.Staleness.Action
	stale := false
	if res.Edited && p.Stale("source") {
		f.retire(st)
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

// invalidate drafts the invalidation of every summary that the edited message is a source of, and of what was made from those,
// causes before effects.
func invalidate(st *thread.State, in thread.Input, action string) []draft {
	reason := events.ReasonSourceEdited
	if in.Event.Edit.Deleted {
		reason = events.ReasonSourceDeleted
	}
	var drafts []draft
	of := madeFrom(st, func(sum *thread.Summary) bool { return slices.Contains(sum.Sources, st.Message.ID) })
	for _, sum := range of {
		inv := &events.Invalidated{
			SummaryID: sum.ID, Kind: sum.Kind, Reason: reason, Action: action, Meanwhile: events.MeanwhileRaw,
			Cause: events.Cause{MessageID: &st.Message.ID}, InvalidatedAt: in.Time,
		}
		if in.Event.Edit.Deleted && sum.Kind == events.KindToolResult {
			inv.Action = events.ActionTrim // a deleted message can't be summarized
		}
		if from := invalidSource(of, sum); from != "" {
			inv.Reason = events.ReasonSourceInvalidated
			inv.Cause = events.Cause{SummaryID: &from}
		}
		drafts = append(drafts, draft{invalidated: inv})
	}
	return drafts
}

// madeFrom returns the active loaded summaries for which something holds, and those made from these, in the order of loading:
// sources come first.
func madeFrom(st *thread.State, something func(*thread.Summary) bool) []*thread.Summary {
	var list []*thread.Summary
	for _, sum := range st.Summaries {
		if sum.Status == thread.Active && (something(sum) || invalidSource(list, sum) != "") {
			list = append(list, sum)
		}
	}
	return list
}

// invalidSource returns the first source of sum that is among the given summaries; empty if there is none.
func invalidSource(of []*thread.Summary, sum *thread.Summary) string {
	for _, id := range sum.SourceSums {
		if slices.ContainsFunc(of, func(s *thread.Summary) bool { return s.ID == id }) {
			return id
		}
	}
	return ""
}

func toolSlot(message string) string { return "tool:" + message }
