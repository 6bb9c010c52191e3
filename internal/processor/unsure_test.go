package processor_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"precis/internal/broker"
	"precis/internal/broker/brokertest"
	"precis/internal/processor"
)

// window is the shortest duplicate window that the server allows.
const window = 100 * time.Millisecond

// Rejections are stored, no acknowledgement arrives, and when they are sent again the server has forgotten their ids. Each
// is on record once.
func TestRejectionsOnceBeyondTheDuplicateWindow(t *testing.T) {
	const before, stored, unsent = 3, 20, 5
	s, c := newServer(t), settings(t)
	c.Partitions = 1
	forgetful(t, s.Broker, c.Partitions)
	acks := brokertest.StartFaults(t, s.URL(), 0, 0)
	c.NATS.URL = acks.URL()
	var holding atomic.Bool
	p := start(t, processor.Options{Config: c, Logger: logger(t), Failpoint: func(point string, _ int) error {
		if point == processor.FailSending && holding.Load() {
			return broker.ErrTransient
		}
		return nil
	}})
	<-p.Ready()
	putBad(t, s.Conn(), before) // what is in doubt does not begin the stream
	if err := p.Settled(within(t)); err != nil {
		t.Fatal(err)
	}

	holding.Store(true) // until all can go at once
	if err := p.Wait(within(t), 0, putBad(t, s.Conn(), stored)); err != nil {
		t.Fatal(err)
	}
	acks.Swallow(broker.StreamRejected)
	holding.Store(false)
	await(t, "acknowledgements to be lost", func() bool { return acks.Lost() == stored })
	acks.Cut()
	putBad(t, s.Conn(), unsent)
	outlive(t, s.Conn())
	acks.Restore()
	if err := p.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	p.end()

	times := map[string]int{}
	err := broker.NewLogReader(s.JetStream(), broker.StreamRejected).Scan(within(t), 1, nil, func(m broker.Stored) error {
		if id := m.Header.Get("ce-id"); id != "" {
			times[id]++
		}
		return nil
	}, nil)
	if err != nil || len(times) != before+stored+unsent {
		t.Errorf("%d rejections on record, want %d: %v", len(times), before+stored+unsent, err)
	}
	for id, n := range times {
		if n != 1 {
			t.Errorf("%s is on record %d times", id, n)
		}
	}
	verifyStore(t, c, s.Broker)
}

// forgetful makes the streams, and REJECTED with the shortest memory of ids.
func forgetful(t *testing.T, b *broker.Broker, partitions int) {
	t.Helper()
	if _, err := broker.Provision(t.Context(), b.JetStream(), broker.StreamSpec{Partitions: partitions}); err != nil {
		t.Fatal(err)
	}
	stream, err := b.JetStream().Stream(t.Context(), broker.StreamRejected)
	if err != nil {
		t.Fatal(err)
	}
	config := stream.CachedInfo().Config
	config.Duplicates = window
	if _, err := b.JetStream().UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
}

// putBad publishes events that are rejected, to four threads, and returns the last one's sequence.
func putBad(t *testing.T, nc *nats.Conn, n int) (last uint64) {
	t.Helper()
	for i := range n {
		last = put(t, nc, fmt.Sprint("thread.message.t", i%4), `{"no":"message"}`)
	}
	return last
}

// outlive publishes a message until the server takes it a second time: it has forgotten by then what it stored before.
func outlive(t *testing.T, nc *nats.Conn) {
	t.Helper()
	pub, err := broker.NewPublisher(nc, broker.PublisherConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pub.Close() }()
	for ctx, stored := within(t), 0; stored < 2; {
		ack := pub.PublishBatch(ctx, []*nats.Msg{{Subject: "event.rejected.by-hand", Header: nats.Header{nats.MsgIdHdr: {"by-hand"}}, Data: []byte(`{}`)}})[0]
		if ack.Err != nil {
			t.Fatal(ack.Err)
		}
		if !ack.Duplicate {
			stored++
		}
	}
}

// await waits for what a counter in this process says.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for ctx := within(t); !holds(); {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("timed out waiting for " + what)
		}
	}
}
