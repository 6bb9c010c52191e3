package broker

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"
)

func TestReachedOncePerLane(t *testing.T) {
	for name, backlog := range map[string]int{"empty stream": 0, "backlog": 500} {
		t.Run(name, func(t *testing.T) {
			b := provisioned(t, 4)
			for i := range backlog {
				publish(t, b, fmt.Sprintf("tool.result.t%d", i%17), "x")
			}
			lanes := newMemoryLanes(allLanes(4)...)
			c := collect(t, newSubscriber(t, b, lanes), nil)
			lanes.await(t, "every lane has caught up", func() bool { return caughtUp(lanes) })
			require.Len(t, c.await(t, backlog), backlog, "reached before everything was delivered")
			publish(t, b, "tool.result.t", "later")
			c.await(t, backlog+1)
			for lane, times := range lanes.reached {
				require.Equal(t, 1, times, lane)
			}
		})
	}
}

// When a lane reports that it has caught up, all of the backlog is flushed.
func TestReachedComesAfterTheFlush(t *testing.T) {
	b := provisioned(t, 1)
	var last uint64
	for i := range 700 { // one full batch and a part of one
		last = publish(t, b, "tool.result.t", fmt.Sprint(i))
	}
	lanes := newMemoryLanes(allLanes(1)...)
	collect(t, newSubscriber(t, b, lanes), nil)
	lanes.await(t, "lane p0 has caught up", func() bool {
		if lanes.reached["p0"] > 0 {
			require.Equal(t, last, lanes.positions["p0"])
			return true
		}
		return false
	})
}

func TestBatchesAreBoundedAndFewUnderLoad(t *testing.T) {
	b := provisioned(t, 1)
	const events = 2000
	for i := range events {
		publish(t, b, "tool.result.t", fmt.Sprint(i))
	}
	lanes := newMemoryLanes(PartitionLane(0))
	s := newSubscriber(t, b, lanes, func(c *SubscriberConfig) { c.BatchMessages = 100 })
	collect(t, s, nil).await(t, events)
	lanes.await(t, "all is durable", func() bool { return lanes.positions["p0"] == events })
	require.GreaterOrEqual(t, len(lanes.flushes), events/100)
	require.Less(t, len(lanes.flushes), events/4, "flushed nearly one by one")
}

// A nacked message is handed out again, before any other, until it is acked.
func TestNackHandsOutTheSameMessage(t *testing.T) {
	b := provisioned(t, 1)
	for i := range 3 {
		publish(t, b, "tool.result.t", fmt.Sprint(i))
	}
	lanes := newMemoryLanes(allLanes(1)...)
	s := newSubscriber(t, b, lanes, func(c *SubscriberConfig) { c.RetryWait = 1 })
	ch, err := s.Subscribe(context.Background(), "tool.result")
	require.NoError(t, err)
	var got []string
	for range 6 {
		msg := <-ch
		got = append(got, string(msg.Payload))
		require.Empty(t, msg.Metadata.Get("again"), "an attempt shows in the next one")
		msg.Metadata.Set("again", "x")
		if len(got) == 2 || len(got)%3 == 0 {
			msg.Ack()
		} else {
			msg.Nack()
		}
	}
	require.Equal(t, []string{"0", "0", "1", "2", "2", "2"}, got)
}

// A message on a topic without a subscriber blocks its lane until one subscribes.
func TestMessageWaitsForItsSubscriber(t *testing.T) {
	b := provisioned(t, 1)
	publish(t, b, "tool.result.t", "first")
	publish(t, b, "thread.message.t", "second")
	lanes := newMemoryLanes(PartitionLane(0))
	s := newSubscriber(t, b, lanes)
	ch, err := s.Subscribe(context.Background(), "tool.result")
	require.NoError(t, err)
	(<-ch).Ack()
	lanes.await(t, "what was acked is durable though the next one waits", func() bool { return lanes.positions["p0"] == 1 })
	ch, err = s.Subscribe(context.Background(), "thread.message")
	require.NoError(t, err)
	msg := <-ch
	require.Equal(t, "second", string(msg.Payload))
	msg.Ack()
	lanes.await(t, "the second is durable", func() bool { return lanes.positions["p0"] == 2 })
}

// Turns run when a lane is idle or between messages, never during a handler; their
// effects are flushed.
func TestTurnsRunBetweenMessages(t *testing.T) {
	b := provisioned(t, 1)
	lanes := newMemoryLanes(PartitionLane(0))
	var inFlight, turns atomic.Int64
	collect(t, newSubscriber(t, b, lanes), func(*message.Message) {
		require.EqualValues(t, 1, inFlight.Add(1))
		inFlight.Add(-1)
	})
	turn := func() {
		require.EqualValues(t, 0, inFlight.Load())
		turns.Add(1)
	}
	lanes.turns <- turn
	lanes.await(t, "the turn of an idle lane is flushed", func() bool { return len(lanes.flushes) > 0 })
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 200 {
			lanes.turns <- turn
		}
	}()
	for i := range 200 {
		publish(t, b, "tool.result.t", fmt.Sprint(i))
	}
	<-done
	lanes.await(t, "all events are durable", func() bool { return lanes.positions["p0"] == 200 })
	require.EqualValues(t, 201, turns.Load())
}

// A lane whose queue is never empty runs as many turns as messages, also where topics alternate and where hands are long.
func TestTurnsRunBetweenHands(t *testing.T) {
	for name, topics := range map[string][]string{
		"topics alternate": {"tool.result.t", "thread.message.t"}, "one topic": {"tool.result.t"},
	} {
		t.Run(name, func(t *testing.T) {
			b := provisioned(t, 1)
			const messages, turns = 1500, 64
			for i := range messages {
				publish(t, b, topics[i%len(topics)], fmt.Sprint(i))
			}
			lanes := newMemoryLanes(PartitionLane(0))
			lanes.turns = make(chan func(), turns)
			var handled atomic.Int64
			var ran []int64
			s := newSubscriber(t, b, lanes, func(c *SubscriberConfig) { c.HandMessages = 64 })
			collect(t, s, func(msg *message.Message) {
				if handled.Add(int64(HandSize(msg))) == int64(HandSize(msg)) {
					for range turns {
						lanes.turns <- func() { ran = append(ran, handled.Load()) }
					}
				}
			})
			lanes.await(t, "all events are durable", func() bool { return lanes.positions["p0"] == messages })
			require.Len(t, ran, turns)
			require.Less(t, ran[turns-1], int64(4*turns))
		})
	}
}

// Turns also run while a lane waits for a subscriber or for a retry.
func TestTurnsRunWhileWaiting(t *testing.T) {
	b := provisioned(t, 1)
	publish(t, b, "tool.result.t", "x")
	lanes := newMemoryLanes(PartitionLane(0))
	s := newSubscriber(t, b, lanes, func(c *SubscriberConfig) { c.RetryWait, c.RetryMaxWait = patience, patience })
	_, err := s.Subscribe(context.Background(), "message.edited")
	require.NoError(t, err)
	ran := make(chan struct{})
	turn := func() { ran <- struct{}{} }
	lanes.turns <- turn // tool.result has no subscriber yet
	<-ran
	ch, err := s.Subscribe(context.Background(), "tool.result")
	require.NoError(t, err)
	(<-ch).Nack()
	lanes.turns <- turn // the retry is half a minute away
	<-ran
}

// An idle lane's position follows the stream, so that a restart does not reread what
// the others have passed.
func TestIdleLanesAdvance(t *testing.T) {
	b := provisioned(t, 1)
	p, err := NewPublisher(b.Conn(), PublisherConfig{})
	require.NoError(t, err)
	defer p.Close()
	lanes := newMemoryLanes(allLanes(1)...)
	collect(t, newSubscriber(t, b, lanes), nil)
	for _, a := range p.PublishBatch(testContext(t), eventBatch(advanceEvery+100)) {
		require.NoError(t, a.Err)
	}
	lanes.await(t, "the strays have advanced", func() bool { return lanes.positions["strays"] >= advanceEvery })
	lanes.await(t, "p0 is done", func() bool { return lanes.positions["p0"] == advanceEvery+100 })
	require.LessOrEqual(t, lanes.positions["strays"], lanes.positions["p0"])
}

// Lanes start after their own positions, although one feed reads for all.
func TestEachLaneStartsBehindItsPosition(t *testing.T) {
	b := provisioned(t, 4)
	const events = 200
	for i := range events {
		publish(t, b, fmt.Sprintf("tool.result.t%d", i%17), "x")
	}
	lanes := newMemoryLanes(allLanes(4)...)
	for i := range 4 {
		lanes.positions[fmt.Sprintf("p%d", i)] = uint64(40 * i)
	}
	c := collect(t, newSubscriber(t, b, lanes), nil)
	lanes.await(t, "all lanes have caught up", func() bool { return caughtUp(lanes) })
	for _, d := range c.await(t, 1) {
		var p uint64
		_, err := fmt.Sscanf(d.Lane, "p%d", &p)
		require.NoError(t, err)
		require.Greater(t, d.Seq, 40*p)
	}
}

// Queued messages are bounded by bytes, and a message larger than any bound still arrives.
func TestLargeMessagesAreBounded(t *testing.T) {
	b := provisioned(t, 2)
	const size, events = 1 << 20, 30
	big := bytes.Repeat([]byte("x"), size)
	huge := bytes.Repeat([]byte("y"), MaxPayload-1024)
	for i := range events {
		publish(t, b, fmt.Sprintf("tool.result.t%d", i%5), string(big))
	}
	publish(t, b, "tool.result.t0", string(huge))
	s := newSubscriber(t, b, newMemoryLanes(allLanes(2)...), func(c *SubscriberConfig) { c.PrefetchBytes = 4 * size })
	ch, err := s.Subscribe(context.Background(), "tool.result")
	require.NoError(t, err)
	seen := 0
	for msg := range ch {
		require.LessOrEqual(t, s.feed.buffered.Load(), int64(4*size))
		require.LessOrEqual(t, len(s.feed.pull.in), 2*feedBytes/size+2)
		seen += len(msg.Payload)
		msg.Ack()
		if seen == events*size+len(huge) {
			break
		}
	}
	require.Equal(t, events*size+len(huge), seen)
}

func TestHandlerStuckAtClose(t *testing.T) {
	b := provisioned(t, 1)
	publish(t, b, "tool.result.t", "a")
	publish(t, b, "tool.result.t", "b")
	lanes := newMemoryLanes(PartitionLane(0))
	s := newSubscriber(t, b, lanes, func(c *SubscriberConfig) { c.CloseTimeout = 1 })
	ch, err := s.Subscribe(context.Background(), "tool.result")
	require.NoError(t, err)
	msg := <-ch
	require.NoError(t, s.Close())
	require.ErrorIs(t, s.Err(), ErrHandlerStuck)
	require.Error(t, msg.Context().Err())
	_, open := <-ch
	require.False(t, open)
	require.Zero(t, lanes.positions["p0"], "a batch was flushed under a running handler")
}
