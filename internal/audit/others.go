package audit

import (
	"cmp"
	"slices"

	"precis/events"
)

// Tokenizers belong to the rules: this program can't tell what another version counted, or whether that passed a
// threshold in tokens. What a record says of its sources is still checked against the log.

// doubtCounted is the reason that such a decision can't be proved.
const doubtCounted = "decided by token counts of other rules"

// byOthers reports whether a version of the rules other than this program's made a summary.
func (a *auditor) byOthers(rec *events.Summary) bool {
	return orNone(rec.RulesVersion) != a.RulesVersion
}

// otherRules is the reason that the text of such a summary can't be recomputed.
func (a *auditor) otherRules(rec *events.Summary) string {
	return "made by rules " + orNone(rec.RulesVersion) + ", this program has " + a.RulesVersion
}

// underOthers reports whether a version of the rules other than this program's is in force.
func (a *auditor) underOthers() bool { return a.lane.fold.Config().RulesVersion != a.RulesVersion }

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

// sameSources copies the token counts of a summary by other rules from its record. It returns false if nothing is left
// to compare: tokens decide where a cut lies, so the summary may have other sources.
func (a *auditor) sameSources(r *onRecord, want, got *events.Summary) bool {
	want.TokenCountBefore = got.TokenCountBefore
	if !counted(want.Trigger) && !counted(got.Trigger) {
		return true
	}
	if !slices.Equal(want.SourceMessageIDs, got.SourceMessageIDs) || !slices.Equal(want.SourceSummaryIDs, got.SourceSummaryIDs) ||
		want.Trigger.Reason != got.Trigger.Reason {
		a.tally.doubt(r.scope, doubtCounted)
		return false
	}
	want.Trigger.Value = got.Trigger.Value
	return true
}

// onOthers has what the fold decides stand on the summaries that are on record in the place of those that it made earlier in the step: an
// id names the rules. It reports whether that changes anything.
func (a *auditor) onOthers(name string, messages []string, summaries *[]string, digest *string) bool {
	list := slices.Clone(*summaries)
	for i, id := range list {
		list[i] = cmp.Or(a.instead[id], id)
	}
	if slices.Equal(list, *summaries) {
		return false
	}
	rows, err := a.lane.part.MessagesOf(name, messages)
	if err != nil {
		return false // what can't be read is a finding, or a doubt, of its own
	}
	*summaries, *digest = list, digestOf(rows, list)
	return true
}

// A newer program may have recorded a configuration with keys that this one does not know, and any of them can change
// decisions. The fold continues as far as it can read the configuration, so that chains, their order and the place of
// each record are proved; what rests on the configuration is not. This holds for the rest of a thread that was folded
// under it, since its counts, summaries and cuts come from there. Other threads of the partition are proved again once
// a configuration that this program knows is in force.

// doubtNewer is the reason that none of this is proved.
const doubtNewer = "under a configuration of a newer program"

// byConfig are the checks that depend on the configuration in force, or on state that was made under it.
var byConfig = append(slices.Clone(byState), CheckRejection, CheckCause, CheckJob, CheckEnded, CheckCost)

// folding notes that a thread is folded, if that is under such a configuration.
func (a *auditor) folding(name string) {
	if a.lane.fold.Config().Newer == nil || name == "" {
		return
	}
	a.tally.mu.Lock()
	defer a.tally.mu.Unlock()
	a.tally.newer[name] = true
}

// isNewer reports whether a thread was folded under a newer program's configuration.
func (t *tally) isNewer(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.newer[name]
}

// underNewer reports whether such a configuration keeps a check of a thread from being proved.
func (t *tally) underNewer(name, check string) bool {
	return slices.Contains(byConfig, check) && t.isNewer(name)
}
