package fold

import (
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/internal/thread"
	"precis/state"
)

// begin begins a step: what is emitted until the next flush belongs to it. It drops what a failed step has left.
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
		f.observe(e.decided)
	}
	f.out, f.stored = f.out[:0], nil
}

// emission is a record that is decided and not yet in the outbox.
type emission struct {
	row     *state.Outgoing
	decided Decided
}

// emit gives a record its place in the thread's chain, folds it into the state and queues it for the outbox. The caller saves
// the state.
func (f *Fold) emit(st *thread.State, d draft, at Delivery) {
	switch {
	case d.started != nil:
		data := f.seal(st, &d.started.Started, at.Seq, eventAt(st, at.Seq))
		st.Start(d.started)
		f.send(st, &d.started.Started, d.started.Started.Policy, events.SummaryEventID(events.SummaryStarted, d.started.ID()), data, at.Time)
	case d.created != nil:
		data := f.seal(st, d.created, at.Seq, eventAt(st, at.Seq))
		if len(data) > recordBytes {
			f.unmade(st, d.created, len(data), at)
			return
		}
		f.created(st, d.created, data, d.letGo)
		f.send(st, d.created, d.created.Policy, events.SummaryEventID(events.SummaryCreated, d.created.ID), data, at.Time)
	case d.invalidated != nil:
		data := f.seal(st, d.invalidated, at.Seq, eventAt(st, at.Seq))
		f.invalidated(st, d.invalidated, data)
		f.send(st, d.invalidated, "", events.SummaryEventID(events.SummaryInvalidated, d.invalidated.SummaryID), data, at.Time)
	}
}

// unmade records that a summary by rules does not fit in a record: the start of a job without a model, and its failure.
func (f *Fold) unmade(st *thread.State, rec *events.Summary, size int, at Delivery) {
	job := &thread.Job{AsOf: st.Header.LastMessageID, Started: events.Started{
		SummaryID: rec.ID, Kind: rec.Kind, Slot: rec.Slot, Version: rec.Version, Trigger: rec.Trigger,
		SourceMessageIDs: rec.SourceMessageIDs, SourceSummaryIDs: rec.SourceSummaryIDs, SourceDigest: rec.SourceDigest,
		Policy: rec.Policy, PolicyFingerprint: rec.PolicyFingerprint,
	}}
	f.emit(st, draft{started: job}, at)
	f.fail(st, job, Result{Failure: f.tooLarge(rec, size), Usage: rec.Usage, Cost: rec.Cost}, at.Time)
}

// tooLarge logs that a summary does not fit in a record, and returns the failure.
func (f *Fold) tooLarge(rec *events.Summary, size int) *Failure {
	f.logger.Error().Str("summary_id", rec.ID).Str("kind", rec.Kind).Str("slot", rec.Slot).Int("bytes", size).
		Msg("a summary is too large to publish and is not made: lower the policy's max_summary_chars or max_summary_tokens")
	return &Failure{
		Code: events.FailedTooLarge, Action: events.ActionTrim,
		Message: fmt.Sprintf("the record has %d bytes, and may have %d", size, recordBytes),
	}
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

func (f *Fold) send(st *thread.State, rec events.Record, policy, id string, data []byte, at time.Time) {
	t := events.Type(id[:strings.IndexByte(id, '/')])
	f.out = append(f.out, emission{
		row: &state.Outgoing{
			Type: t, ID: id, Thread: st.Header.Thread, Subject: recordSubject(t, st.Header.Thread, f.part.ID()),
			Time: at, Data: data, Guarded: true, Prev: f.prev,
		},
		decided: Decided{Record: rec, Agent: st.Header.FirstAgentID, Policy: policy},
	})
}

// recordSubject is the subject of a record of a thread, or of the partition itself.
func recordSubject(t events.Type, name string, partition int) string {
	token := events.PartitionToken(partition)
	if name != "" {
		token = mustToken(name)
	}
	return string(t) + "." + token
}

func mustToken(name string) string {
	token, err := events.Token(name)
	if err != nil {
		panic(fmt.Sprintf("subject of thread: %v", err)) // the name was parsed from a subject
	}
	return token
}

// reject puts a rejection in the outbox, unless REJECTED already has it from before a recovery.
func (f *Fold) reject(name string, r thread.Rejection, d Delivery) error {
	known, err := f.part.TakeRejection(r.Seq)
	if err != nil || known {
		return err
	}
	token := events.NoThreadToken
	if name != "" {
		token = mustToken(name)
	}
	f.part.Send(&state.Outgoing{
		Type: events.EventRejected, ID: events.PositionEventID(events.EventRejected, f.part.ID(), r.Seq),
		Thread: name, Subject: string(events.EventRejected) + "." + token, Time: d.Time, Data: rejection(r, f.maxPayload),
	})
	return nil
}

// rejection returns the data of an event.rejected. It includes the body if the server accepts a message that large.
func rejection(r thread.Rejection, maxPayload int) []byte {
	rec := Rejected(r)
	data := encodeRejected(rec)
	if len(data)+envelopeBytes > maxPayload && rec.Shorten() {
		data = encodeRejected(rec)
	}
	return data
}

// Rejected returns the event.rejected of an event, byte for byte.
func Rejected(r thread.Rejection) events.Rejected {
	raw := r.Raw
	raw.Subject = publishedSubject(raw.Subject)
	return events.NewRejected(raw, r.Seq, r.Reason, len(raw.Body))
}

// envelopeBytes reserves room for our own headers, which count toward a message's size: a subject token up to three times.
const envelopeBytes = 4 << 10

func encodeRejected(rec events.Rejected) []byte {
	data, err := json.Marshal(rec, json.Deterministic(true))
	if err != nil {
		panic(fmt.Sprintf("encode rejection: %v", err)) // NewRejected writes only valid UTF-8
	}
	return data
}

// publishedSubject returns the subject that the publisher used, without the partition it was stored under.
func publishedSubject(stored string) string {
	t, token, ok := events.ParseSubject(stored)
	if !ok {
		return stored
	}
	return string(t) + "." + token
}
