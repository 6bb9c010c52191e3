// Package yardstick measures this project's Subscriber against watermill-nats,
// whose dependencies stay out of the product's: it is a module of its own.
//
//	cd internal/broker/yardstick && go test -bench . -benchtime 50000x
//
// Both consume b.N events of 256 bytes through a Watermill Router with a handler
// that does nothing, from one broker in this process; watermill-nats over
// loopback, since it opens its connection itself.
package yardstick

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	wmnats "github.com/ThreeDotsLabs/watermill-nats/v2/pkg/nats"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"precis/internal/broker"
)

var topics = []string{"tool.result", "thread.message", "message.edited", "thread.forked"}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// filled is a broker with b.N events in it.
func filled(b *testing.B) *broker.Broker {
	b.Helper()
	ctx := context.Background()
	br, err := broker.Open(ctx, broker.Options{StoreDir: filepath.Join(b.TempDir(), "nats"), Sync: "1m", Listen: "127.0.0.1:0", Logger: zerolog.Nop()})
	must(b, err)
	b.Cleanup(func() { must(b, br.Close(ctx)) })
	_, err = broker.Provision(ctx, br.JetStream(), broker.StreamSpec{Partitions: 16})
	must(b, err)
	p, err := broker.NewPublisher(br.Conn(), broker.PublisherConfig{})
	must(b, err)
	defer p.Close()
	body := make([]byte, 256)
	msgs := make([]*nats.Msg, b.N)
	for i := range msgs {
		msgs[i] = &nats.Msg{Subject: fmt.Sprintf("%s.t%d", topics[i%3], i%1000), Data: body}
	}
	for _, a := range p.PublishBatch(ctx, msgs) {
		must(b, a.Err)
	}
	return br
}

// route runs a Router over sub until it has handled b.N events.
func route(b *testing.B, sub message.Subscriber, subscribe func(topic string) string) {
	b.Helper()
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
	must(b, err)
	var n atomic.Int64
	done := make(chan struct{})
	for _, t := range topics {
		router.AddConsumerHandler(t, subscribe(t), sub, func(*message.Message) error {
			if n.Add(1) == int64(b.N) {
				close(done)
			}
			return nil
		})
	}
	b.ResetTimer()
	before := processorTime(b)
	ran := make(chan error, 1)
	go func() { ran <- router.Run(context.Background()) }()
	select {
	case <-done:
	case err := <-ran:
		b.Fatal("router stopped: ", err)
	}
	b.StopTimer()
	b.ReportMetric(float64(processorTime(b)-before)/float64(b.N), "cpu-ns/event")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(0, "ns/op")
	must(b, router.Close())
	must(b, sub.Close())
}

// processorTime is what this process has used, broker and all: unlike events/s it
// holds on a busy machine.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkPrecis is the product's Subscriber with 16 partitions and the strays.
func BenchmarkPrecis(b *testing.B) {
	br := filled(b)
	list := []broker.Lane{broker.StrayLane()}
	for p := range 16 {
		list = append(list, broker.PartitionLane(p))
	}
	sub, err := broker.NewSubscriber(br.JetStream(), broker.SubscriberConfig{
		Stream: broker.StreamEvents, Lanes: lanes(list),
		Topic: func(s string) string { t := strings.Split(s, "."); return t[1] + "." + t[2] },
	})
	must(b, err)
	route(b, sub, func(t string) string { return t })
}

// lanes is a store that costs nothing.
type lanes []broker.Lane

func (l lanes) List() []broker.Lane                       { return l }
func (lanes) Position(string) (uint64, error)             { return 0, nil }
func (lanes) Flush(context.Context, string, uint64) error { return nil }
func (lanes) Turns(string) <-chan func()                  { return nil }
func (lanes) Reached(string)                              {}

// BenchmarkWatermillNATS is watermill-nats as it comes: durable consumers with
// explicit acks, each waited for.
func BenchmarkWatermillNATS(b *testing.B) { watermillNATS(b, false) }

// BenchmarkWatermillNATSAsyncAck does not wait for its acks.
func BenchmarkWatermillNATSAsyncAck(b *testing.B) { watermillNATS(b, true) }

func watermillNATS(b *testing.B, async bool) {
	br := filled(b)
	sub, err := wmnats.NewSubscriber(wmnats.SubscriberConfig{
		URL:            br.URL(),
		NatsOptions:    []nats.Option{nats.MaxReconnects(-1)},
		Unmarshaler:    plain{},
		AckWaitTimeout: time.Minute,
		CloseTimeout:   time.Minute,
		SubjectCalculator: func(_, topic string) *wmnats.SubjectDetail {
			return &wmnats.SubjectDetail{Primary: "*." + topic + ".*"}
		},
		JetStream: wmnats.JetStreamConfig{
			AutoProvision: false,
			DurablePrefix: "wm",
			DurableCalculator: func(prefix, topic string) string {
				return prefix + strings.NewReplacer(".", "-", "*", "").Replace(topic)
			},
			SubscribeOptions: []nats.SubOpt{nats.BindStream(broker.StreamEvents), nats.DeliverAll(), nats.AckExplicit()},
			AckAsync:         async,
		},
	}, watermill.NopLogger{})
	must(b, err)
	route(b, sub, func(t string) string { return t })
}

// plain makes a Watermill message of an event that Watermill did not publish.
type plain struct{}

func (plain) Unmarshal(m *nats.Msg) (*message.Message, error) {
	return message.NewMessage(m.Reply, m.Data), nil
}
