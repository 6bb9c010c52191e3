package audit

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/internal/thread"
)

// pending compares the start of a compaction by a model with the rule-based one that it is to replace: it has the same
// source summaries and the next version.
func (a *auditor) pending(at scope, st *thread.State, job *events.Started) {
	slot := st.Slot(job.Slot)
	held := st.Summary(slot.Holder)
	if held == nil {
		a.tally.find(at, a.finding(job, CheckTrigger, "a compaction by rules in its place", "none"))
		return
	}
	want, got := fmt.Sprint(held.SourceSums, slot.Version+1), fmt.Sprint(job.SourceSummaryIDs, job.Version)
	if want != got {
		a.tally.find(at, a.finding(job, CheckSources, want, got))
		return
	}
	if digest := digestOf(nil, job.SourceSummaryIDs); digest != job.SourceDigest {
		a.tally.find(at, a.finding(job, CheckSources, "source_digest "+digest, job.SourceDigest))
		return
	}
	a.tally.holds(at, CheckTrigger)
}

// instead compares a compaction that fell back to the rules with the rule-based one in its place: both have the same
// content.
func (a *auditor) instead(at scope, st *thread.State, rec *events.Summary) {
	held := st.Summary(st.Slot(rec.Slot).Holder)
	if held == nil {
		a.tally.find(at, a.finding(rec, CheckRemade, "a compaction by rules in its place", "none"))
		return
	}
	var was events.Summary
	if err := json.Unmarshal(held.Record, &was); err != nil {
		a.tally.find(at, a.finding(rec, CheckReadable, "a record in its place", err.Error()))
		return
	}
	if want, got := apart(was.Content, rec.Content); was.Content != rec.Content {
		a.tally.find(at, a.finding(rec, CheckRemade, want, got))
		return
	}
	a.tally.holds(at, CheckRemade)
}
