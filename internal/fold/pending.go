package fold

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/internal/thread"
	"precis/summarize"
)

// Why a compaction is by rules where the policy asks for a model: leaves and nodes always are, since their
// ledgers must not depend on what a model leaves out; the current one until the model has answered.
const (
	reasonLedger  = "ledger_by_rules"
	reasonPending = "model_pending"
)

// askModel starts the job that puts a model's text in the place of the current summary that has just been
// made by rules. It stands for the same tops; while one is under way no other is started, and the end of
// that one comes back here.
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

// currentJob is the job of a current summary by a model.
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

// compacting says whether a model is at work on the thread's current summary. Jobs must be loaded.
func compacting(st *thread.State) bool {
	for _, j := range st.Jobs {
		if j.Started.Slot == events.SlotCurrent {
			return true
		}
	}
	return false
}

// askAgain starts what the current summary still waits for: no job was started since it was made, because
// one was under way, or because the record of a step ends in its middle. Jobs and slot must be loaded.
func (f *Fold) askAgain(st *thread.State, p *summarize.Policy, at Delivery) error {
	slot := st.Slot(events.SlotCurrent)
	if holder := st.Summary(slot.Holder); holder == nil || holder.Version != slot.Version {
		return nil
	}
	return f.askPending(st, p, at)
}

// askOvertaken starts anew what a configuration has overtaken, unless that has something against the current
// summary itself: then the sweep comes by, and what is made in its place asks.
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

// askPending starts the job that the current summary says it waits for.
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
		trigger = rec.Trigger // the step that made it goes on
	}
	f.askModel(st, p, trigger, at)
	return nil
}

// jobEnded goes on behind a job that has ended. A tool output's that came too late is started again by what
// superseded it.
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

// outdate marks jobs whose answer will not be used: what they are made from is no longer true, or another
// current summary stands for more.
func outdate(st *thread.State, old func(*thread.Job) bool) {
	for _, j := range st.Jobs {
		if !j.Superseded && old(j) {
			j.Superseded = true
			st.PutJob(j)
		}
	}
}
