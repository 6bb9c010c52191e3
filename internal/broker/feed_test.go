package broker

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// unstarted returns a Subscriber whose goroutines don't run, to test single steps.
func unstarted(t *testing.T, b *Broker, lanes Lanes, edit ...func(*SubscriberConfig)) *feed {
	t.Helper()
	s := newSubscriber(t, b, lanes, edit...)
	state, err := StateOf(testContext(t), b.JetStream(), StreamEvents)
	require.NoError(t, err)
	s.created = state.Created
	list, err := s.lanes()
	require.NoError(t, err)
	return newFeed(s, list, state)
}

func TestFeedKnowsItsStream(t *testing.T) {
	b := provisioned(t, 1)
	publish(t, b, "tool.result.t", "x")
	f := unstarted(t, b, newMemoryLanes(allLanes(1)...))
	require.NoError(t, f.sameStream(testContext(t)))

	f.pull.last = 1
	require.NoError(t, f.sameStream(testContext(t)))
	f.pull.last = 2 // the server lost messages that are applied
	require.ErrorIs(t, f.sameStream(testContext(t)), ErrStreamLost)
	f.pull.last = 0

	f.sub.created = f.sub.created.Add(-time.Second)
	require.ErrorIs(t, f.sameStream(testContext(t)), ErrStreamLost)
}

// The feed's mark covers what is in the queues: a lane that finds its queue
// empty after reading the mark considers everything up to it done.
func TestMarkFollowsTheQueue(t *testing.T) {
	b := provisioned(t, 1)
	lanes := newMemoryLanes(PartitionLane(0))
	f := unstarted(t, b, lanes, func(c *SubscriberConfig) { c.PrefetchMessages = 1 })
	m := &nats.Msg{Subject: "0.tool.result.t"}
	require.NoError(t, f.deal(testContext(t), m, ackReply{streamSeq: 1, pending: 1}))
	require.EqualValues(t, 1, f.seq)

	ctx, cancel := context.WithCancel(testContext(t))
	cancel()
	require.Error(t, f.deal(ctx, m, ackReply{streamSeq: 2, pending: 1}), "the queue is full")
	require.EqualValues(t, 1, f.seq)

	// The lane reads the mark first, then its queue.
	f.reached.Store(&reach{seq: 5 * advanceEvery})
	it, got, err := f.lanes[0].idle(testContext(t), reach{})
	require.NoError(t, err)
	require.True(t, got)
	require.EqualValues(t, 1, it.ack.streamSeq)
	require.Empty(t, lanes.flushes)
}

// The buffer of nats.go overflowed, or the server skipped: never continue after a gap.
func TestPullerNoticesGaps(t *testing.T) {
	b := provisioned(t, 1)
	p := newPuller(b.JetStream(), pullerConfig{stream: StreamEvents, window: 10, bytes: 1000, after: 5})
	require.NoError(t, p.open(testContext(t)))
	defer p.drop()
	message := func(stream, consumer int) *nats.Msg {
		return &nats.Msg{Reply: fmt.Sprintf("$JS.ACK.EVENTS.c.1.%d.%d.1.0", stream, consumer)}
	}
	accept := func(m *nats.Msg) (bool, error) { _, ok, err := p.accept(m); return ok, err }

	ok, err := accept(message(5, 1))
	require.NoError(t, err)
	require.False(t, ok, "sequence 5 was handed out before this consumer was made")
	ok, err = accept(message(9, 2))
	require.NoError(t, err)
	require.True(t, ok, "the stream may have gaps")
	_, err = accept(message(11, 4))
	require.ErrorIs(t, err, errGap, "the consumer may not")
	require.EqualValues(t, 9, p.last)
	_, err = accept(&nats.Msg{Reply: "_INBOX.x"})
	require.ErrorIs(t, err, errNotJetStream)
}

// When an output is closed, everything acked is durable.
func TestOutputsCloseAfterTheLastFlush(t *testing.T) {
	b := provisioned(t, 2)
	first, second := threadIn(t, b, "0"), threadIn(t, b, "1")
	state, err := StateOf(testContext(t), b.JetStream(), StreamEvents)
	require.NoError(t, err)
	lanes := &slowLanes{memoryLanes: newMemoryLanes(PartitionLane(0), PartitionLane(1)), release: make(chan struct{})}
	lanes.positions["p0"], lanes.positions["p1"] = state.Last, state.Last
	s := newSubscriber(t, b, lanes)
	ch, err := s.Subscribe(context.Background(), "tool.result")
	require.NoError(t, err)
	publish(t, b, "tool.result."+first, "x")
	(<-ch).Ack() // its Flush waits for release
	last := publish(t, b, "tool.result."+second, "x")
	msg := <-ch
	closed := make(chan error)
	go func() { closed <- s.Close() }()
	<-msg.Context().Done() // Close has begun
	msg.Ack()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range ch {
			t.Error("a message after Close")
		}
		lanes.mu.Lock()
		defer lanes.mu.Unlock()
		if lanes.positions["p0"] != last-1 || lanes.positions["p1"] != last {
			t.Errorf("output closed at positions %v", lanes.positions)
		}
	}()
	for range 10_000 { // a chance to fail
		runtime.Gosched()
	}
	close(lanes.release)
	require.NoError(t, <-closed)
	<-done
}

// slowLanes is a store whose disk hangs until released.
type slowLanes struct {
	*memoryLanes
	release chan struct{}
}

func (l *slowLanes) Flush(ctx context.Context, lane string, last uint64, by Mark) error {
	<-l.release
	return l.memoryLanes.Flush(ctx, lane, last, by)
}

// A message whose arrival triggered a failing request must not be lost with the consumer.
func TestMessageBeforeABrokenRequest(t *testing.T) {
	b := provisioned(t, 1)
	publish(t, b, "tool.result.t", "x")
	nc, err := nats.Connect("", nats.InProcessServer(b.server.srv))
	require.NoError(t, err)
	js, err := jetstream.New(nc)
	require.NoError(t, err)

	f := unstarted(t, &Broker{nc: nc, js: js}, newMemoryLanes(PartitionLane(0)))
	require.NoError(t, f.pull.open(testContext(t)))
	m, err := f.pull.receive(testContext(t), f.online)
	require.NoError(t, err)
	f.pull.credit = 0 // the message is the last of its request
	f.pull.in <- m
	nc.Close()
	require.ErrorIs(t, f.step(testContext(t)), nats.ErrConnectionClosed)
	require.Len(t, f.lanes[0].queue, 1)
}
