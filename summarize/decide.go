package summarize

import (
	"slices"
	"unicode/utf8"

	"precis/events"
)

// ToolTrigger reports whether a tool output of this size is summarized, and why. The size must exceed a
// threshold; 0 turns it off.
func (p *Policy) ToolTrigger(chars, tokens int64) (events.Trigger, bool) {
	if !p.Enabled {
		return events.Trigger{}, false
	}
	t := p.ToolOutput
	switch {
	case t.OverChars > 0 && chars > int64(t.OverChars):
		return passed(events.TriggerToolOutputChars, t.OverChars, chars), true
	case t.OverTokens > 0 && tokens > int64(t.OverTokens):
		return passed(events.TriggerToolOutputTokens, t.OverTokens, tokens), true
	}
	return events.Trigger{}, false
}

// MayTrigger is ToolTrigger before the text is counted: false only if no count of it can pass a threshold, since a token has at least
// one byte. An output is read only if it may.
func (p *Policy) MayTrigger(text string) bool {
	t := p.ToolOutput
	return t.OverChars > 0 && len(text) > t.OverChars && utf8.RuneCountInString(text) > t.OverChars ||
		t.OverTokens > 0 && len(text) > t.OverTokens
}

// Stale reports whether a cause (one of [StaleCauses]) makes the policy's summaries stale.
func (p *Policy) Stale(cause string) bool { return slices.Contains(p.Staleness.On, cause) }

func passed(reason string, threshold int, value int64) events.Trigger {
	t, v := float64(threshold), float64(value)
	return events.Trigger{Reason: reason, Threshold: &t, Value: &v}
}
