package events_test

import (
	"context"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"

	"precis/events"
)

// records publishes to SUMMARIES as the processor does.
type records struct {
	t  *testing.T
	nc *nats.Conn
}

func (r records) publish(typ events.Type, thread, id string, record events.Record) {
	r.t.Helper()
	record.Common().ThreadID = &thread
	data, _, err := events.Seal("", record)
	if err != nil {
		r.t.Fatal(err)
	}
	r.send(typ, thread, id, data)
}

func (r records) rejected(thread string, seq uint64) {
	r.t.Helper()
	why := &events.RejectError{Code: events.CodeSchema, Message: "required", Field: "role"}
	data, err := json.Marshal(events.NewRejected(events.Raw{Subject: "thread.message." + thread, Body: []byte("{}")}, seq, why, 1000))
	if err != nil {
		r.t.Fatal(err)
	}
	r.send(events.EventRejected, thread, itoa(int(seq)), data)
}

func (r records) send(typ events.Type, thread, id string, data []byte) {
	r.t.Helper()
	subject, err := events.Subject(typ, thread)
	if err != nil {
		r.t.Fatal(err)
	}
	msg := &nats.Msg{Subject: subject, Header: events.Encode(typ, events.SummaryEventID(typ, id), thread, "/precis", time.Unix(0, 0)), Data: data}
	for ctx := within(r.t); ; { // a server that has just started may lose one
		attempt, cancel := context.WithTimeout(ctx, time.Second)
		_, err := r.nc.RequestMsgWithContext(attempt, msg)
		cancel()
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			r.t.Fatal(err)
		}
	}
}

func (r records) created(thread, id string) {
	r.publish(events.SummaryCreated, thread, id, &events.Summary{ID: id})
}

func (r records) started(thread, id string) {
	r.publish(events.SummaryStarted, thread, id, &events.Started{SummaryID: id})
}

func (r records) failed(thread, id string) {
	r.publish(events.SummaryFailed, thread, id, &events.Failed{SummaryID: id})
}
