package fold

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/internal/thread"
	"precis/summarize"
	"precis/summarize/tokens"
)

// Result is how a job ended: with a text or with a failure. With neither the job was interrupted and is still under way.
type Result struct {
	Text           string
	Method         string // events.MethodLLM, MethodRules or MethodTruncation
	FallbackReason string
	Provider       string // of the text; empty unless a model wrote it
	Model          string
	Tool           *events.ToolSummary // if the rules made it
	Chars          int64               // of the sources
	Tokens         int64
	Usage          events.Usage // of all calls
	Cost           events.Cost
	Calls          []events.UsageRecord
	Failure        *Failure
}

// Failure is why a job made no summary.
type Failure struct {
	Code    string
	Message string
	Action  string
}

// Outcomes of calls that the fold decides, not the ladder.
const (
	outcomeUsed       = "used"
	outcomeSuperseded = "superseded"
)

// ErrOvertaken: a job's result can't be used any more.
var ErrOvertaken = errors.New("job was overtaken")

// Job returns a job in its present state, nil if it has ended, and its policy, as JobPolicy returns it.
func (f *Fold) Job(name, id string) (*thread.Job, *summarize.Policy, error) {
	st, job, err := f.loadJob(name, id)
	if err != nil || job == nil {
		return nil, nil, err
	}
	return job, f.JobPolicy(st, job), nil
}

// Call notes the calls of a job's run, the last of which is about to be made, in the form to record if the process ends now. It
// returns ErrOvertaken if the answer would not be used, so that nothing is paid for it.
func (f *Fold) Call(name, id string, calls []events.UsageRecord) error {
	st, job, err := f.loadJob(name, id)
	if err != nil {
		return err
	}
	if job == nil || job.Superseded || f.JobPolicy(st, job) == nil {
		return ErrOvertaken
	}
	job.Calls = calls
	st.PutJob(job)
	f.part.Save(st)
	return nil
}

// Lost records the calls of a job's run that the end of the process cut short. The answer of the last call is lost; it may have
// been charged, so its usage is an estimate.
func (f *Fold) Lost(name, id string, now time.Time) error {
	st, job, err := f.loadJob(name, id)
	if err != nil || job == nil {
		return err
	}
	f.begin(events.ByRecovery)
	for _, call := range job.Calls {
		if err := f.usage(st, job, call, now); err != nil {
			return err
		}
		f.spentBefore(&call, now)
	}
	f.part.Save(st)
	f.flush()
	return nil
}

// Finish folds in a job's result if it still fits. If a source or the policy has changed since, it drops the result, records
// what it cost and ends the job as superseded.
func (f *Fold) Finish(name, id string, r Result, now time.Time) error {
	f.begin(events.ByResult)
	err := f.finishJob(name, id, r, now)
	if err == nil {
		f.flush()
	}
	return err
}

// finishJob does what Finish does, up to the end of the step.
func (f *Fold) finishJob(name, id string, r Result, now time.Time) error {
	st, job, err := f.loadJob(name, id)
	if err != nil || job == nil {
		return err
	}
	if err := f.loadSlot(st, job.Started.Kind, job.Started.Slot, job.Started.SourceMessageIDs); err != nil {
		return err
	}
	if r.Usage.Attempts == 0 {
		r.Cost = free() // no call was made: the cost is known to be zero
	}
	p := f.JobPolicy(st, job)
	superseded := job.Superseded || p == nil
	for _, call := range r.Calls {
		if superseded && call.Outcome == outcomeUsed {
			call.Outcome = outcomeSuperseded
		}
		if err := f.usage(st, job, call, now); err != nil {
			return err
		}
	}
	switch {
	case superseded:
		r.Failure = &Failure{Code: events.FailedSuperseded, Message: "a source or the policy changed while the summary was made, or a newer one took its place", Action: events.ActionTrim}
		f.fail(st, job, r, now)
	case r.Failure != nil:
		f.fail(st, job, r, now)
	case r.Text != "":
		err = f.create(st, job, p, r, now)
	default:
		job.Calls = nil // interrupted: all calls made are on record
		st.PutJob(job)
	}
	if err == nil && st.Job(id) == nil {
		err = f.jobEnded(st, job, superseded, now)
	}
	f.part.Save(st)
	return err
}

func (f *Fold) loadJob(name, id string) (*thread.State, *thread.Job, error) {
	st, err := f.part.LoadThread(name)
	if err != nil {
		return nil, nil, err
	}
	err = f.part.LoadJobs(st)
	return st, st.Job(id), err
}

// JobPolicy returns the policy that serves a job's thread; nil if it no longer matches, in what can change the result, the
// policy that the job was decided under. A sweep compares the summary with the same policy, but may pass before it exists.
func (f *Fold) JobPolicy(st *thread.State, job *thread.Job) *summarize.Policy {
	p, _ := f.policy(st, nil)
	if summarize.KindFingerprint(*p, job.Started.Kind) != job.Started.PolicyFingerprint || !f.modelFits(p, &job.Started) {
		return nil
	}
	return p
}

// usage records one paid call. Its number continues those on record, since a job may run more than once.
func (f *Fold) usage(st *thread.State, job *thread.Job, rec events.UsageRecord, now time.Time) error {
	rec.SummaryID, rec.Attempt = job.ID(), job.Attempts+1
	data := f.sealJob(st, job, &rec)
	st.Usage(&rec)
	f.send(st, &rec, job.Started.Policy, events.UsageEventID(rec.SummaryID, rec.Attempt), data, now)
	return f.spend(&rec, now)
}

// spend adds a call to its provider's cost of the day.
func (f *Fold) spend(rec *events.UsageRecord, at time.Time) error {
	if rec.Cost.AmountMicroUSD == nil || rec.Provider == "" {
		return nil
	}
	return f.part.Spend(rec.Provider, at.UTC().Format(time.DateOnly), *rec.Cost.AmountMicroUSD)
}

// spentBefore reports the cost of a call that this process did not make.
func (f *Fold) spentBefore(rec *events.UsageRecord, at time.Time) {
	if rec.Cost.AmountMicroUSD != nil && rec.Provider != "" {
		f.spent(rec.Provider, at.UTC().Format(time.DateOnly), *rec.Cost.AmountMicroUSD)
	}
}

func (f *Fold) fail(st *thread.State, job *thread.Job, r Result, now time.Time) {
	rec := &events.Failed{
		SummaryID: job.ID(), Kind: job.Started.Kind, Code: r.Failure.Code, Message: clip(f.secrets(r.Failure.Message)),
		Action: r.Failure.Action, Usage: r.Usage, Cost: r.Cost,
	}
	data := f.sealJob(st, job, rec)
	f.failed(st, rec)
	f.send(st, rec, job.Started.Policy, events.SummaryEventID(events.SummaryFailed, rec.SummaryID), data, now)
}

// reasonChars bounds the reason for a failure in a record, in code points: a hundred attempts at a few dozen each.
const reasonChars = 4096

func clip(reason string) string {
	if text := []rune(reason); len(text) > reasonChars {
		return string(text[:reasonChars-1]) + "…"
	}
	return reason
}

func (f *Fold) create(st *thread.State, job *thread.Job, p *summarize.Policy, r Result, now time.Time) error {
	counter, err := tokens.For(p.Tokenizer)
	if err != nil {
		return fmt.Errorf("count tokens: %w", err)
	}
	s := job.Started
	r.Text, r.FallbackReason = f.secrets(r.Text), clip(f.secrets(r.FallbackReason))
	rec := &events.Summary{
		ID: job.ID(), Kind: s.Kind, Slot: s.Slot, Current: CurrentOf(st, &s), Version: s.Version,
		Replaces:         holderOf(st.Slot(s.Slot)),
		SourceMessageIDs: s.SourceMessageIDs, SourceSummaryIDs: s.SourceSummaryIDs, SourceDigest: s.SourceDigest,
		Content: r.Text, ToolSummary: f.maskTool(r.Tool),
		TokenCountBefore: r.Tokens, TokenCountAfter: int64(counter.Count(r.Text)), Tokenizer: p.Tokenizer,
		CharsBefore: r.Chars, CharsAfter: runes(r.Text),
		Method: r.Method, FallbackReason: orNull(r.FallbackReason),
		Provider: orNull(r.Provider), Model: orNull(r.Model),
		Policy: s.Policy, PolicyFingerprint: s.PolicyFingerprint, PolicyUnresolved: orNull(job.Unresolved),
		Trigger: s.Trigger, Usage: r.Usage, Cost: r.Cost, CreatedAt: now.UTC(),
		AsOfMessageID: orNull(job.AsOf),
	}
	switch r.Method {
	case events.MethodLLM:
		rec.PromptVersion = s.PromptVersion
	case events.MethodRules:
		rec.RulesVersion = &f.config.RulesVersion
	}
	if s.Slot == events.SlotCurrent {
		if held := st.Summary(st.Slot(s.Slot).Holder); held != nil { // by rules, over the same tops
			rec.Level, rec.TokenCountBefore, rec.CharsBefore = held.Level, held.TokensBefore, held.CharsBefore
			if st.Compaction != nil { // an expired one no longer tracks what it stands for
				rec.TokenCountBefore = st.Compaction.Cut.Gone.Tokens
			}
		}
	}
	if s.Kind == events.KindHistory {
		if rec.Level, rec.CharsBefore, err = f.standsOn(st, s); err != nil {
			return err
		}
	}
	if p.Staleness.TTL > 0 && p.Stale("ttl") {
		rec.ExpiresAt = expiry(now.UTC(), p.Staleness.TTL)
	}
	data := f.sealJob(st, job, rec)
	if len(data) > recordBytes {
		r.Failure = f.tooLarge(rec, len(data))
		f.fail(st, job, r, now)
		return nil
	}
	f.created(st, rec, data, nil)
	f.send(st, rec, job.Started.Policy, events.SummaryEventID(events.SummaryCreated, rec.ID), data, now)
	return nil
}

// CurrentOf reports whether prompts use a job's summary once it is made. What its slot stands for must be loaded.
func CurrentOf(st *thread.State, job *events.Started) bool {
	switch {
	case job.Kind == events.KindHistory:
		return false
	case job.Slot == events.SlotCurrent:
		return true
	}
	return prompted(st)
}

// standsOn returns the level above a job's sources, 0 if they are messages, and their size in code points.
func (f *Fold) standsOn(st *thread.State, s events.Started) (level int, chars int64, err error) {
	w := &compaction{f: f, st: st}
	rows, err := w.f.part.MessagesOf(w.st.Header.Thread, s.SourceMessageIDs)
	if err != nil {
		return 0, 0, err
	}
	for _, id := range s.SourceSummaryIDs {
		sum, err := w.summary(id)
		if err != nil {
			return 0, 0, err
		}
		level, chars = max(level, sum.Level+1), chars+sum.CharsBefore
	}
	for _, m := range rows {
		chars += m.Size().Chars
	}
	return level, chars, nil
}

func free() events.Cost { return events.Cost{AmountMicroUSD: new(int64), Currency: "USD"} }

// sealJob seals a record that was decided at the job's event and takes effect now.
func (f *Fold) sealJob(st *thread.State, job *thread.Job, rec events.Record) []byte {
	return f.seal(st, rec, job.Started.EventSeq, job.Started.EventAt)
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

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
