package broker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// Each test here reproduces a known failure of Watermill subscribers for NATS.

// threadIn returns a thread id that the server maps to the partition.
func threadIn(t testing.TB, b *Broker, partition string) string {
	t.Helper()
	r := NewLogReader(b.JetStream(), StreamEvents)
	for i := range 1000 {
		id := fmt.Sprintf("probe%d", i)
		m, err := r.Get(testContext(t), publish(t, b, "tool.result."+id, "probe"))
		require.NoError(t, err)
		if m.Subject[:len(partition)+1] == partition+"." {
			return id
		}
	}
	t.Fatalf("no thread found in partition %s", partition)
	return ""
}

// A watermill-nats handler that outlasts the ack timeout runs concurrently with
// the next message's. Here lane p0 is blocked while 300
// events of lane p1 pass.
func TestNothingIsHandedOutBehindARunningHandler(t *testing.T) {
	b := provisioned(t, 2)
	slow, fast := threadIn(t, b, "0"), threadIn(t, b, "1")
	state, err := StateOf(testContext(t), b.JetStream(), StreamEvents)
	require.NoError(t, err)
	lanes := newMemoryLanes(allLanes(2)...)
	for _, l := range lanes.lanes {
		lanes.positions[l.Name] = state.Last // after the probes
	}
	for i := range 300 {
		publish(t, b, eventTopics[i%3]+"."+slow, "x")
		publish(t, b, eventTopics[i%3]+"."+fast, "x")
	}
	release := make(chan struct{})
	var running, most atomic.Int64
	var passed sync.WaitGroup
	passed.Add(300)
	s := newSubscriber(t, b, lanes)
	for _, topic := range eventTopics {
		ch, err := s.Subscribe(context.Background(), topic)
		require.NoError(t, err)
		go func() {
			for msg := range ch {
				go func() { // as the Router does
					if DeliveryOf(msg).Lane == "p1" {
						passed.Done()
						msg.Ack()
						return
					}
					most.Store(max(most.Load(), running.Add(1)))
					<-release
					running.Add(-1)
					msg.Ack()
				}()
			}
		}()
	}
	passed.Wait()
	require.EqualValues(t, 1, most.Load(), "messages of lane p0 in flight")
	close(release)
	lanes.await(t, "lane p0 is done", func() bool { return lanes.positions["p0"] == state.Last+599 })
	require.EqualValues(t, 1, most.Load(), "messages of lane p0 in flight")
}

// watermill-nats closes its output while it may still send: "send on closed channel".
func TestCloseWhileSending(t *testing.T) {
	b := provisioned(t, 4)
	p, err := NewPublisher(b.Conn(), PublisherConfig{})
	require.NoError(t, err)
	defer p.Close()
	lanes := newMemoryLanes(allLanes(4)...)
	var acked sync.Map
	for round := range 20 {
		msgs := make([]*nats.Msg, 200)
		for i := range msgs {
			msgs[i] = &nats.Msg{Subject: fmt.Sprintf("%s.t%d", eventTopics[i%3], i%17), Data: []byte("x")}
		}
		for _, a := range p.PublishBatch(testContext(t), msgs) {
			require.NoError(t, a.Err)
		}
		s, err := NewSubscriber(b.JetStream(), SubscriberConfig{Stream: StreamEvents, Topic: eventTopic, Lanes: lanes})
		require.NoError(t, err)
		var n atomic.Int64
		some := make(chan struct{})
		for _, topic := range eventTopics {
			ch, err := s.Subscribe(context.Background(), topic)
			require.NoError(t, err)
			go func() {
				for msg := range ch {
					if _, twice := acked.LoadOrStore(DeliveryOf(msg).Seq, true); twice {
						t.Errorf("sequence %d was acked before", DeliveryOf(msg).Seq)
					}
					msg.Ack()
					if n.Add(1) == int64(5*round+1) {
						close(some)
					}
				}
			}()
		}
		<-some
		var wg sync.WaitGroup
		for range 3 { // as a Router with three handlers does
			wg.Go(func() { require.NoError(t, s.Close()) })
		}
		wg.Wait()
	}
}

// watermill-nats closes a connection that it does not own.
func TestTheConnectionIsNotOurs(t *testing.T) {
	b := provisioned(t, 1)
	s := newSubscriber(t, b, newMemoryLanes(allLanes(1)...))
	collect(t, s, nil)
	p, err := NewPublisher(b.Conn(), PublisherConfig{})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.NoError(t, p.Close())
	require.NoError(t, p.Close())
	require.True(t, b.Conn().IsConnected())
	publish(t, b, "tool.result.t", "still there")
}

// Watermill's Deduplicator drops equal payloads; two equal tool results are two results.
func TestEqualPayloadsAreTwoMessages(t *testing.T) {
	b := provisioned(t, 1)
	first, second := publish(t, b, "tool.result.t", "same"), publish(t, b, "tool.result.t", "same")
	got := collect(t, newSubscriber(t, b, newMemoryLanes(allLanes(1)...)), nil).await(t, 2)
	require.Equal(t, []uint64{first, second}, []uint64{got[0].Seq, got[1].Seq})
}

// The Router cancels message contexts when it closes, and returns without closing
// the subscriber when its own context ends. Neither may lose a Flush.
func TestRouterCloseLosesNoFlush(t *testing.T) {
	b := provisioned(t, 4)
	const events = 600
	for i := range events {
		publish(t, b, fmt.Sprintf("%s.t%d", eventTopics[i%3], i%17), "x")
	}
	lanes := newMemoryLanes(allLanes(4)...)
	var handled sync.Map
	for _, stopAfter := range []int64{50, 200, 150} {
		runRouter(t, b, lanes, stopAfter, func(seq uint64) {
			_, twice := handled.LoadOrStore(seq, true)
			require.False(t, twice, "sequence %d was handled before", seq)
		})
	}
	runRouter(t, b, lanes, 0, func(seq uint64) {
		_, twice := handled.LoadOrStore(seq, true)
		require.False(t, twice, "sequence %d was handled before", seq)
	})
	for seq := uint64(1); seq <= events; seq++ {
		_, ok := handled.Load(seq)
		require.True(t, ok, "sequence %d was never handled", seq)
	}
}

// runRouter runs a Router until it has handled stopAfter events (0: all of
// them) and ends it through its context.
func runRouter(t *testing.T, b *Broker, lanes *memoryLanes, stopAfter int64, handle func(seq uint64)) {
	t.Helper()
	lanes.mu.Lock()
	lanes.reached = map[string]int{}
	lanes.mu.Unlock()
	s, err := NewSubscriber(b.JetStream(), SubscriberConfig{Stream: StreamEvents, Topic: eventTopic, Lanes: lanes, BatchMessages: 16})
	require.NoError(t, err)
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(testContext(t))
	defer cancel()
	var n atomic.Int64
	for _, topic := range eventTopics {
		router.AddConsumerHandler(topic, topic, s, func(msg *message.Message) error {
			handle(DeliveryOf(msg).Seq)
			if n.Add(1) == stopAfter {
				cancel()
				<-msg.Context().Done() // in flight when everything is cancelled
			}
			return nil
		})
	}
	if stopAfter == 0 {
		go func() {
			lanes.await(t, "all lanes have caught up", func() bool { return caughtUp(lanes) })
			cancel()
		}()
	}
	require.NoError(t, router.Run(ctx))
	require.NoError(t, s.Close())
	require.NoError(t, s.Err())
}

func caughtUp(m *memoryLanes) bool { return len(m.reached) == len(m.lanes) }

// An ordered consumer that was reset must neither skip nor repeat.
func TestConsumerDeletedUnderUs(t *testing.T) {
	b := provisioned(t, 2)
	const events = 300
	c := collect(t, newSubscriber(t, b, newMemoryLanes(allLanes(2)...)), nil)
	stream, err := b.JetStream().Stream(testContext(t), StreamEvents)
	require.NoError(t, err)
	for i := range events {
		publish(t, b, fmt.Sprintf("%s.t%d", eventTopics[i%3], i%17), "x")
		if i%100 == 50 {
			names := stream.ConsumerNames(testContext(t))
			for name := range names.Name() {
				if err := stream.DeleteConsumer(testContext(t), name); !errors.Is(err, jetstream.ErrConsumerNotFound) {
					require.NoError(t, err)
				}
			}
		}
	}
	requireOnceInOrder(t, c.await(t, events), events)
}

// requireOnceInOrder: every sequence from 1 to n once, and ascending in each lane.
func requireOnceInOrder(t *testing.T, got []Delivery, n int) {
	t.Helper()
	require.Len(t, got, n)
	last := map[string]uint64{}
	seen := map[uint64]bool{}
	for _, d := range got {
		require.Greater(t, d.Seq, last[d.Lane], "order in lane %s", d.Lane)
		last[d.Lane] = d.Seq
		seen[d.Seq] = true
	}
	require.Len(t, seen, n)
}

// A server stops and restarts with the same streams.
func TestServerRestartInTheMiddle(t *testing.T) {
	r := newRestartable(t)
	b := r.client(t)
	_, err := Provision(testContext(t), b.JetStream(), StreamSpec{Partitions: 4})
	require.NoError(t, err)
	p, err := NewPublisher(b.Conn(), PublisherConfig{})
	require.NoError(t, err)
	defer p.Close()
	lanes := newMemoryLanes(allLanes(4)...)
	s := newSubscriber(t, b, lanes)
	c := collect(t, s, nil)
	const rounds, each = 4, 500
	for round := range rounds {
		if round > 0 {
			c.await(t, round*each-each/2) // somewhere in the middle
			r.stop(t)
			r.start(t)
		}
		require.NoError(t, reconnected(t, b))
		for _, a := range p.PublishBatch(testContext(t), eventBatch(each)) {
			require.NoError(t, a.Err)
		}
	}
	requireOnceInOrder(t, c.await(t, rounds*each), rounds*each)
	require.NoError(t, s.Err())
}

func eventBatch(n int) []*nats.Msg {
	msgs := make([]*nats.Msg, n)
	for i := range msgs {
		msgs[i] = &nats.Msg{Subject: fmt.Sprintf("%s.t%d", eventTopics[i%3], i%17), Data: []byte("x")}
	}
	return msgs
}

// reconnected waits until the server answers.
func reconnected(t *testing.T, b *Broker) error {
	t.Helper()
	online := b.Conn().StatusChanged(nats.CONNECTED)
	defer b.Conn().RemoveStatusListener(online)
	for ctx := testContext(t); ; {
		if b.Conn().IsConnected() && b.Conn().FlushWithContext(ctx) == nil {
			return nil
		}
		select {
		case <-online:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// A stream that is deleted, or deleted and recreated, is not the stream that the
// positions refer to.
func TestLostStreamIsFatal(t *testing.T) {
	for _, again := range []bool{false, true} {
		t.Run(fmt.Sprintf("made anew %t", again), func(t *testing.T) {
			b := provisioned(t, 2)
			s := newSubscriber(t, b, newMemoryLanes(allLanes(2)...))
			c := collect(t, s, nil)
			publish(t, b, "tool.result.t", "x")
			c.await(t, 1)
			require.NoError(t, b.JetStream().DeleteStream(testContext(t), StreamEvents))
			if again {
				_, err := Provision(testContext(t), b.JetStream(), StreamSpec{Partitions: 2})
				require.NoError(t, err)
			}
			select {
			case err := <-s.Failed():
				require.ErrorIs(t, err, ErrStreamLost)
			case <-testContext(t).Done():
				t.Fatal("the loss was not noticed")
			}
		})
	}
}
