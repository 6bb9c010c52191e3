package audit

import (
	"slices"

	"precis/events"
)

// Tokenizers belong to the rules: this program can't tell what another version counted, or whether that passed a
// threshold in tokens. What a record says of its sources is still checked against the log.

// doubtCounted is the reason that such a decision can't be proved.
const doubtCounted = "decided by token counts of other rules"

// byOthers reports whether a version of the rules other than this program's made a summary.
func (a *auditor) byOthers(rec *events.Summary) bool {
	return orNone(rec.RulesVersion) != a.rulesVersion
}

// underOthers reports whether a version of the rules other than this program's is in force.
func (a *auditor) underOthers() bool { return a.lane.fold.Config().RulesVersion != a.rulesVersion }

// counted reports whether token counts decide that a trigger fires, or what is worth summarizing then: a compaction of
// an idle thread, or on request, has to take out a tenth of the thread's tokens.
func counted(t events.Trigger) bool {
	switch t.Reason {
	case events.TriggerToolOutputTokens, events.TriggerThreadTokens, events.TriggerWindowFraction,
		events.TriggerIdle, events.TriggerRequested:
		return true
	}
	return false
}

// triggerOf is a record's trigger; ok is false if it has none.
func triggerOf(rec events.Record) (t events.Trigger, ok bool) {
	switch rec := rec.(type) {
	case *events.Summary:
		return rec.Trigger, true
	case *events.Started:
		return rec.Trigger, true
	}
	return t, false
}

// sameSources copies the token counts of a summary by other rules from its record. It returns false if nothing is left
// to compare: tokens decide where a cut lies, so the summary may have other sources.
func (a *auditor) sameSources(at scope, want, got *events.Summary) bool {
	want.TokenCountBefore = got.TokenCountBefore
	if !counted(want.Trigger) && !counted(got.Trigger) {
		return true
	}
	if !slices.Equal(want.SourceMessageIDs, got.SourceMessageIDs) || !slices.Equal(want.SourceSummaryIDs, got.SourceSummaryIDs) ||
		want.Trigger.Reason != got.Trigger.Reason {
		a.tally.doubt(at, doubtCounted)
		return false
	}
	want.Trigger.Value = got.Trigger.Value
	return true
}
