package audit

import (
	"crypto/sha256"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"precis/events"
	"precis/internal/fold"
	"precis/internal/thread"
)

// rejection is what REJECTED says of an event, as short as it can be held.
type rejection struct {
	thread string // that its subject names
	early  bool   // a loss was accepted behind it
	code   string
	body   bool     // it holds the event's body, and not its hash
	digest [32]byte // of all that it says
}

// rejectionOf reads the data of an event.rejected, and the event that it is about.
func rejectionOf(data []byte) (r rejection, seq uint64, err error) {
	var rec events.Rejected
	if err := json.Unmarshal(data, &rec); err != nil {
		return r, 0, err
	}
	r.code, r.body = rec.Code, rec.BodyBase64 != nil
	r.digest, err = canonicalDigest(data)
	return r, rec.StreamSeq, err
}

func canonicalDigest(data []byte) ([32]byte, error) {
	value := jsontext.Value(data).Clone()
	err := value.Canonicalize()
	return sha256.Sum256(value), err
}

// says tells whether it says what the fold says of the event, byte for byte. How large a message the server took
// then nobody knows: with the body and without it are both right.
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

// rejected notes that the fold rejects an event, and whether REJECTED says so too, in the same words.
func (a *auditor) rejected(at scope, r thread.Rejection) error {
	seq, code := r.Seq, r.Reason.Code
	on, known := a.rejections[seq]
	delete(a.rejections, seq)
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
	case a.tally.retained.rejects(at.thread, code):
		a.tally.doubt(at, removedByRetention)
		return nil
	case !a.endsBefore() && a.now.Sub(at.at) < grace:
		a.tally.late(at)
		return nil
	}
	a.tally.find(at, f)
	return nil
}

// unrejected notes a rejection that the fold does not come to.
func (a *auditor) unrejected(seq uint64, r rejection) {
	switch {
	case seq > a.lane.last || a.waiting[seq] && a.endsBefore():
		return // behind what was folded: an edit that waits there is rejected at a later event
	case seq < a.first:
		a.tally.doubt(scope{}, "removed: the event that a rejection is about")
		return
	case a.tally.retained.rejects(r.thread, r.code):
		a.tally.doubt(scope{}, removedByRetention)
		return
	case r.early && r.code == events.CodeUnknownMessage:
		a.tally.void(scope{thread: r.thread}, string(events.EventRejected))
		return // at a later event, which is lost
	}
	a.tally.find(scope{}, Finding{
		Check: CheckRejection, EventSeq: seq,
		Want: "an event that can't be accepted", Got: fmt.Sprintf("REJECTED says %s of one that can, or of none", r.code),
	})
}

// endsBefore says that the fold ends at an event, and the log may go on behind it.
func (a *auditor) endsBefore() bool { return a.lane.upTo != ^uint64(0) }

// held keeps count of the edits that wait for their message.
func (a *auditor) held(s fold.Stepped) {
	if s.Result.Outcome == thread.Held {
		a.waiting[s.Delivery.Seq] = true
	}
	for _, w := range s.State.Changes.Release {
		delete(a.waiting, w.Seq)
	}
}
