package cut

import (
	"precis/events"
	"precis/summarize"
)

// minProgress is the least share of a thread's live weight that a compaction has to remove. Below it a
// thread whose bulk can't be removed (a huge system prompt, everything pinned) would be compacted again
// and again for nothing.
const minProgress = 0.10

// Fires says whether the condition holds and a compaction is worth it, and by which threshold: the
// first that holds, in the order of the policy. A threshold is passed by more than its value.
func Fires(cond summarize.Condition, f Facts) (events.Trigger, bool) {
	if f.RemovableMessages == 0 {
		return events.Trigger{}, false
	}
	switch {
	case len(cond.Any) > 0:
		return firesAny(cond.Any, f)
	case len(cond.All) > 0:
		return firesAll(cond.All, f)
	default:
		return firesLeaf(cond, f)
	}
}

func firesAny(list []summarize.Condition, f Facts) (events.Trigger, bool) {
	for _, c := range list {
		if t, ok := Fires(c, f); ok {
			return t, true
		}
	}
	return events.Trigger{}, false
}

func firesAll(list []summarize.Condition, f Facts) (events.Trigger, bool) {
	var first events.Trigger
	for i, c := range list {
		t, ok := Fires(c, f)
		if !ok {
			return events.Trigger{}, false
		}
		if i == 0 {
			first = t
		}
	}
	return first, true
}

func firesLeaf(c summarize.Condition, f Facts) (events.Trigger, bool) {
	tokens, messages := f.tokenProgress(), f.messageProgress()
	switch {
	case c.Tokens > 0:
		return passed(events.TriggerThreadTokens, float64(c.Tokens), float64(f.RemovableTokens), tokens)
	case c.Messages > 0:
		return passed(events.TriggerThreadMessages, float64(c.Messages), float64(f.RemovableMessages), messages)
	case c.Fraction > 0 && f.ContextWindow > 0:
		return f.window(c.Fraction)
	case c.Idle > 0:
		return passed(events.TriggerIdle, c.Idle.Seconds(), f.Idle.Seconds(), tokens)
	}
	return events.Trigger{}, false
}

// window holds the window's share against a threshold: of what the prompt weighs at its provider where that is known, system
// prompt and tools included, else of what can be removed. A prompt that stays large whatever is removed (the agent sends its own, or
// its tools fill it) is not compacted again before a tenth of it can be removed.
func (f Facts) window(threshold float64) (events.Trigger, bool) {
	in, progress := f.RemovableTokens, f.tokenProgress()
	if f.PromptTokens > 0 {
		in = f.PromptTokens
		progress = progress && float64(f.RemovableTokens) >= minProgress*float64(in)
	}
	return passed(events.TriggerWindowFraction, threshold, float64(in)/float64(f.ContextWindow), progress)
}

// Worthwhile says whether a compaction that was asked for removes enough to be made at all.
func (f Facts) Worthwhile() bool {
	return f.RemovableMessages > 0 && (f.tokenProgress() || f.messageProgress())
}

func (f Facts) tokenProgress() bool {
	return float64(f.RemovableTokens) >= minProgress*float64(f.LiveTokens)
}

func (f Facts) messageProgress() bool {
	return float64(f.RemovableMessages) >= minProgress*float64(f.LiveMessages)
}

func passed(reason string, threshold, value float64, progress bool) (events.Trigger, bool) {
	if !progress || value <= threshold {
		return events.Trigger{}, false
	}
	at, have := threshold, value // the parameters would go to the heap also where nothing fires
	return events.Trigger{Reason: reason, Threshold: &at, Value: &have}, true
}
