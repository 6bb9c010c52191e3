package fold

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"precis/events"
	"precis/internal/thread"
	"precis/state"
	"precis/summarize"
	"precis/summarize/pricing"
	"precis/summarize/rules"
)

// byRules begins the record of a summary by rules: it lacks its sources and what follows from them.
func (s *Step) byRules(kind, slot string, trigger events.Trigger) *events.Summary {
	version, place := rules.Version, s.slot(slot)
	return &events.Summary{
		AsOfMessageID: orNull(s.st.Header.LastMessageID), Kind: kind, Slot: slot,
		Version: place.Version + 1, Replaces: orNull(place.Holder),
		SourceMessageIDs: []string{}, SourceSummaryIDs: []string{}, Tokenizer: s.p.Tokenizer,
		Method: events.MethodRules, RulesVersion: &version,
		Policy: s.p.Name, PolicyFingerprint: summarize.KindFingerprint(*s.p, kind),
		PolicyUnresolved: orNull(s.f.unresolved(s.st)), Trigger: trigger, Cost: free(),
		CreatedAt: s.at.Time, ExpiresAt: expiry(s.p, s.at.Time),
	}
}

// expiry is when a summary made at a time expires; nil if its policy lets none expire.
func expiry(p *summarize.Policy, made time.Time) *time.Time {
	if p.Staleness.TTL <= 0 || !p.Stale(summarize.StaleTTL) {
		return nil
	}
	t := made.Add(p.Staleness.TTL)
	return &t
}

// identify gives a record by rules its id, once its sources are known.
func (s *Step) identify(rec *events.Summary) {
	rec.ID = summarize.Identity{
		Thread: s.st.Header.Thread, Kind: rec.Kind, Slot: rec.Slot, Version: rec.Version,
		SourceDigest: rec.SourceDigest, PolicyFingerprint: rec.PolicyFingerprint, Method: rules.Version,
	}.ID()
}

// write writes a text into a record.
func (s *Step) write(rec *events.Summary, text string) {
	rec.Content = s.f.Mask(text)
	after := s.f.measure(s.p.Tokenizer)(rec.Content)
	rec.TokenCountAfter, rec.CharsAfter = after.Tokens, after.Chars
}

// started returns the start of a job: a summary by a model. Only a tool output's prompt has a category.
func (s *Step) started(kind, slot, category string, trigger events.Trigger, messages, summaries []string, digest string) *events.Started {
	model, prompt := s.f.config.model(s.p), promptsOf(s.p).For(kind, category).Version()
	rec := &events.Started{
		Kind: kind, Slot: slot, Version: s.st.Slot(slot).Version + 1, Trigger: trigger,
		SourceMessageIDs: messages, SourceSummaryIDs: summaries, SourceDigest: digest,
		Policy: s.p.Name, PolicyFingerprint: summarize.KindFingerprint(*s.p, kind), Model: &model, PromptVersion: &prompt,
	}
	rec.SummaryID = summarize.Identity{
		Thread: s.st.Header.Thread, Kind: kind, Slot: slot, Version: rec.Version,
		SourceDigest: digest, PolicyFingerprint: rec.PolicyFingerprint, Method: prompt, Model: model,
	}.ID()
	return rec
}

// messagesDigest is the digest of messages as sources, summariesDigest that of summaries: an id identifies the content, and there
// are no revisions.
func messagesDigest(rows ...*thread.Message) string {
	return summarize.SourceDigest(messageSources(rows))
}

func messageSources(rows []*thread.Message) []summarize.Source {
	list := make([]summarize.Source, len(rows))
	for i, m := range rows {
		list[i] = summarize.Source{ID: m.ID, Revision: m.Revision, Digest: m.Digest}
	}
	return list
}

func summariesDigest(ids []string) string { return summarize.SourceDigest(summarySources(ids)) }

func summarySources(ids []string) []summarize.Source {
	list := make([]summarize.Source, len(ids))
	for i, id := range ids {
		list[i] = summarize.Source{ID: id}
	}
	return list
}

func free() events.Cost { return events.Cost{AmountMicroUSD: new(int64), Currency: pricing.Currency} }

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// begin begins a step: what is recorded until the next flush belongs to it. It drops what a failed step has left.
func (f *Fold) begin(cause events.StepCause) { f.cause, f.out, f.stored = cause, f.out[:0], nil }

// flush ends the step and puts its records in the outbox.
func (f *Fold) flush() {
	for i, e := range f.out {
		if i < len(f.stored) {
			f.part.Adopted(f.stored[i])
			continue
		}
		e.row.Index, e.row.Size = i+1, len(f.out)
		f.part.Send(e.row)
		f.Observe(e.decided)
	}
	f.out, f.stored = f.out[:0], nil
}

// emission is a record that is decided and not yet in the outbox.
type emission struct {
	row     *state.Outgoing
	decided Decided
}

// emitted returns the records that the step has decided so far; never nil.
func (f *Fold) emitted() []events.Record {
	list := make([]events.Record, 0, len(f.out))
	for _, e := range f.out {
		if _, ended := e.decided.Record.(*events.Failed); !ended { // its start is the decision
			list = append(list, e.decided.Record)
		}
	}
	return list
}

// emit records what the step decides.
func (s *Step) emit(rec events.Record) {
	policy := ""
	switch rec := rec.(type) {
	case *events.Summary:
		policy = rec.Policy
	case *events.Started:
		policy = rec.Policy
	}
	s.emitAt(rec, s.at.Seq, eventAt(s.st, s.at.Seq), policy)
}

// emitOf records what a job led to: it was decided at the job's event and takes effect now.
func (s *Step) emitOf(job *thread.Job, rec events.Record) {
	s.emitAt(rec, job.Started.EventSeq, job.Started.EventAt, job.Started.Policy)
}

// emitAt gives a record its place in the thread's chain, folds it in, and queues it for the outbox. seq is the event at which it was
// decided, stored at a time.
func (s *Step) emitAt(rec events.Record, seq uint64, at *time.Time, policy string) {
	data := s.f.seal(s.st, rec, seq, at)
	if sum, ok := rec.(*events.Summary); ok && len(data) > recordBytes {
		s.tooLarge(sum, len(data))
		return
	}
	s.take(rec, data)
	t, id := named(rec)
	if inv, ok := rec.(*events.Invalidated); ok && s.st.Summary(inv.SummaryID).Inherited {
		id = events.InheritedEventID(t, inv.SummaryID, mustToken(s.st.Header.Thread))
	}
	s.f.send(s.st, rec, policy, t, id, data, s.at.Time)
}

// named returns the type and the id of a record as an event.
func named(rec events.Record) (t events.Type, id string) {
	switch rec := rec.(type) {
	case *events.Summary:
		t, id = events.SummaryCreated, rec.ID
	case *events.Started:
		t, id = events.SummaryStarted, rec.SummaryID
	case *events.Failed:
		t, id = events.SummaryFailed, rec.SummaryID
	case *events.Invalidated:
		t, id = events.SummaryInvalidated, rec.SummaryID
	case *events.UsageRecord:
		return events.UsageRecorded, events.UsageEventID(rec.SummaryID, rec.Attempt)
	}
	return t, events.SummaryEventID(t, id)
}

// tooLarge fails a summary that does not fit in a record. One by rules has no job: it starts and fails as one without a model.
func (s *Step) tooLarge(rec *events.Summary, size int) {
	s.f.Logger.Error().Str("summary_id", rec.ID).Str("kind", rec.Kind).Str("slot", rec.Slot).Int("bytes", size).
		Msg("a summary is too large to publish and is not made: lower the policy's max_summary_chars or max_summary_tokens")
	if s.st.Job(rec.ID) == nil {
		s.emit(&events.Started{
			SummaryID: rec.ID, Kind: rec.Kind, Slot: rec.Slot, Version: rec.Version, Trigger: rec.Trigger,
			SourceMessageIDs: rec.SourceMessageIDs, SourceSummaryIDs: rec.SourceSummaryIDs, SourceDigest: rec.SourceDigest,
			Policy: rec.Policy, PolicyFingerprint: rec.PolicyFingerprint,
		})
	}
	s.fail(s.st.Job(rec.ID), Result{Usage: rec.Usage, Cost: rec.Cost, Failure: &Failure{
		Code: events.FailedTooLarge, Action: events.ActionTrim,
		Message: fmt.Sprintf("the record has %d bytes, and may have %d", size, recordBytes),
	}})
}

// eventAt returns when an event of the thread was stored; nil if it is not the thread's last.
func eventAt(st *thread.State, seq uint64) *time.Time {
	if seq != st.Header.EventSeq || st.Header.LastAt == 0 {
		return nil
	}
	at := time.Unix(0, st.Header.LastAt).UTC()
	return &at
}

// seal fills in what all records share and chains the record to the thread's last one. at is when the event seq was stored.
func (f *Fold) seal(st *thread.State, rec events.Record, seq uint64, at *time.Time) []byte {
	h := rec.Common()
	name := st.Header.Thread
	h.ThreadID = &name
	h.Partition, h.FirstEventSeq, h.EventSeq, h.EffectiveSeq = f.part.ID(), st.Header.FirstSeq, seq, max(seq, f.applied)
	h.EventAt = at
	h.Step = events.Step{Cause: f.cause, Index: len(f.out) + 1}
	h.ChainSeq = st.Header.ChainSeq + 1
	f.prev = st.Header.Chain
	data, chain, err := events.Seal(f.prev, rec)
	if err != nil {
		panic(fmt.Sprintf("seal record: %v", err)) // own types encode, and ids were decoded as UTF-8
	}
	h.Chain = chain
	return data
}

// send queues a record for the outbox.
func (f *Fold) send(st *thread.State, rec events.Record, policy string, t events.Type, id string, data []byte, at time.Time) {
	token := events.PartitionToken(f.part.ID())
	if st.Header.Thread != "" {
		token = mustToken(st.Header.Thread)
	}
	f.out = append(f.out, emission{
		row: &state.Outgoing{
			Type: t, ID: id, Thread: st.Header.Thread, Subject: string(t) + "." + token,
			Time: at, Data: data, Guarded: true, Prev: f.prev, ChainSeq: rec.Common().ChainSeq,
		},
		decided: Decided{Record: rec, Agent: st.Header.FirstAgentID, Policy: policy},
	})
}

func mustToken(name string) string {
	token, err := events.Token(name)
	if err != nil {
		panic(fmt.Sprintf("subject of thread: %v", err)) // the name was parsed from a subject
	}
	return token
}

// prepare loads what taking a record touches.
func (s *Step) prepare(rec events.Record) {
	switch rec := rec.(type) {
	case *events.Summary:
		s.loadSlot(rec.Kind, rec.Slot, rec.SourceMessageIDs)
		s.loadJobs()
	case *events.Started:
		s.slot(rec.Slot)
	case *events.Failed:
		s.loadJobs()
		if job := s.st.Job(rec.SummaryID); job != nil {
			s.loadSlot(job.Started.Kind, job.Started.Slot, job.Started.SourceMessageIDs)
		}
	case *events.Invalidated:
		s.loadStale(rec.SummaryID)
	case *events.UsageRecord:
		s.loadJobs()
	}
}

// take folds a record into the thread's state, and its effect on the next cut and on jobs: the same for one that was just decided and
// for one that a recovery adopts. What it touches is loaded.
func (s *Step) take(rec events.Record, data []byte) {
	switch rec := rec.(type) {
	case *events.Summary:
		s.created(rec, data)
	case *events.Started:
		s.st.Start(&thread.Job{Started: *rec, AsOf: s.st.Header.LastMessageID, Ordinals: s.st.Header.Ordinals, Unresolved: s.f.unresolved(s.st)})
	case *events.Failed: // what served until the job was done may no longer serve
		s.reweigh(rec.Kind, func() { s.st.Failed(rec) })
	case *events.Invalidated:
		s.reweigh(rec.Kind, func() { s.st.Invalidated(rec, data) })
		s.overtake(func(j *thread.Job) bool { return slices.Contains(j.Started.SourceSummaryIDs, rec.SummaryID) })
	case *events.UsageRecord:
		s.st.Usage(rec)
	default:
		s.st.Noted(*rec.Common())
	}
}

// created folds in a summary.created.
func (s *Step) created(rec *events.Summary, data []byte) {
	letGo := s.letGo(rec)
	s.reweigh(rec.Kind, func() { s.st.Created(rec, data, standsFor(s.st, rec)) })
	if len(letGo) > 0 { // they are verbatim now and must not also stand in an older text
		s.st.Retire(events.SlotCurrent)
	}
	s.overtake(func(j *thread.Job) bool {
		return rec.Replaces != nil && slices.Contains(j.Started.SourceSummaryIDs, *rec.Replaces) ||
			rec.Slot == events.SlotCurrent && j.Started.Slot == events.SlotCurrent
	})
	if s.st.Compaction != nil && rec.Kind == events.KindCompaction {
		s.place(rec, letGo)
	}
}

// overtake marks jobs whose answer will not be used: their sources are no longer true, or another current summary stands for
// more.
func (s *Step) overtake(old func(*thread.Job) bool) {
	s.st.Overtake(old)
}

// standsFor returns how many of the thread's tokens a summary stands for: usually what the record says. Sources that retention
// has removed are in no counter, so a summary of them saves nothing.
func standsFor(st *thread.State, rec *events.Summary) int64 {
	switch {
	case rec.Kind == events.KindToolResult && st.Message == nil:
		return rec.TokenCountAfter
	case rec.Slot == events.SlotCurrent && st.Compaction != nil:
		return st.Compaction.Cut.Gone.Tokens
	}
	return rec.TokenCountBefore
}

// recordOf decodes a record; nil if its type is unknown.
func recordOf(t events.Type, data []byte) (events.Record, error) {
	switch t {
	case events.SummaryCreated:
		return record[events.Summary](data)
	case events.SummaryStarted:
		return record[events.Started](data)
	case events.SummaryFailed:
		return record[events.Failed](data)
	case events.SummaryInvalidated:
		return record[events.Invalidated](data)
	case events.UsageRecorded:
		return record[events.UsageRecord](data)
	}
	return nil, errors.ErrUnsupported
}
