package audit

import (
	"slices"

	"precis/events"
)

// The tokenizers belong to the rules: what another version of them counted, and whether a threshold in tokens was passed
// by it, this program can't tell. What a record says of its sources is checked against the log all the same.

// doubtCounted is why a decision can't be proved then.
const doubtCounted = "decided by token counts of other rules"

// byOthers says whether other rules than this program's made a summary.
func (a *auditor) byOthers(rec *events.Summary) bool {
	return orNone(rec.RulesVersion) != a.rulesVersion
}

// underOthers says whether other rules than this program's are in force.
func (a *auditor) underOthers() bool { return a.lane.fold.Config().RulesVersion != a.rulesVersion }

// counted says whether tokens decide that a trigger fires, and what is worth summarizing then: an idle thread, or one that
// is asked about, has to give up a tenth of its tokens.
func counted(t events.Trigger) bool {
	switch t.Reason {
	case events.TriggerToolOutputTokens, events.TriggerThreadTokens, events.TriggerWindowFraction,
		events.TriggerIdle, events.TriggerRequested:
		return true
	}
	return false
}

// triggerOf is why a record was made; false for one that has no trigger.
func triggerOf(rec events.Record) (t events.Trigger, ok bool) {
	switch rec := rec.(type) {
	case *events.Summary:
		return rec.Trigger, true
	case *events.Started:
		return rec.Trigger, true
	}
	return t, false
}

// sameSources takes the counts of a summary by other rules from the record. It is false where nothing is left to compare:
// tokens decide where a cut lies, so that the summary may be of other sources.
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
