package events_test

import (
	"context"
	"testing"
	"time"

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
	subject, err := events.Subject(typ, thread)
	if err != nil {
		r.t.Fatal(err)
	}
	msg := &nats.Msg{Subject: subject, Header: events.Encode(typ, events.SummaryEventID(typ, id), thread, "/precis", time.Unix(0, 0)), Data: data}
	for ctx := within(r.t); ; { // a server that was just started may lose one
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

func (r records) started(thread, id string) {
	r.publish(events.SummaryStarted, thread, id, &events.Started{SummaryID: id})
}

func (r records) created(thread, id string) {
	r.publish(events.SummaryCreated, thread, id, &events.Summary{ID: id})
}

func (r records) failed(thread, id string) {
	r.publish(events.SummaryFailed, thread, id, &events.Failed{SummaryID: id})
}
