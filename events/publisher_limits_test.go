package events_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"precis/events"
)

func TestPublisherBufferFull(t *testing.T) {
	checkLeaks(t)
	s := startServer(t)
	stream := s.stream(s.connect(), eventsStream())
	for name, opts := range map[string]events.PublisherOptions{
		"events": {BufferEvents: 10},
		"bytes":  {BufferBytes: 10 * len(`{"message_id":"m0","content":"x"}`)},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPublisher(t, s, opts)
			s.stop()
			for n := range 10 {
				publish(t, p, name, n)
			}
			ended, cancel := context.WithCancel(context.Background())
			cancel()
			data := []byte(`{"message_id":"mx","content":"x"}`)
			if _, err := p.Publish(ended, events.ToolResult, name, data); !errors.Is(err, events.ErrBufferFull) {
				t.Errorf("publish into a full buffer: %v", err)
			}
			if err := p.Flush(ended); !errors.Is(err, context.Canceled) {
				t.Errorf("flush: %v", err)
			}
			accepted := make(chan error, 1)
			go func() {
				_, err := p.Publish(within(t), events.ToolResult, name, []byte(`{"message_id":"m10","content":"x"}`))
				accepted <- err
			}()
			s.start() // makes room
			if err := <-accepted; err != nil {
				t.Errorf("publish that waits for room: %v", err)
			}
			closePublisher(t, p)
			if got := firstSeen(t, stored(t, stream))[name]; len(got) != 11 {
				t.Errorf("%d events, want 11: %v", len(got), got)
			}
		})
	}
}

// A permanent refusal is reported and does not block other events.
func TestPublisherRefusals(t *testing.T) {
	checkLeaks(t)
	s := startServer(t)
	config := eventsStream()
	config.MaxMsgSize = 1000
	stream := s.stream(s.connect(), config)
	p := newPublisher(t, s, events.PublisherOptions{})
	big := func(n int) []byte {
		return []byte(`{"message_id":"big","content":"` + strings.Repeat("x", n) + `"}`)
	}
	if _, err := p.Publish(within(t), events.ToolResult, "t", big(1<<20)); !errors.Is(err, events.ErrTooLarge) {
		t.Errorf("larger than the server's messages: %v", err)
	}
	s.stop()
	publish(t, p, "t", 0)
	refused, err := p.Publish(within(t), events.ToolResult, "t", big(2000))
	if err != nil {
		t.Fatal(err)
	}
	publish(t, p, "t", 1)
	s.start()
	if _, err := refused.Wait(within(t)); !errors.Is(err, events.ErrRefused) {
		t.Errorf("receipt: %v", err)
	}
	if err := p.Close(within(t)); !errors.Is(err, events.ErrRefused) || errors.Is(err, events.ErrUnsent) {
		t.Errorf("close: %v", err)
	}
	wantInOrder(t, firstSeen(t, stored(t, stream)), 1, 2)
}

func TestPublisherWithoutBatches(t *testing.T) {
	checkLeaks(t)
	s := startServer(t)
	config := eventsStream()
	config.AllowAtomicPublish = false
	stream := s.stream(s.connect(), config)
	p := newPublisher(t, s, events.PublisherOptions{})
	s.stop()
	for n := range 300 {
		publish(t, p, "t", n)
	}
	s.start()
	closePublisher(t, p)
	wantInOrder(t, firstSeen(t, stored(t, stream)), 1, 300)
}

// The publisher waits for a stream that does not exist yet.
func TestPublisherWaitsForItsStream(t *testing.T) {
	checkLeaks(t)
	s := startServer(t)
	warned := make(chan error, 1)
	p := newPublisher(t, s, events.PublisherOptions{Warn: func(err error) {
		select {
		case warned <- err:
		default:
		}
	}})
	publish(t, p, "t", 0)
	publish(t, p, "t", 1)
	if err := <-warned; !strings.Contains(err.Error(), "no stream") {
		t.Errorf("warning: %v", err)
	}
	stream := s.stream(s.connect(), eventsStream())
	closePublisher(t, p)
	wantInOrder(t, firstSeen(t, stored(t, stream)), 1, 2)
}

// Events that linger share one write. It begins when a batch is full, or when a caller waits for one of them.
func TestPublisherLinger(t *testing.T) {
	checkLeaks(t)
	for name, test := range map[string]struct {
		linger time.Duration
		events int
		end    func(t *testing.T, p *events.Publisher, r *events.Receipt) error
	}{
		"one waits": {time.Hour, 3, func(t *testing.T, _ *events.Publisher, r *events.Receipt) error {
			_, err := r.Wait(within(t))
			return err
		}},
		"flush": {time.Hour, 3, func(t *testing.T, p *events.Publisher, _ *events.Receipt) error { return p.Flush(within(t)) }},
		"close": {time.Hour, 3, func(t *testing.T, p *events.Publisher, _ *events.Receipt) error { return p.Close(within(t)) }},
		"full":  {time.Hour, 4, untilDone},
		"time":  {100 * time.Millisecond, 3, untilDone},
	} {
		t.Run(name, func(t *testing.T) {
			s := startServer(t)
			stream := s.stream(s.connect(), eventsStream())
			p := newPublisher(t, s, events.PublisherOptions{Linger: test.linger, BatchEvents: 4})
			other := newPublisher(t, s, events.PublisherOptions{})
			defer closePublisher(t, other)
			first := publish(t, p, "t", 0)
			if _, err := publish(t, other, "other", 0).Wait(within(t)); err != nil { // by now the first would be stored, did it not linger
				t.Fatal(err)
			}
			for n := 1; n < test.events; n++ {
				publish(t, p, "t", n)
			}
			if err := test.end(t, p, first); err != nil {
				t.Fatal(err)
			}
			closePublisher(t, p)
			all := slices.DeleteFunc(stored(t, stream), func(msg *jetstream.RawStreamMsg) bool { return !strings.HasSuffix(msg.Subject, ".t") })
			wantInOrder(t, firstSeen(t, all), 1, test.events)
			for _, msg := range all {
				if id := msg.Header.Get("Nats-Batch-Id"); name != "time" && (id == "" || id != all[0].Header.Get("Nats-Batch-Id")) {
					t.Errorf("event %d: batch %q, want that of the first, %q", msg.Sequence, id, all[0].Header.Get("Nats-Batch-Id"))
				}
			}
		})
	}
}

// Waiting for an event that is stored leaves the events that linger alone.
func TestPublisherLingerOfOthers(t *testing.T) {
	checkLeaks(t)
	s := startServer(t)
	stream := s.stream(s.connect(), eventsStream())
	p, other := newPublisher(t, s, events.PublisherOptions{Linger: time.Hour}), newPublisher(t, s, events.PublisherOptions{})
	first := publish(t, p, "t", 0)
	if _, err := first.Wait(within(t)); err != nil {
		t.Fatal(err)
	}
	publish(t, p, "t", 1)
	if _, err := first.Wait(within(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := publish(t, other, "other", 0).Wait(within(t)); err != nil { // by now the second would be stored, did it not linger
		t.Fatal(err)
	}
	publish(t, p, "t", 2)
	closePublisher(t, p)
	closePublisher(t, other)
	all := stored(t, stream)
	last, before := all[len(all)-1], all[len(all)-2]
	if id := last.Header.Get("Nats-Batch-Id"); id == "" || id != before.Header.Get("Nats-Batch-Id") {
		t.Errorf("batches %q and %q: the second event did not wait for the third", before.Header.Get("Nats-Batch-Id"), id)
	}
}

// untilDone waits for an event without ending its linger.
func untilDone(t *testing.T, _ *events.Publisher, r *events.Receipt) error {
	select {
	case <-r.Done():
		return nil
	case <-within(t).Done():
		return errors.New("not stored in time")
	}
}

func TestPublisherClose(t *testing.T) {
	checkLeaks(t)
	s := startServer(t)
	s.stream(s.connect(), eventsStream())
	p := newPublisher(t, s, events.PublisherOptions{})
	s.stop()
	r := publish(t, p, "t", 0)
	publish(t, p, "t", 1)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := p.Close(ended); !errors.Is(err, events.ErrUnsent) || !errors.Is(err, context.Canceled) {
		t.Errorf("close: %v", err)
	}
	if _, err := r.Wait(within(t)); !errors.Is(err, events.ErrPublisherClosed) {
		t.Errorf("receipt: %v", err)
	}
	if _, err := p.Publish(within(t), events.ToolResult, "t", []byte(`{"message_id":"late","content":""}`)); !errors.Is(err, events.ErrPublisherClosed) {
		t.Errorf("publish: %v", err)
	}
	if err := p.Close(within(t)); !errors.Is(err, events.ErrUnsent) {
		t.Errorf("close again: %v", err)
	}
}

func TestPublisherOnAClosedConnection(t *testing.T) {
	checkLeaks(t)
	s := startServer(t)
	nc := s.connect()
	p, err := events.NewPublisher(nc, events.PublisherOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r := publish(t, p, "t", 0) // no stream takes it, so it is in flight when the connection closes
	nc.Close()
	if _, err := r.Wait(within(t)); !errors.Is(err, events.ErrPublisherClosed) {
		t.Errorf("receipt: %v", err)
	}
	if _, err := p.Publish(within(t), events.ToolResult, "t", nil); err == nil {
		t.Error("an event is accepted that can't be sent")
	}
	if err := p.Close(within(t)); !errors.Is(err, events.ErrUnsent) {
		t.Errorf("close: %v", err)
	}
}

func TestPublisherWrongUse(t *testing.T) {
	checkLeaks(t)
	s := startServer(t)
	p := newPublisher(t, s, events.PublisherOptions{})
	defer closePublisher(t, p)
	if _, err := p.Publish(within(t), events.SummaryCreated, "t", nil); !errors.Is(err, events.ErrType) {
		t.Errorf("a record: %v", err)
	}
	if _, err := p.Publish(within(t), events.ToolResult, "", nil); !errors.Is(err, events.ErrThreadID) {
		t.Errorf("no thread: %v", err)
	}
	for _, bad := range []events.PublisherOptions{{BatchEvents: 1001}, {BufferEvents: -1}, {BufferBytes: -1}, {AckWait: -1}, {RetryWait: -1}} {
		if _, err := events.NewPublisher(s.connect(), bad); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}

// Many agents share a publisher.
func TestPublisherConcurrently(t *testing.T) {
	checkLeaks(t)
	s := startServer(t)
	stream := s.stream(s.connect(), eventsStream())
	p := newPublisher(t, s, events.PublisherOptions{BufferEvents: 50})
	var agents sync.WaitGroup
	for agent := range 16 {
		agents.Go(func() {
			for n := range 100 {
				data := fmt.Sprintf(`{"message_id":"m%d","content":"x"}`, n)
				if _, err := p.Publish(within(t), events.ToolResult, fmt.Sprintf("t%d", agent), []byte(data)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	agents.Wait()
	closePublisher(t, p)
	wantInOrder(t, firstSeen(t, stored(t, stream)), 16, 100)
}

// An agent may start before its server.
func TestPublisherBeforeItsServer(t *testing.T) {
	checkLeaks(t)
	s := startServer(t)
	stream := s.stream(s.connect(), eventsStream())
	s.stop()
	p := newPublisher(t, s, events.PublisherOptions{})
	for n := range 10 {
		publish(t, p, "t", n)
	}
	s.start()
	closePublisher(t, p)
	wantInOrder(t, firstSeen(t, stored(t, stream)), 1, 10)
}
