package fold

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/internal/thread"
	"precis/summarize"
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
func (f *Fold) Job(name, id string) (job *thread.Job, p *summarize.Policy, err error) {
	err = attempt(func() {
		var s *Step
		if s, job = f.onJob(name, id, time.Time{}); job != nil {
			p = f.JobPolicy(s.st, job)
		}
	})
	return job, p, err
}

// onJob begins to work on a job; nil if it has ended. What follows from it is decided behind the thread's last event.
func (f *Fold) onJob(name, id string, now time.Time) (*Step, *thread.Job) {
	s := f.on(name, Delivery{Time: now.UTC()})
	s.at.Seq = s.st.Header.EventSeq
	s.loadJobs()
	return s, s.st.Job(id)
}

// Call notes the calls of a job's run, the last of which is about to be made, in the form to record if the process ends now. It
// returns ErrOvertaken if the answer would not be used, so that nothing is paid for it.
func (f *Fold) Call(name, id string, calls []events.UsageRecord) error {
	return attempt(func() {
		s, job := f.onJob(name, id, time.Time{})
		if job == nil || job.Superseded || f.JobPolicy(s.st, job) == nil {
			check(ErrOvertaken)
		}
		job.Calls = calls
		s.st.PutJob(job)
		s.put()
	})
}

// Lost records the calls of a job's run that the end of the process cut short. The answer of the last call is lost; it may have
// been charged, so its usage is an estimate.
func (f *Fold) Lost(name, id string, now time.Time) error {
	return attempt(func() {
		s, job := f.onJob(name, id, now)
		if job == nil {
			return
		}
		f.begin(events.ByRecovery)
		for _, call := range job.Calls {
			s.usage(job, call)
			f.spentBefore(&call, now)
		}
		s.save()
	})
}

// Finish folds in a job's result if it still fits. If a source or the policy has changed since, it drops the result, records
// what it cost and ends the job as superseded.
func (f *Fold) Finish(name, id string, r Result, now time.Time) error {
	return attempt(func() { f.finish(name, id, r, now) })
}

func (f *Fold) finish(name, id string, r Result, now time.Time) {
	f.begin(events.ByResult)
	if s, job := f.onJob(name, id, now); job != nil {
		s.endJob(job, r)
		s.put()
	}
	f.flush()
}

// Settle folds in a job's result, as Finish does. If the configuration has changed since the job began, so that its answer is
// not used, Settle decides the work again. It reads the log for that first: if that fails, nothing is changed, and the caller
// retries.
func (f *Fold) Settle(ctx context.Context, name, id string, r Result, now time.Time) error {
	return attempt(func() {
		s, job := f.onJob(name, id, now)
		if job == nil {
			return
		}
		if job.Superseded || f.JobPolicy(s.st, job) != nil || job.Started.Kind != events.KindToolResult {
			saving(func() { f.finish(name, id, r, now) })
			return
		}
		m := got(f.part.Message(name, job.Started.SourceMessageIDs[0]))
		var out output
		if err := attempt(func() { out = s.readOutput(ctx, m) }); err != nil {
			check(fmt.Errorf("decide again what %s was to do: %w", id, err))
		}
		saving(func() {
			f.begin(events.ByResult)
			s.endJob(job, r)
			s.put()
			again := f.onThread(name, now)
			again.summarizeEarlier(m, out, job.Started.Trigger)
			again.end()
		})
	})
}

// endJob folds in a job's result, and what follows from its end.
func (s *Step) endJob(job *thread.Job, r Result) {
	s.loadSlot(job.Started.Kind, job.Started.Slot, job.Started.SourceMessageIDs)
	if r.Usage.Attempts == 0 {
		r.Cost = free() // no call was made: the cost is known to be zero
	}
	superseded := job.Superseded || s.f.JobPolicy(s.st, job) == nil
	for _, call := range r.Calls {
		if superseded && call.Outcome == outcomeUsed {
			call.Outcome = outcomeSuperseded
		}
		s.usage(job, call)
	}
	switch {
	case superseded:
		r.Failure = &Failure{Code: events.FailedSuperseded, Message: "a source or the policy changed while the summary was made, or a newer one took its place", Action: events.ActionTrim}
		s.fail(job, r)
	case r.Failure != nil:
		s.fail(job, r)
	case r.Text != "":
		s.emitOf(job, s.byJob(job, r))
	default:
		job.Calls = nil // interrupted: all calls made are on record
		s.st.PutJob(job)
	}
	if s.st.Job(job.ID()) == nil {
		s.jobEnded(job, superseded)
	}
}

// JobPolicy returns the policy that serves a job's thread; nil if it no longer matches, in what can change the result, the
// policy that the job was decided under. A sweep compares the summary with the same policy, but may pass before it exists.
func (f *Fold) JobPolicy(st *thread.State, job *thread.Job) *summarize.Policy {
	p, _ := f.policy(st, nil)
	if !f.stillFits(p, &job.Started) {
		return nil
	}
	return p
}

// usage records one paid call. Its number continues those on record, since a job may run more than once.
func (s *Step) usage(job *thread.Job, rec events.UsageRecord) {
	rec.SummaryID, rec.Attempt = job.ID(), job.Attempts+1
	s.emitOf(job, &rec)
	s.f.spend(&rec, s.at.Time)
}

// spend adds a call to its provider's cost of the day.
func (f *Fold) spend(rec *events.UsageRecord, at time.Time) {
	if rec.Cost.AmountMicroUSD != nil && rec.Provider != "" {
		check(f.part.Spend(rec.Provider, at.UTC().Format(time.DateOnly), *rec.Cost.AmountMicroUSD))
	}
}

// spentBefore reports the cost of a call that this process did not make.
func (f *Fold) spentBefore(rec *events.UsageRecord, at time.Time) {
	if rec.Cost.AmountMicroUSD != nil && rec.Provider != "" {
		f.Spent(rec.Provider, at.UTC().Format(time.DateOnly), *rec.Cost.AmountMicroUSD)
	}
}

func (s *Step) fail(job *thread.Job, r Result) {
	s.emitOf(job, &events.Failed{
		SummaryID: job.ID(), Kind: job.Started.Kind, Code: r.Failure.Code, Message: clip(s.f.Mask(r.Failure.Message)),
		Action: r.Failure.Action, Usage: r.Usage, Cost: r.Cost,
	})
}

// reasonChars bounds the reason for a failure in a record, in code points: a hundred attempts at a few dozen each.
const reasonChars = 4096

func clip(reason string) string {
	if text := []rune(reason); len(text) > reasonChars {
		return string(text[:reasonChars-1]) + "…"
	}
	return reason
}

// byJob returns the record of the summary that a job has made.
func (s *Step) byJob(job *thread.Job, r Result) *events.Summary {
	was := job.Started
	rec := &events.Summary{
		ID: job.ID(), Kind: was.Kind, Slot: was.Slot, Current: CurrentOf(s.st, &was), Version: was.Version,
		Replaces:         orNull(s.st.Slot(was.Slot).Holder),
		SourceMessageIDs: was.SourceMessageIDs, SourceSummaryIDs: was.SourceSummaryIDs, SourceDigest: was.SourceDigest,
		ToolSummary: s.f.maskTool(r.Tool), TokenCountBefore: r.Tokens, Tokenizer: s.p.Tokenizer, CharsBefore: r.Chars,
		Method: r.Method, FallbackReason: orNull(clip(s.f.Mask(r.FallbackReason))),
		Provider: orNull(r.Provider), Model: orNull(r.Model),
		Policy: was.Policy, PolicyFingerprint: was.PolicyFingerprint, PolicyUnresolved: orNull(job.Unresolved),
		Trigger: was.Trigger, Usage: r.Usage, Cost: r.Cost, CreatedAt: s.at.Time, ExpiresAt: expiry(s.p, s.at.Time),
		AsOfMessageID: orNull(job.AsOf),
	}
	s.write(rec, r.Text)
	switch r.Method {
	case events.MethodLLM:
		rec.PromptVersion = was.PromptVersion
	case events.MethodRules:
		rec.RulesVersion = &s.f.config.RulesVersion
	}
	s.fillBefore(rec)
	return rec
}

// fillBefore fills in what the state says of what a job's summary stands for. What only the text of its sources says stays as it is.
func (s *Step) fillBefore(rec *events.Summary) {
	if rec.Slot == events.SlotCurrent {
		if held := s.st.Summary(s.st.Slot(rec.Slot).Holder); held != nil { // by rules, over the same tops
			rec.Level, rec.TokenCountBefore, rec.CharsBefore = held.Level, held.TokensBefore, held.CharsBefore
			if s.st.Compaction != nil { // an expired one no longer tracks what it stands for
				rec.TokenCountBefore = s.st.Compaction.Cut.Gone.Tokens
			}
		}
	}
	if rec.Kind == events.KindHistory { // above its sources, and of their size
		rec.CharsBefore = 0
		for _, id := range rec.SourceSummaryIDs {
			sum := s.summary(id)
			rec.Level, rec.CharsBefore = max(rec.Level, sum.Level+1), rec.CharsBefore+sum.CharsBefore
		}
		for _, m := range s.rowsOf(rec.SourceMessageIDs) {
			rec.CharsBefore += m.Size().Chars
		}
	}
}

// Recounted returns a summary that a job has made with what follows from its text, its sources and the policy in place of what the record says; nil if
// the policy no longer matches.
func (f *Fold) Recounted(st *thread.State, job *thread.Job, rec *events.Summary) *events.Summary {
	p := f.JobPolicy(st, job)
	if p == nil {
		return nil
	}
	counted, after := *rec, f.measure(p.Tokenizer)(rec.Content)
	counted.Tokenizer, counted.TokenCountAfter, counted.CharsAfter = p.Tokenizer, after.Tokens, after.Chars
	if level, known := f.levelAbove(st.Header.Thread, rec.SourceSummaryIDs); known {
		counted.Level = level
		if attempt(func() { f.step(st, Delivery{}).fillBefore(&counted) }) != nil { // a finding, or a doubt, of its own
			counted.TokenCountBefore, counted.CharsBefore = rec.TokenCountBefore, rec.CharsBefore
		}
	}
	return &counted
}

// Expiry returns when a summary of the thread that is made at a time expires; nil if its policy lets none expire.
func (f *Fold) Expiry(st *thread.State, made time.Time) *time.Time {
	p, _ := f.policy(st, nil)
	return expiry(p, made)
}

// EventAt returns what a record that is decided at a sequence says of when the event there was stored; nil if that is not the thread's last.
func EventAt(st *thread.State, seq uint64) *time.Time { return eventAt(st, seq) }

// levelAbove returns the level of what is made from summaries, 0 without any; it is known if all of them are there.
func (f *Fold) levelAbove(thread string, sources []string) (level int, known bool) {
	for _, id := range sources {
		sum, err := f.part.Summary(thread, id)
		if err != nil || sum == nil {
			return 0, false // a finding, or a doubt, of its own
		}
		level = max(level, sum.Level+1)
	}
	return level, true
}

// CurrentOf reports whether prompts use a job's summary once it is made. What its slot stands for must be loaded.
func CurrentOf(st *thread.State, job *events.Started) bool {
	switch {
	case job.Kind == events.KindHistory:
		return false
	case job.Slot == events.SlotCurrent:
		return true
	}
	return prompted(st.Compaction, st.Message)
}

// Reasons for a compaction by rules under a policy that asks for a model: leaves and nodes always are, since their ledgers must
// not depend on what a model omits; the current summary is until the model has answered.
const (
	reasonLedger  = "ledger_by_rules"
	reasonPending = "model_pending"
)

// askModel starts the job that replaces the text of the current summary, just made by rules, with a model's. It has the same
// tops. While one is under way no other is started; the end of that one leads back here. Jobs and slot must be loaded.
func (s *Step) askModel(trigger events.Trigger) {
	if s.p.Mode != summarize.ModeLLM || s.underWay(events.SlotCurrent) {
		return
	}
	if holder := s.activeHolder(events.SlotCurrent); holder != nil {
		tops := holder.SourceSums
		s.emit(s.started(events.KindCompaction, events.SlotCurrent, "", trigger, []string{}, tops, summariesDigest(tops)))
	}
}

// underWay reports whether a model is at work on a slot. Jobs must be loaded.
func (s *Step) underWay(slot string) bool {
	return slices.ContainsFunc(s.st.Jobs, func(j *thread.Job) bool { return j.Started.Slot == slot })
}

// askAgain starts the job that the current summary still waits for, if none was started since it was made: another was under
// way, or the record ends in the middle of the step. Jobs and slot must be loaded.
func (s *Step) askAgain() {
	slot := s.st.Slot(events.SlotCurrent)
	if holder := s.st.Summary(slot.Holder); holder != nil && holder.Version == slot.Version {
		s.askPending(holder)
	}
}

// askPending starts the job that the current summary is recorded to wait for.
func (s *Step) askPending(holder *thread.Summary) {
	rec, err := record[events.Summary](holder.Record)
	if err != nil {
		check(fmt.Errorf("read record of %s: %w", holder.ID, err))
	}
	if rec.FallbackReason == nil || *rec.FallbackReason != reasonPending {
		return
	}
	trigger := events.Trigger{Reason: events.TriggerRegenerated}
	if rec.EventSeq == s.at.Seq && s.at.Raw.Subject != "" {
		trigger = rec.Trigger // same step as the summary
	}
	s.askModel(trigger)
}

// jobEnded continues after a job has ended. A superseded job of a tool output is started again by what superseded it.
func (s *Step) jobEnded(job *thread.Job, superseded bool) {
	switch {
	case s.f.recovering():
	case job.Started.Slot == events.SlotHistory:
		s.historyBehind(job, superseded)
	case job.Started.Slot != events.SlotCurrent || !superseded:
	case job.Superseded:
		s.askAgain()
	default:
		// A configuration superseded it. If the current summary itself is outdated, the sweep finds that, and its replacement
		// starts the job.
		if holder := s.st.Summary(s.st.Slot(events.SlotCurrent).Holder); holder != nil && s.f.outdated(s.st, holder) == nil {
			s.askPending(holder)
		}
	}
}

func record[T any](data []byte) (*T, error) {
	rec := new(T)
	if err := json.Unmarshal(data, rec); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRecord, err)
	}
	return rec, nil
}
