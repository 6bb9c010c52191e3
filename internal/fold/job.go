package fold

import (
	"errors"
	"fmt"
	"time"

	"precis/events"
	"precis/internal/thread"
	"precis/summarize"
	"precis/summarize/tokens"
)

// Result is how a job ended, or how far it came: with a text, or with a failure, or with neither, and
// then it is under way still.
type Result struct {
	Text           string
	Method         string // events.MethodLLM, MethodRules or MethodTruncation
	FallbackReason string
	Provider       string // of the text; empty unless a model made it
	Model          string
	Tool           *events.ToolSummary // where the rules made it
	Chars          int64               // of the sources
	Tokens         int64
	Usage          events.Usage // of all calls
	Cost           events.Cost
	Calls          []events.UsageRecord
	Failure        *Failure
}

// Failure says why a job came to nothing.
type Failure struct {
	Code    string
	Message string
	Action  string
}

// outcomes of calls that are not the ladder's to say.
const (
	outcomeUsed       = "used"
	outcomeSuperseded = "superseded"
)

// ErrOvertaken: nothing that a job makes can be used any more.
var ErrOvertaken = errors.New("job was overtaken")

// Job returns a job as it stands, nil where it has ended, and the policy that it is done under, as JobPolicy has it.
func (f *Fold) Job(name, id string) (*thread.Job, *summarize.Policy, error) {
	st, job, err := f.loadJob(name, id)
	if err != nil || job == nil {
		return nil, nil, err
	}
	return job, f.JobPolicy(st, job), nil
}

// Call notes the calls of a job's run, the last of which is about to be made, as they are to be recorded if the process
// ends now. ErrOvertaken: its answer would not be used, so that there is nothing to pay for.
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

// Lost records the calls of a job's run that the end of the process cut short. The answer of the last one is lost: it may
// have been charged, and its usage is an estimate.
func (f *Fold) Lost(name, id string, now time.Time) error {
	st, job, err := f.loadJob(name, id)
	if err != nil || job == nil {
		return err
	}
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

// Finish folds a job's result in, as far as it still fits: where a source or the policy has changed
// since, the result is dropped, what it cost is recorded, and the job ends as superseded.
func (f *Fold) Finish(name, id string, r Result, now time.Time) error {
	st, job, err := f.loadJob(name, id)
	if err != nil || job == nil {
		return err
	}
	if err := f.loadSlot(st, job.Started.Kind, job.Started.Slot, job.Started.SourceMessageIDs); err != nil {
		return err
	}
	if r.Usage.Attempts == 0 {
		r.Cost = free() // nothing was called: that is known, and costs nothing
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
		job.Calls = nil // interrupted: every call that was made is on record
		st.PutJob(job)
	}
	if err == nil && st.Job(id) == nil {
		err = f.jobEnded(st, job, superseded, now)
	}
	f.part.Save(st)
	f.flush()
	return err
}

func (f *Fold) loadJob(name, id string) (*thread.State, *thread.Job, error) {
	f.out = f.out[:0] // of a step that failed
	st, err := f.part.LoadThread(name)
	if err != nil {
		return nil, nil, err
	}
	err = f.part.LoadJobs(st)
	return st, st.Job(id), err
}

// JobPolicy is the policy that serves a job's thread; nil where that is no longer, in what can change the
// result, the one that the job was decided under. A sweep holds what it makes against the same policy, and may
// have come by before it is made.
func (f *Fold) JobPolicy(st *thread.State, job *thread.Job) *summarize.Policy {
	p, _ := f.policy(st, nil)
	if summarize.KindFingerprint(*p, job.Started.Kind) != job.Started.PolicyFingerprint || !f.modelFits(p, &job.Started) {
		return nil
	}
	return p
}

// usage records one paid call. Its number goes on behind those on record, since a job may be run again.
func (f *Fold) usage(st *thread.State, job *thread.Job, rec events.UsageRecord, now time.Time) error {
	rec.SummaryID, rec.Attempt = job.ID(), job.Attempts+1
	data := f.sealJob(st, job, &rec)
	st.Usage(&rec)
	f.send(st, &rec, job.Started.Policy, events.UsageEventID(rec.SummaryID, rec.Attempt), data, now)
	return f.spend(&rec, now)
}

// spend adds a call to what its provider has cost on that day.
func (f *Fold) spend(rec *events.UsageRecord, at time.Time) error {
	if rec.Cost.AmountMicroUSD == nil || rec.Provider == "" {
		return nil
	}
	return f.part.Spend(rec.Provider, at.UTC().Format(time.DateOnly), *rec.Cost.AmountMicroUSD)
}

// spentBefore reports what a call cost that this process has not made.
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

// reasonChars bounds what a record says of why something failed, in code points: a hundred attempts at a few dozen each.
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
			if st.Compaction != nil { // one that expired meanwhile no longer follows what it stands for
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

// CurrentOf says whether a job's summary stands in prompts when it is made. What its slot stands for must be loaded.
func CurrentOf(st *thread.State, job *events.Started) bool {
	switch {
	case job.Kind == events.KindHistory:
		return false
	case job.Slot == events.SlotCurrent:
		return true
	}
	return prompted(st)
}

// standsOn is the level above a job's sources, 0 where they are messages, and how many code points they hold.
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

// sealJob chains a record that was decided at the job's event and takes effect now.
func (f *Fold) sealJob(st *thread.State, job *thread.Job, rec events.Record) []byte {
	return f.seal(st, rec, job.Started.EventSeq, job.Started.EventAt)
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
