package fold

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/internal/thread"
	"precis/summarize"
)

// Reasons for a compaction by rules under a policy that asks for a model: leaves and nodes always are, since their ledgers must
// not depend on what a model omits; the current summary is until the model has answered.
const (
	reasonLedger  = "ledger_by_rules"
	reasonPending = "model_pending"
)

// askModel starts the job that replaces the text of the current summary, just made by rules, with a model's. It has the same
// tops. While one is under way no other is started; the end of that one leads back here.
func (f *Fold) askModel(st *thread.State, p *summarize.Policy, trigger events.Trigger, at Delivery) {
	if p.Mode != summarize.ModeLLM || compacting(st) {
		return
	}
	slot := st.Slot(events.SlotCurrent)
	holder := st.Summary(slot.Holder)
	if holder == nil || holder.Status != thread.Active {
		return
	}
	f.emit(st, draft{started: f.currentJob(st, p, holder.SourceSums, trigger)}, at)
}

// currentJob returns the job of a current summary by a model.
func (f *Fold) currentJob(st *thread.State, p *summarize.Policy, tops []string, trigger events.Trigger) *thread.Job {
	model, prompt := f.config.model(p), promptVersion(p, events.KindCompaction, "")
	job := &thread.Job{AsOf: st.Header.LastMessageID, Unresolved: f.unresolved(st), Started: events.Started{
		Kind: events.KindCompaction, Slot: events.SlotCurrent, Version: st.Slot(events.SlotCurrent).Version + 1,
		Trigger: trigger, SourceMessageIDs: []string{}, SourceSummaryIDs: tops,
		SourceDigest: summarize.SourceDigest(summarySources(tops)),
		Policy:       p.Name, PolicyFingerprint: summarize.KindFingerprint(*p, events.KindCompaction),
		Model: &model, PromptVersion: &prompt,
	}}
	job.Started.SummaryID = jobID(st, job, prompt, model)
	return job
}

func jobID(st *thread.State, job *thread.Job, prompt, model string) string {
	s := job.Started
	return summarize.Identity{
		Thread: st.Header.Thread, Kind: s.Kind, Slot: s.Slot, Version: s.Version,
		SourceDigest: s.SourceDigest, PolicyFingerprint: s.PolicyFingerprint, Method: prompt, Model: model,
	}.ID()
}

// compacting reports whether a model is at work on the thread's current summary. Jobs must be loaded.
func compacting(st *thread.State) bool {
	for _, j := range st.Jobs {
		if j.Started.Slot == events.SlotCurrent {
			return true
		}
	}
	return false
}

// askAgain starts the job that the current summary still waits for, if none was started since it was made: another was under
// way, or the record ends in the middle of the step. Jobs and slot must be loaded.
func (f *Fold) askAgain(st *thread.State, p *summarize.Policy, at Delivery) error {
	slot := st.Slot(events.SlotCurrent)
	if holder := st.Summary(slot.Holder); holder == nil || holder.Version != slot.Version {
		return nil
	}
	return f.askPending(st, p, at)
}

// askOvertaken starts again a job that a configuration superseded, unless the current summary itself is outdated: then the sweep
// finds it, and its replacement starts the job.
func (f *Fold) askOvertaken(st *thread.State, p *summarize.Policy, at Delivery) error {
	holder := st.Summary(st.Slot(events.SlotCurrent).Holder)
	if holder == nil {
		return nil
	}
	if against, err := f.outdated(st, holder); err != nil || against != nil {
		return err
	}
	return f.askPending(st, p, at)
}

// askPending starts the job that the current summary is recorded to wait for.
func (f *Fold) askPending(st *thread.State, p *summarize.Policy, at Delivery) error {
	holder := st.Summary(st.Slot(events.SlotCurrent).Holder)
	var rec events.Summary
	if err := json.Unmarshal(holder.Record, &rec); err != nil {
		return fmt.Errorf("read record of %s: %w: %w", holder.ID, ErrRecord, err)
	}
	if rec.FallbackReason == nil || *rec.FallbackReason != reasonPending {
		return nil
	}
	trigger := events.Trigger{Reason: events.TriggerRegenerated}
	if rec.EventSeq == at.Seq && at.Raw.Subject != "" {
		trigger = rec.Trigger // same step as the summary
	}
	f.askModel(st, p, trigger, at)
	return nil
}

// jobEnded continues after a job has ended. A superseded job of a tool output is started again by what superseded it.
func (f *Fold) jobEnded(st *thread.State, job *thread.Job, superseded bool, now time.Time) error {
	switch {
	case f.recovering():
		return nil
	case job.Started.Slot == events.SlotHistory:
		return f.historyBehind(st, job, superseded, now)
	case job.Started.Slot != events.SlotCurrent || !superseded:
		return nil
	}
	p, _ := f.policy(st, nil)
	at := Delivery{Seq: st.Header.EventSeq, Time: now}
	if !job.Superseded {
		return f.askOvertaken(st, p, at)
	}
	return f.askAgain(st, p, at)
}

// outdate marks jobs whose answer will not be used: their sources are no longer true, or another current summary stands for
// more.
func outdate(st *thread.State, old func(*thread.Job) bool) {
	for _, j := range st.Jobs {
		if !j.Superseded && old(j) {
			j.Superseded = true
			st.PutJob(j)
		}
	}
}
