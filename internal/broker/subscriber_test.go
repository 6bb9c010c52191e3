package broker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
)

// newSubscriber consumes EVENTS with lanes; it is closed at the end of the test.
func newSubscriber(t testing.TB, b *Broker, lanes Lanes, edit ...func(*SubscriberConfig)) *Subscriber {
	t.Helper()
	cfg := SubscriberConfig{Stream: StreamEvents, Topic: eventTopic, Lanes: lanes}
	for _, e := range edit {
		e(&cfg)
	}
	s, err := NewSubscriber(b.JetStream(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// collector subscribes to the four topics and records messages in order.
type collector struct {
	mu      sync.Mutex
	got     []Delivery
	changed chan struct{}
	wg      sync.WaitGroup
}

func collect(t testing.TB, s *Subscriber, handle func(*message.Message)) *collector {
	t.Helper()
	c := &collector{changed: make(chan struct{})}
	for _, topic := range eventTopics {
		ch, err := s.Subscribe(context.Background(), topic)
		require.NoError(t, err)
		c.wg.Go(func() {
			for msg := range ch {
				if handle != nil {
					handle(msg)
				}
				c.add(DeliveryOf(msg))
				msg.Ack()
			}
		})
	}
	t.Cleanup(func() { require.NoError(t, s.Close()); c.wg.Wait() })
	return c
}

func (c *collector) add(d Delivery) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.got = append(c.got, d)
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *collector) await(t testing.TB, n int) []Delivery {
	t.Helper()
	ctx := testContext(t)
	for {
		c.mu.Lock()
		got, changed := c.got, c.changed
		c.mu.Unlock()
		if len(got) >= n {
			return got
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("timed out with %d of %d messages", len(got), n)
		}
	}
}

func TestOrderAcrossTopics(t *testing.T) {
	b := provisioned(t, 4)
	const threads, each = 20, 30
	want := map[string][]uint64{}
	for i := range each {
		for th := range threads {
			subject := fmt.Sprintf("%s.t%d", eventTopics[(i+th)%3], th)
			key := fmt.Sprintf("t%d", th)
			want[key] = append(want[key], publish(t, b, subject, "x"))
		}
	}
	lanes := newMemoryLanes(allLanes(4)...)
	c := collect(t, newSubscriber(t, b, lanes), nil)
	got := map[string][]uint64{}
	for _, d := range c.await(t, threads*each) {
		thread := d.Subject[len(d.Subject)-len(lastToken(d.Subject)):]
		got[thread] = append(got[thread], d.Seq)
	}
	require.Equal(t, want, got)
}

func lastToken(subject string) string {
	for i := len(subject) - 1; i >= 0; i-- {
		if subject[i] == '.' {
			return subject[i+1:]
		}
	}
	return subject
}

func TestStraysAreDelivered(t *testing.T) {
	b := provisioned(t, 4)
	publish(t, b, "thread.message.*", "a")
	publish(t, b, "tool.result.>", "b")
	c := collect(t, newSubscriber(t, b, newMemoryLanes(allLanes(4)...)), nil)
	for i, d := range c.await(t, 2) {
		require.Equal(t, "strays", d.Lane)
		require.Equal(t, []string{"thread.message.*", "tool.result.>"}[i], d.Subject)
	}
}

func TestRepeatedHeadersKeepAllValues(t *testing.T) {
	b := provisioned(t, 1)
	m := nats.NewMsg("tool.result.t")
	m.Header["X-Twice"] = []string{"one", "two"}
	m.Header["x-twice"] = []string{"three"}
	m.Header["Empty"] = []string{""}
	_, err := b.JetStream().PublishMsg(testContext(t), m)
	require.NoError(t, err)
	first := make(chan string, 1)
	c := collect(t, newSubscriber(t, b, newMemoryLanes(allLanes(1)...)), func(msg *message.Message) {
		first <- msg.Metadata.Get("X-Twice")
	})
	d := c.await(t, 1)[0]
	require.Equal(t, "one", <-first)
	require.Equal(t, m.Header, d.Header)
}

func TestEverythingAckedIsFlushedWhenIdle(t *testing.T) {
	b := provisioned(t, 1)
	lanes := newMemoryLanes(allLanes(1)...)
	s := newSubscriber(t, b, lanes, func(c *SubscriberConfig) { c.BatchWait = time.Hour }) // a single event does not wait for a batch
	collect(t, s, nil)
	for i := range 5 {
		seq := publish(t, b, "tool.result.t", fmt.Sprint(i))
		lanes.await(t, "the event is durable", func() bool { return lanes.positions["p0"] == seq })
	}
}

func TestFlushErrorIsFatal(t *testing.T) {
	b := provisioned(t, 1)
	lanes := newMemoryLanes(allLanes(1)...)
	lanes.flushErr = errors.New("disk on fire")
	s := newSubscriber(t, b, lanes)
	c := collect(t, s, nil)
	publish(t, b, "tool.result.t", "x")
	select {
	case err := <-s.Failed():
		require.ErrorIs(t, err, lanes.flushErr)
	case <-testContext(t).Done():
		t.Fatal("failure was not reported")
	}
	require.ErrorIs(t, s.Err(), lanes.flushErr)
	c.wg.Wait() // the outputs are closed
	_, err := s.Subscribe(context.Background(), "tool.result")
	require.ErrorIs(t, err, ErrClosed)
}
