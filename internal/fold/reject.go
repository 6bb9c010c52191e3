package fold

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/internal/thread"
	"precis/state"
)

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
		Thread: name, Subject: string(events.EventRejected) + "." + token, Time: d.Time, Data: rejection(r, f.MaxPayload),
	})
	return nil
}

// envelopeBytes reserves room for our own headers, which count toward a message's size: a subject token up to three times.
const envelopeBytes = 4 << 10

// rejection returns the data of an event.rejected. It includes the body if the server accepts a message that large.
func rejection(r thread.Rejection, maxPayload int) []byte {
	rec := Rejected(r)
	data := encodeRejected(rec)
	if len(data)+envelopeBytes > maxPayload && rec.Shorten() {
		data = encodeRejected(rec)
	}
	return data
}

// Rejected returns the event.rejected of an event, byte for byte. It names the subject that the publisher used, without the partition
// that the event was stored under.
func Rejected(r thread.Rejection) events.Rejected {
	raw := r.Raw
	if t, token, ok := events.ParseSubject(raw.Subject); ok {
		raw.Subject = string(t) + "." + token
	}
	return events.NewRejected(raw, r.Seq, r.Reason, len(raw.Body))
}

func encodeRejected(rec events.Rejected) []byte {
	data, err := json.Marshal(rec, json.Deterministic(true))
	if err != nil {
		panic(fmt.Sprintf("encode rejection: %v", err)) // NewRejected writes only valid UTF-8
	}
	return data
}
