package processor

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"precis/events"
	"precis/internal/broker"
	"precis/state"
)

// A lane that waits until its outbox has room takes no turns, and the outbox makes room all the same: of one thread each
// row is a wave, and an edit of a long thread makes a dozen of them.
func TestOutboxWaitsForNoLane(t *testing.T) {
	b, err := broker.Open(t.Context(), broker.Options{StoreDir: t.TempDir(), Sync: "2m", Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close(context.Background()) })
	if _, err := broker.Provision(t.Context(), b.JetStream(), broker.StreamSpec{Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	pub, err := broker.NewPublisher(b.Conn(), broker.PublisherConfig{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pub.Close() })
	lane := &partition{turns: make(chan func(), 1), ended: make(chan struct{})}
	t.Cleanup(func() { close(lane.ended) })
	o := &outbox{
		pub: pub, connections: func() uint64 { return 0 }, stored: lane.stored, failpoint: func(string, int) error { return nil }, metrics: newMetrics(""),
	}
	var rows []*state.Outgoing
	for i := range uint64(100) {
		rows = append(rows, &state.Outgoing{
			Number: i, Type: events.SummaryCreated, ID: fmt.Sprint("summary.created/", i), Subject: "summary.created.t1", Thread: "t1",
			Data: []byte("{}"), Time: time.Now(), Guarded: true,
		})
	}
	o.add(rows)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	ran := make(chan error, 1)
	go func() { ran <- o.Run(ctx) }()
	if err := o.drained(ctx); err != nil {
		t.Fatalf("%d of %d rows wait for a lane that waits for them: %v", len(o.rows), len(rows), err)
	}
	stop()
	if err := <-ran; err != nil {
		t.Fatal(err)
	}
	if n := len(lane.delivered.take()); n != len(rows) {
		t.Errorf("the lane is told of %d rows, %d are stored", n, len(rows))
	}
	<-lane.turns // and that it is to look
}
