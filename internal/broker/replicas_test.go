package broker

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"precis/internal/broker/brokertest"
)

const (
	heldMessages = 100                // what the lagging replica has
	heldBehind   = advanceEvery + 100 // and what it lacks: idle lanes flush after that many
)

// One of three replicas lags. A reader whose consumer is placed on it has nothing
// pending and nothing to deliver, although the log holds more: that is not the end.
func TestReplicaThatLags(t *testing.T) {
	c := brokertest.StartCluster(t)
	b := openBroker(t, func(o *Options) { o.URL = c.URL() })
	_, err := Provision(testContext(t), b.JetStream(), StreamSpec{Partitions: 4, Replicas: 3})
	require.NoError(t, err)
	p, err := NewPublisher(b.Conn(), PublisherConfig{})
	require.NoError(t, err)
	defer p.Close()
	put := func(n int) {
		for _, a := range p.PublishBatch(testContext(t), eventBatch(n)) {
			require.NoError(t, a.Err)
		}
	}
	put(heldMessages)
	c.HoldBack(t, b.Conn(), StreamEvents)
	put(heldBehind)
	placement(t, b)

	r := NewLogReader(b.JetStream(), StreamEvents)
	for range 30 { // any replica may answer
		m, err := r.Get(testContext(t), heldMessages+heldBehind)
		require.NoError(t, err)
		require.EqualValues(t, heldMessages+heldBehind, m.Seq)
	}
	_, err = r.Get(testContext(t), heldMessages+heldBehind+1)
	require.ErrorIs(t, err, ErrGone)

	whole := onHeld(t, b, func(t *testing.T) *reading { return scanning(t, r, nil) })
	filtered := onHeld(t, b, func(t *testing.T) *reading {
		return scanning(t, r, []string{"*.tool.result.*", "*.thread.message.*", "*.message.edited.*"})
	})
	lanes := onHeld(t, b, func(t *testing.T) *reading { return consuming(t, b) })
	lanes.waitFor(t, lanes.rested)
	c.Release()
	for name, r := range map[string]*reading{"scan": whole, "filtered scan": filtered, "lanes": lanes} {
		r.waitFor(t, r.all)
		require.Equal(t, heldMessages+heldBehind, r.count(), name)
	}

	spec := StreamSpec{Partitions: 4}
	reports, err := CompareStreams(testContext(t), b.JetStream(), spec)
	require.NoError(t, err)
	require.Empty(t, reports[0].Differences) // any number is as configured
	spec.Replicas = 1
	streams, err := Provision(testContext(t), b.JetStream(), spec)
	require.NoError(t, err)
	require.Len(t, streams.Differences[StreamEvents], 1)
	reports, err = ApplyStreams(testContext(t), b.JetStream(), spec)
	require.NoError(t, err)
	for _, r := range reports {
		require.Empty(t, r.Differences)
		require.Equal(t, 1, r.Replicas)
	}
}

// placement checks where EVENTS is said to be, while one replica is held back.
func placement(t *testing.T, b *Broker) {
	t.Helper()
	reports, err := CompareStreams(testContext(t), b.JetStream(), StreamSpec{Partitions: 4, Replicas: 3})
	require.NoError(t, err)
	r := reports[0]
	require.Empty(t, r.Differences)
	require.Equal(t, 3, r.Replicas)
	require.NotContains(t, []string{"", brokertest.Held}, r.Leader)
	require.Len(t, r.Followers, 2)
	for _, f := range r.Followers {
		require.False(t, f.Offline)
		if f.Server == brokertest.Held {
			require.NotZero(t, f.Lag)
		}
	}
}

// reading is a reader of EVENTS.
type reading struct {
	mu     sync.Mutex
	read   int
	known  chan struct{} // closed when it has read what the replica holds
	all    chan struct{} // and everything
	rested chan struct{} // it reports that it waits
	failed chan struct{} // closed when it has mistaken a rest for the end
	once   sync.Once
	stop   func()
}

func newReading(stop func()) *reading {
	return &reading{
		known: make(chan struct{}), all: make(chan struct{}), rested: make(chan struct{}, 1), failed: make(chan struct{}), stop: stop,
	}
}

func (r *reading) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.read
}

func (r *reading) add() {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch r.read++; r.read {
	case heldMessages:
		close(r.known)
	case heldMessages + heldBehind:
		close(r.all)
	}
}

func (r *reading) fail() { r.once.Do(func() { close(r.failed) }) }

func (r *reading) rest() {
	select {
	case r.rested <- struct{}{}:
	default:
	}
}

func (r *reading) waitFor(t *testing.T, what <-chan struct{}) {
	t.Helper()
	select {
	case <-what:
	case <-r.failed:
		t.FailNow()
	case <-time.After(4 * patience): // three servers and their logs, on a machine that may be busy
		t.Fatalf("timed out after %d messages", r.count())
	}
}

// onHeld starts readers until the server places the consumer of one on the lagging replica.
func onHeld(t *testing.T, b *Broker, start func(t *testing.T) *reading) *reading {
	t.Helper()
	for range 50 {
		before, err := brokertest.OnHeld(testContext(t), b.JetStream(), StreamEvents)
		require.NoError(t, err)
		r := start(t)
		r.waitFor(t, r.known)
		after, err := brokertest.OnHeld(testContext(t), b.JetStream(), StreamEvents)
		require.NoError(t, err)
		if after > before {
			return r
		}
		r.stop()
	}
	t.Fatal("no consumer was placed on the replica that lags")
	return nil
}

func scanning(t *testing.T, log *LogReader, filters []string) *reading {
	ctx, stop := context.WithCancel(t.Context())
	r := newReading(stop)
	go func() {
		err := log.Scan(ctx, 1, filters, func(Stored) error { r.add(); return nil }, nil)
		if n := r.count(); ctx.Err() == nil && (err != nil || n < heldMessages+heldBehind) {
			t.Errorf("scan ended after %d messages: %v", n, err)
			r.fail()
		}
	}()
	return r
}

func consuming(t *testing.T, b *Broker) *reading {
	lanes := &heldLanes{memoryLanes: newMemoryLanes(allLanes(4)...)}
	var r *reading
	s := newSubscriber(t, b, lanes, func(cfg *SubscriberConfig) {
		cfg.Logger = zerolog.New(zerolog.NewTestWriter(t)).Hook(zerolog.HookFunc(func(_ *zerolog.Event, _ zerolog.Level, said string) {
			if strings.HasPrefix(said, "delivery rests") {
				r.rest()
			}
		}))
	})
	r = newReading(func() { require.NoError(t, s.Close()) })
	lanes.t, lanes.reading = t, r
	collect(t, s, func(*message.Message) { r.add() })
	return r
}

// heldLanes detects a position beyond what the replica has delivered.
type heldLanes struct {
	*memoryLanes
	t       *testing.T
	reading *reading
}

func (l *heldLanes) Flush(ctx context.Context, lane string, last uint64, by Mark) error {
	if n := l.reading.count(); n <= heldMessages && last > heldMessages {
		l.t.Errorf("lane %s flushed position %d, %d messages were delivered", lane, last, n)
		l.reading.fail()
	}
	return l.memoryLanes.Flush(ctx, lane, last, by)
}
