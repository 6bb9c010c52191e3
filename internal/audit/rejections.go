package audit

import (
	"crypto/sha256"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/fold"
	"precis/internal/recovery"
	"precis/internal/thread"
)

// rejection is what REJECTED says of an event, in a compact form.
type rejection struct {
	thread string // the one that its subject names
	early  bool   // a loss was accepted after it
	code   string
	body   bool     // it holds the event's body, not its hash
	digest [32]byte // of the whole record
	event  [32]byte // events.Rejected.EventDigest
	at     uint64   // its sequence in REJECTED
}

// rejectionOf reads the data of an event.rejected, and the sequence of its event.
func rejectionOf(data []byte) (r rejection, seq uint64, err error) {
	var rec events.Rejected
	if err := json.Unmarshal(data, &rec); err != nil {
		return r, 0, err
	}
	r.code, r.body = rec.Code, rec.BodyBase64 != nil
	if r.event, err = rec.EventDigest(); err != nil {
		return r, 0, err
	}
	r.digest, err = canonicalDigest(data)
	return r, rec.StreamSeq, err
}

func canonicalDigest(data []byte) ([32]byte, error) {
	value := jsontext.Value(data).Clone()
	err := value.Canonicalize()
	return sha256.Sum256(value), err
}

// says reports whether the rejection equals the one that the fold makes, byte for byte in canonical form. The server's
// largest message at the time is unknown, so a rejection with the body and one without it are both valid.
func (r rejection) says(want thread.Rejection) (bool, error) {
	rec := fold.Rejected(want)
	if !r.body {
		rec.Shorten()
	}
	data, err := json.Marshal(rec)
	if err != nil {
		return false, err
	}
	digest, err := canonicalDigest(data)
	return digest == r.digest, err
}

// rejection notes a record of REJECTED.
func (r *replay) rejection(m broker.Stored) {
	said, about, err := rejectionOf(m.Data)
	if err != nil {
		r.tally.find(scope{at: m.Time}, Finding{Check: CheckReadable, Want: "a rejection", Got: fmt.Sprintf("REJECTED %d: %v", m.Seq, err)})
		return
	}
	id := m.Header.Get("ce-id")
	partition, seq, ok := recovery.RejectedEvent(id)
	if !ok || partition >= len(r.rejections) || seq != about {
		r.tally.find(scope{at: m.Time}, Finding{
			Check: CheckReadable, EventSeq: about, Want: "the id of a rejection of that event", Got: fmt.Sprintf("REJECTED %d: %s", m.Seq, id),
		})
		return
	}
	if r.configs.voidRejection(partition, seq, m.Seq) {
		r.tally.void(scope{at: m.Time}, string(events.EventRejected))
		return
	}
	_, token, _ := events.ParseSubject(m.Subject)
	said.early = r.configs.lossAfter(partition, m.Seq)
	said.thread, _ = events.ThreadOf(token) // empty if the subject names none
	said.at = m.Seq
	if other, twice := r.rejections[partition][seq]; twice && other.event != said.event {
		r.tally.find(scope{at: m.Time, thread: said.thread}, Finding{
			Check: CheckRejection, EventSeq: seq, Want: "rejections of one event",
			Got: fmt.Sprintf("REJECTED %d and %d are about different events: EVENTS was rolled back and has grown again, or one of them is forged", other.at, m.Seq),
		})
	}
	r.rejections[partition][seq] = said
}

// rejected notes that the fold rejects an event, and checks that REJECTED holds the same rejection.
func (a *auditor) rejected(at scope, r thread.Rejection) error {
	seq, code := r.Seq, r.Reason.Code
	of := a.rejections[a.lane.id]
	on, known := of[seq]
	delete(of, seq)
	f := Finding{Thread: events.OrNull(at.thread), Check: CheckRejection, EventSeq: seq, Want: "rejected as " + code, Got: "not in REJECTED"}
	switch {
	case known && on.code == code:
		same, err := on.says(r)
		if err != nil {
			return fmt.Errorf("compare rejection of event %d: %w", seq, err)
		}
		if same {
			a.tally.holds(at, CheckRejection)
			return nil
		}
		f.Want, f.Got = "the event as it stands in EVENTS: "+r.Reason.Message, "other words, headers, subject or body in REJECTED"
	case known:
		f.Got = "rejected as " + on.code
	case a.retained.rejects(at.thread, code):
		a.tally.doubt(at, removedByRetention)
		return nil
	case a.recent(at):
		a.tally.late(at)
		return nil
	}
	a.tally.find(at, f)
	return nil
}

// unrejected notes a rejection that the fold does not make.
func (a *auditor) unrejected(seq uint64, r rejection) {
	switch {
	case seq > a.lane.last || a.waiting[seq] && a.endsBefore():
		return // after what was folded: an edit that waits there is rejected at a later event
	case seq < a.retained.first:
		a.tally.doubt(scope{}, "removed: the event that a rejection is about")
		return
	case a.retained.rejects(r.thread, r.code):
		a.tally.doubt(scope{}, removedByRetention)
		return
	case r.early && r.code == events.CodeUnknownMessage:
		a.tally.void(scope{thread: r.thread}, string(events.EventRejected))
		return // rejected at a later event, which is lost
	}
	a.tally.find(scope{}, Finding{
		Check: CheckRejection, EventSeq: seq,
		Want: "an event that can't be accepted", Got: fmt.Sprintf("REJECTED says %s of one that can, or of none", r.code),
	})
}

// endsBefore reports whether the fold ends at an event after which the log may continue.
func (a *auditor) endsBefore() bool { return a.upTo != nil }

// held tracks the edits that wait for their message.
func (a *auditor) held(s fold.Stepped) {
	if s.Result.Outcome == thread.Held {
		a.waiting[s.Delivery.Seq] = true
	}
	for _, w := range s.State.Changes.Release {
		delete(a.waiting, w.Seq)
	}
}
