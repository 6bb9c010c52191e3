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

// emit gives a record its place in the thread's chain, folds it into the state and readies it for the
// outbox. The state is saved by the caller.
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

// unmade puts on record that a summary by rules is larger than a record may be: the start of a job without a model, and its
// end.
func (f *Fold) unmade(st *thread.State, rec *events.Summary, size int, at Delivery) {
	job := &thread.Job{AsOf: st.Header.LastMessageID, Started: events.Started{
		SummaryID: rec.ID, Kind: rec.Kind, Slot: rec.Slot, Version: rec.Version, Trigger: rec.Trigger,
		SourceMessageIDs: rec.SourceMessageIDs, SourceSummaryIDs: rec.SourceSummaryIDs, SourceDigest: rec.SourceDigest,
		Policy: rec.Policy, PolicyFingerprint: rec.PolicyFingerprint,
	}}
	f.emit(st, draft{started: job}, at)
	f.fail(st, job, Result{Failure: f.tooLarge(rec, size), Usage: rec.Usage, Cost: rec.Cost}, at.Time)
}

// tooLarge is why a summary is not made, and logs it.
func (f *Fold) tooLarge(rec *events.Summary, size int) *Failure {
	f.logger.Error().Str("summary_id", rec.ID).Str("kind", rec.Kind).Str("slot", rec.Slot).Int("bytes", size).
		Msg("a summary is too large to publish and is not made: lower the policy's max_summary_chars or max_summary_tokens")
	return &Failure{
		Code: events.FailedTooLarge, Action: events.ActionTrim,
		Message: fmt.Sprintf("the record has %d bytes, and may have %d", size, recordBytes),
	}
}

// eventAt is when an event of the thread was stored; nil where it is not the thread's last.
func eventAt(st *thread.State, seq uint64) *time.Time {
	if seq != st.Header.EventSeq || st.Header.LastAt == 0 {
		return nil
	}
	at := time.Unix(0, st.Header.LastAt).UTC()
	return &at
}

// seal fills in what all records share, and chains the record behind the thread's last one. at is when the event seq
// was stored.
func (f *Fold) seal(st *thread.State, rec events.Record, seq uint64, at *time.Time) []byte {
	h := rec.Common()
	if st.Header.Thread != "" {
		name := st.Header.Thread
		h.ThreadID = &name
	}
	h.Partition, h.FirstEventSeq, h.EventSeq, h.EffectiveSeq = f.part.ID(), st.Header.FirstSeq, seq, max(seq, f.applied)
	h.EventAt = at
	h.ChainSeq = st.Header.ChainSeq + 1
	f.prev = st.Header.Chain
	data, chain, err := events.Seal(f.prev, rec)
	if err != nil {
		panic(fmt.Sprintf("seal record: %v", err)) // our own types, and ids that decoded as UTF-8
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

// recordSubject is where a record of a thread, or of the partition itself, is published.
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
		panic(fmt.Sprintf("subject of thread: %v", err)) // it came from a subject
	}
	return token
}

// reject puts a rejection in the outbox, unless REJECTED holds it from before a recovery.
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

// rejection is the data of an event.rejected. The body goes with it where the server takes a message
// that large.
func rejection(r thread.Rejection, maxPayload int) []byte {
	rec := Rejected(r)
	data := encodeRejected(rec)
	if len(data)+envelopeBytes > maxPayload && rec.Shorten() {
		data = encodeRejected(rec)
	}
	return data
}

// Rejected is what event.rejected says of an event, byte for byte.
func Rejected(r thread.Rejection) events.Rejected {
	raw := r.Raw
	raw.Subject = publishedSubject(raw.Subject)
	return events.NewRejected(raw, r.Seq, r.Reason, len(raw.Body))
}

// envelopeBytes is room for our own headers, which count into a message's size: at most a subject
// token three times.
const envelopeBytes = 4 << 10

func encodeRejected(rec events.Rejected) []byte {
	data, err := json.Marshal(rec, json.Deterministic(true))
	if err != nil {
		panic(fmt.Sprintf("encode rejection: %v", err)) // NewRejected writes nothing but valid UTF-8
	}
	return data
}

// publishedSubject is the subject as the publisher named it, without the partition it was stored under.
func publishedSubject(stored string) string {
	t, token, ok := events.ParseSubject(stored)
	if !ok {
		return stored
	}
	return string(t) + "." + token
}
