package processor_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"precis/internal/broker"
	"precis/internal/config"
	"precis/internal/processor"
)

// The whole path against its yardstick, on the same log of 256-byte events, in the same process:
//
//	go test -run '^$' -bench WholePath -benchtime 300000x ./internal/processor
//
// What an event costs in processor time, the broker's share included, holds on a busy machine too.
// internal/broker/yardstick has the comparison with watermill-nats.
func BenchmarkWholePath(b *testing.B) {
	for _, way := range []struct {
		name string
		run  func(*testing.B, *broker.Broker, *config.Config) func()
	}{
		{"precis", benchProcessor(math.MaxUint64)},
		{"bulk", benchProcessor(1)}, // what a rebuild does in the place of the router and the lanes
		{"raw", benchRaw},
	} {
		b.Run(way.name, func(b *testing.B) {
			c := settings(b)
			c.Policies[0].Tokenizer = "estimate"
			br := openBroker(b, b.TempDir())
			fillLog(b, br, c, b.N)
			run := way.run(b, br, c)
			report := meter(b)
			run()
			report(b.N)
		})
	}
}

// fillLog makes the streams and publishes n events of 256 bytes, to so many threads that none is long enough
// for a compaction.
func fillLog(b *testing.B, br *broker.Broker, c *config.Config, n int) {
	b.Helper()
	if _, err := broker.Provision(b.Context(), br.JetStream(), broker.StreamSpec{Partitions: c.Partitions}); err != nil {
		b.Fatal(err)
	}
	pub, err := broker.NewPublisher(br.Conn(), broker.PublisherConfig{})
	if err != nil {
		b.Fatal(err)
	}
	defer pub.Close()
	threads := max(1000, n/150)
	for from := 0; from < n; from += 10_000 {
		var msgs []*nats.Msg
		for i := from; i < min(n, from+10_000); i++ {
			msgs = append(msgs, &nats.Msg{Subject: fmt.Sprintf("thread.message.t%d", i%threads), Data: benchEvent(i)})
		}
		for _, ack := range pub.PublishBatch(context.Background(), msgs) {
			if ack.Err != nil {
				b.Fatal(ack.Err)
			}
		}
	}
}

// benchEvent is an event whose body has 256 bytes.
func benchEvent(i int) []byte {
	body := fmt.Sprintf(`{"message_id":"m%d","role":"user","content":"`, i)
	return []byte(body + strings.Repeat("some words ", 30)[:256-len(body)-2] + `"}`)
}

func benchProcessor(bulkFrom uint64) func(*testing.B, *broker.Broker, *config.Config) func() {
	return func(b *testing.B, br *broker.Broker, c *config.Config) func() {
		p, err := processor.Open(b.Context(), processor.Options{Config: c, Logger: zerolog.Nop(), Broker: br, BulkFrom: bulkFrom})
		if err != nil {
			b.Fatal(err)
		}
		ctx, stop := context.WithCancel(b.Context())
		ran := make(chan error, 1)
		b.Cleanup(func() {
			stop()
			if err := <-ran; err != nil {
				b.Error(err)
			}
			if err := p.Close(context.Background()); err != nil {
				b.Error(err)
			}
		})
		return func() {
			go func() { ran <- p.Run(ctx) }()
			if err := p.Settled(ctx); err != nil {
				b.Error(err)
			}
			b.ReportMetric(float64(b.N)/float64(p.Commits()), "events/commit")
		}
	}
}

// benchRaw is what the design is measured by: a pull, and one synced Pebble batch for 512 events.
func benchRaw(b *testing.B, br *broker.Broker, c *config.Config) func() {
	consumer, err := br.JetStream().OrderedConsumer(b.Context(), broker.StreamEvents, jetstream.OrderedConsumerConfig{})
	if err != nil {
		b.Fatal(err)
	}
	db, err := pebble.Open(b.TempDir(), &pebble.Options{Logger: quiet{}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	return func() {
		it, err := consumer.Messages(jetstream.PullMaxMessages(2048))
		if err != nil {
			b.Fatal(err)
		}
		defer it.Stop()
		batch := db.NewBatch()
		for i := range b.N {
			m, err := it.Next()
			if err == nil {
				err = batch.Set([]byte(m.Subject()+fmt.Sprint(i)), m.Data(), nil)
			}
			if err == nil && (i%512 == 511 || i == b.N-1) {
				err = batch.Commit(pebble.Sync)
				batch = db.NewBatch()
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

type quiet struct{}

func (quiet) Infof(string, ...any)         {}
func (quiet) Errorf(string, ...any)        {}
func (quiet) Fatalf(f string, args ...any) { panic(fmt.Sprintf(f, args...)) }

// meter starts the clock; report stops it and says what each of so many events cost.
func meter(b *testing.B) (report func(events int)) {
	b.ResetTimer()
	before := processorTime(b)
	return func(events int) {
		b.StopTimer()
		used := processorTime(b) - before
		b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
		b.ReportMetric(float64(used.Nanoseconds())/float64(events), "cpu-ns/event")
		b.ReportMetric(0, "ns/op")
	}
}

func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
