package main

import (
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"precis/events"
	"precis/internal/broker"
)

// entry is one stored message of the three streams.
type entry struct {
	seq    uint64
	time   time.Time
	typ    events.Type // of the subject; empty for a subject of no known form
	thread string      // empty where the subject names none
	raw    events.Raw
}

func newEntry(msg jetstream.Msg) (entry, error) {
	meta, err := msg.Metadata()
	if err != nil {
		return entry{}, err
	}
	return storedEntry(broker.Stored{
		Subject: msg.Subject(), Header: msg.Headers(), Data: msg.Data(), Seq: meta.Sequence.Stream, Time: meta.Timestamp,
	}), nil
}

func storedEntry(m broker.Stored) entry {
	e := entry{
		seq: m.Seq, time: m.Time,
		raw: events.Raw{Subject: m.Subject, Header: m.Header, Body: m.Data},
	}
	t, token, ok := events.ParseSubject(m.Subject)
	if !ok {
		return e
	}
	e.typ = t
	if thread, err := events.ThreadOf(token); err == nil {
		e.thread = thread
	}
	return e
}

// data is the event's data without its envelope; nil where there is none to be found.
func (e entry) data() []byte {
	data, rej := events.Data(e.raw)
	if rej != nil {
		return nil
	}
	return data
}
