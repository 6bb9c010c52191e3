package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// All consume b.N events of 256 bytes, spread over 1,000 threads, 16 partitions
// and three topics, from a broker in this process. Run them together:
//
//	go test -run '^$' -bench Consume -benchtime 200000x ./internal/broker
func benchBroker(b *testing.B) *Broker {
	b.Helper()
	broker := provisioned(b, 16)
	p, err := NewPublisher(broker.Conn(), PublisherConfig{})
	require.NoError(b, err)
	defer p.Close()
	body := make([]byte, 256)
	msgs := make([]*nats.Msg, 0, b.N)
	for i := range b.N {
		msgs = append(msgs, &nats.Msg{Subject: fmt.Sprintf("%s.t%d", eventTopics[i%3], i%1000), Data: body})
	}
	for _, a := range p.PublishBatch(context.Background(), msgs) {
		require.NoError(b, a.Err)
	}
	return broker
}

// meter starts the clock. The report includes the CPU time of the whole process, broker included, per event: unlike
// events/s that figure holds on a busy machine.
func meter(b *testing.B) (report func()) {
	b.ResetTimer()
	before := processorTime(b)
	return func() {
		b.StopTimer()
		used := processorTime(b) - before
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
		b.ReportMetric(float64(used.Nanoseconds())/float64(b.N), "cpu-ns/event")
		b.ReportMetric(0, "ns/op")
	}
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// The production setup: Router, three no-op handlers, 17 lanes, deferred durability
// (without the disk: Flush only records the position).
func BenchmarkConsumeRouter(b *testing.B) {
	broker := benchBroker(b)
	lanes := &benchLanes{list: allLanes(16)}
	sub, err := NewSubscriber(broker.JetStream(), SubscriberConfig{Stream: StreamEvents, Topic: eventTopic, Lanes: lanes})
	require.NoError(b, err)
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
	require.NoError(b, err)
	var n atomic.Int64
	done := make(chan struct{})
	for _, topic := range eventTopics {
		router.AddConsumerHandler(topic, topic, sub, func(*message.Message) error {
			if n.Add(1) == int64(b.N) {
				close(done)
			}
			return nil
		})
	}
	report := meter(b)
	go func() { _ = router.Run(context.Background()) }()
	<-done
	report()
	b.ReportMetric(float64(b.N)/float64(max(lanes.flushes.Load(), 1)), "events/flush")
	require.NoError(b, router.Close())
	require.NoError(b, sub.Close())
}

// benchLanes is a store without cost.
type benchLanes struct {
	list    []Lane
	flushes atomic.Int64
}

func (l *benchLanes) List() []Lane                                      { return l.list }
func (l *benchLanes) Position(string) (uint64, Mark, error)             { return 0, Mark{}, nil }
func (l *benchLanes) Flush(context.Context, string, uint64, Mark) error { l.flushes.Add(1); return nil }
func (l *benchLanes) Turns(string) <-chan func()                        { return nil }
func (l *benchLanes) Reached(string, uint64, Mark)                      {}

// The subscriber without the Router.
func BenchmarkConsumeSubscriber(b *testing.B) {
	broker := benchBroker(b)
	lanes := &benchLanes{list: allLanes(16)}
	sub, err := NewSubscriber(broker.JetStream(), SubscriberConfig{Stream: StreamEvents, Topic: eventTopic, Lanes: lanes})
	require.NoError(b, err)
	var n atomic.Int64
	done := make(chan struct{})
	report := meter(b)
	for _, topic := range eventTopics {
		ch, err := sub.Subscribe(context.Background(), topic)
		require.NoError(b, err)
		go func() {
			for m := range ch {
				m.Ack()
				if n.Add(1) == int64(b.N) {
					close(done)
				}
			}
		}()
	}
	<-done
	report()
	require.NoError(b, sub.Close())
}

// Reading the log with Scan: the lower bound for a rebuild.
func BenchmarkConsumeScan(b *testing.B) {
	broker := benchBroker(b)
	n := 0
	report := meter(b)
	err := NewLogReader(broker.JetStream(), StreamEvents).Scan(context.Background(), 1, nil, func(Stored) error { n++; return nil }, nil)
	require.NoError(b, err)
	report()
	require.Equal(b, b.N, n)
}

// Yardstick: nats.go's pull consumer, many in flight, asynchronous acks.
func BenchmarkConsumeRawPull(b *testing.B) {
	broker := benchBroker(b)
	c, err := broker.JetStream().CreateOrUpdateConsumer(context.Background(), StreamEvents, jetstream.ConsumerConfig{
		Durable: "raw", AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 10_000,
	})
	require.NoError(b, err)
	report := meter(b)
	it, err := c.Messages(jetstream.PullMaxMessages(2048))
	require.NoError(b, err)
	for range b.N {
		m, err := it.Next()
		if err == nil {
			err = m.Ack()
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	report()
	it.Stop()
}

// Yardstick: nats.go's ordered consumer, no acks.
func BenchmarkConsumeRawOrdered(b *testing.B) {
	broker := benchBroker(b)
	c, err := broker.JetStream().OrderedConsumer(context.Background(), StreamEvents, jetstream.OrderedConsumerConfig{})
	require.NoError(b, err)
	report := meter(b)
	it, err := c.Messages(jetstream.PullMaxMessages(2048))
	require.NoError(b, err)
	for range b.N {
		if _, err := it.Next(); err != nil {
			b.Fatal(err)
		}
	}
	report()
	it.Stop()
}

// Yardstick: one message in flight, and a synchronous ack for each.
func BenchmarkConsumeSyncAck(b *testing.B) {
	broker := benchBroker(b)
	c, err := broker.JetStream().CreateOrUpdateConsumer(context.Background(), StreamEvents, jetstream.ConsumerConfig{
		Durable: "sync", AckPolicy: jetstream.AckExplicitPolicy, AckWait: time.Minute,
	})
	require.NoError(b, err)
	report := meter(b)
	it, err := c.Messages(jetstream.PullMaxMessages(512))
	require.NoError(b, err)
	for range b.N {
		m, err := it.Next()
		err = errors.Join(err, m.DoubleAck(context.Background()))
		if err != nil {
			b.Fatal(err)
		}
	}
	report()
	it.Stop()
}

// Publishing with every write synced, the embedded server's default: the upper bound for an outbox on this disk.
func BenchmarkPublishSynced(b *testing.B) {
	publishSynced(b, func(p *Publisher, msgs []*nats.Msg) []Ack { return p.PublishBatch(context.Background(), msgs) })
}

func BenchmarkPublishSyncedAtomic(b *testing.B) {
	publishSynced(b, func(p *Publisher, msgs []*nats.Msg) []Ack { return p.PublishAtomic(context.Background(), msgs) })
}

func publishSynced(b *testing.B, publish func(*Publisher, []*nats.Msg) []Ack) {
	broker := provisioned(b, 16, func(o *Options) { o.Sync = SyncAlways })
	p, err := NewPublisher(broker.Conn(), PublisherConfig{})
	require.NoError(b, err)
	defer p.Close()
	msgs := make([]*nats.Msg, b.N)
	for i := range msgs {
		msgs[i] = &nats.Msg{Subject: fmt.Sprintf("summary.created.t%d", i%1000), Data: make([]byte, 1024), Header: nats.Header{nats.MsgIdHdr: {fmt.Sprint(i)}}}
	}
	report := meter(b)
	for batch := range slices.Chunk(msgs, 100) {
		for _, a := range publish(p, batch) {
			require.NoError(b, a.Err)
		}
	}
	report()
}
