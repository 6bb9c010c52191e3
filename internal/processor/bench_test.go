package processor_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
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
	"precis/summarize/tokens"
)

// The whole path against its yardstick, a consumer that does nothing but count, on the same log, in the same run, on a
// nats-server in a process of its own:
//
//	go test -run '^$' -bench WholePath -benchtime 200000x ./internal/processor
//
// What an event costs in processor time, of this process alone, holds on a busy machine too. raw is the yardstick: a
// counter per subject, and one synced Pebble batch for what is there. live goes through the router and the lanes, bulk is
// how a start that is far behind takes the same log.
// internal/broker/yardstick has the comparison with watermill-nats.
func BenchmarkWholePath(b *testing.B) {
	for _, events := range []struct {
		bytes     int
		tokenizer string
	}{
		{256, tokens.Estimate}, {256, tokens.O200k}, {2048, tokens.Estimate}, {2048, tokens.O200k},
	} {
		for _, way := range []struct {
			name string
			run  func(*testing.B, *broker.Broker, *config.Config) func()
		}{
			{"raw", benchRaw}, {"live", benchProcessor(math.MaxUint64, false)}, {"listed", benchProcessor(math.MaxUint64, true)}, {"bulk", benchProcessor(1, false)},
		} {
			b.Run(fmt.Sprintf("%dB/%s/%s", events.bytes, events.tokenizer, way.name), func(b *testing.B) {
				br, c := openServer(b), settings(b)
				c.Policies[0].Tokenizer = events.tokenizer
				c.NATS.URL = br.Conn().ConnectedUrl() // it bounds what a bulk holds in memory
				fillLog(b, br, c, b.N, events.bytes)
				if counter, err := tokens.For(events.tokenizer); err != nil || counter.Count("it loads its vocabulary") == 0 {
					b.Fatal(err)
				}
				run := way.run(b, br, c)
				runtime.GC() // what the publisher has left
				report := meter(b)
				run()
				report(b.N)
			})
		}
	}
}

// natsServer is where the server was built, once for all benchmarks.
var natsServer = sync.OnceValues(func() (string, error) {
	path := filepath.Join(os.TempDir(), fmt.Sprintf("precis-bench-nats-server-%d", os.Getuid()))
	out, err := exec.Command("go", "build", "-o", path, "github.com/nats-io/nats-server/v2").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build nats-server: %w: %s", err, out)
	}
	return path, nil
})

// openServer starts a nats-server in a process of its own and connects to it.
func openServer(b *testing.B) *broker.Broker {
	b.Helper()
	path, err := natsServer()
	if err != nil {
		b.Fatal(err)
	}
	server := exec.Command(path, "-js", "-sd", b.TempDir(), "-a", "127.0.0.1", "-p", "-1")
	log, err := server.StderrPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	var url string
	for lines := bufio.NewScanner(log); url == "" && lines.Scan(); {
		if _, at, ok := strings.Cut(lines.Text(), "Listening for client connections on "); ok {
			url = "nats://" + at
		}
	}
	go func() { _, _ = io.Copy(io.Discard, log) }()
	return openBrokerWith(b, broker.Options{URL: url, Logger: zerolog.Nop()})
}

// fillLog makes the streams and publishes n events, to so many threads that none is long enough for a compaction.
func fillLog(b *testing.B, br *broker.Broker, c *config.Config, n, size int) {
	b.Helper()
	if _, err := broker.Provision(b.Context(), br.JetStream(), broker.StreamSpec{Partitions: c.Partitions}); err != nil {
		b.Fatal(err)
	}
	pub, err := broker.NewPublisher(br.Conn(), broker.PublisherConfig{})
	if err != nil {
		b.Fatal(err)
	}
	defer pub.Close()
	threads := max(1000, n/150*size/256)
	for from := 0; from < n; from += 10_000 {
		var msgs []*nats.Msg
		for i := from; i < min(n, from+10_000); i++ {
			msgs = append(msgs, &nats.Msg{Subject: fmt.Sprintf("thread.message.t%d", i%threads), Data: benchEvent(i, size)})
		}
		for _, ack := range pub.PublishBatch(context.Background(), msgs) {
			if ack.Err != nil {
				b.Fatal(ack.Err)
			}
		}
	}
}

// benchEvent is an event whose body has so many bytes: prose with names and numbers, of other words in each.
func benchEvent(i, size int) []byte {
	words := rand.New(rand.NewPCG(1, uint64(i)))
	body := fmt.Appendf(nil, `{"message_id":"m%d","role":"user","content":"`, i)
	for len(body) < size {
		switch words.IntN(12) {
		case 0:
			body = fmt.Appendf(body, "line %d, ", words.IntN(3000))
		case 1:
			body = fmt.Appendf(body, "in store_%s.go ", benchWords[words.IntN(len(benchWords))])
		default:
			body = append(append(body, benchWords[words.IntN(len(benchWords))]...), ' ')
		}
	}
	return append(body[:size-2], `"}`...)
}

var benchWords = strings.Fields(`the server answers with an error when its queue is full and a client that waits for longer than two seconds
	gives up so we should look at how many requests are pending before another connection opens because every retry makes it
	worse while most of them fail after their deadline has passed anyway which the log shows between midnight and noon but
	not later can you check whether this test covers the case or only the usual path then write down what you find
	partition checkpoint timeout handler context buffer goroutine deadline snapshot migration endpoint configuration`)

// benchProcessor runs a processor; listed: its threads were asked for, so that each batch is noted for that.
func benchProcessor(bulkFrom uint64, listed bool) func(*testing.B, *broker.Broker, *config.Config) func() {
	return func(b *testing.B, br *broker.Broker, c *config.Config) func() {
		p, err := processor.Open(b.Context(), processor.Options{Config: c, Logger: zerolog.Nop(), Broker: br, BulkFrom: bulkFrom})
		if err != nil {
			b.Fatal(err)
		}
		if listed {
			if err := p.Threads().Ready(b.Context()); err != nil {
				b.Fatal(err)
			}
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

// What the pages cost the path: the same log taken by a processor whose threads are listed and by one whose are not, in turns (A B, B A, …), so that
// what the machine does meanwhile falls on both. -benchtime 100x: in so many pairs, or as many as six minutes allow.
//
//	go test -run '^$' -bench Listing -benchtime 100x ./internal/processor
func BenchmarkListing(b *testing.B) {
	const events = 60_000
	br, c := openServer(b), settings(b)
	c.Policies[0].Tokenizer = tokens.Estimate
	c.NATS.URL = br.Conn().ConnectedUrl()
	fillLog(b, br, c, events, 256)
	cost := func(listed bool) float64 { // processor time of an event, in ns
		one := *c
		one.DataDir = b.TempDir()
		defer os.RemoveAll(one.DataDir) // some 200 MB each, which would stay until the benchmark ends
		p, err := processor.Open(b.Context(), processor.Options{Config: &one, Logger: zerolog.Nop(), Broker: br, BulkFrom: math.MaxUint64})
		if err != nil {
			b.Fatal(err)
		}
		if listed {
			if err := p.Threads().Ready(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
		ctx, stop := context.WithCancel(b.Context())
		defer stop()
		ran := make(chan error, 1)
		runtime.GC()
		before := processorTime(b)
		go func() { ran <- p.Run(ctx) }()
		err = p.Settled(ctx)
		used := processorTime(b) - before
		stop()
		if err = errors.Join(err, <-ran, p.Close(context.Background())); err != nil {
			b.Fatal(err)
		}
		return float64(used.Nanoseconds()) / events
	}
	cost(false) // the first one fills caches
	var without, more []float64
	begun := time.Now()
	for i := range b.N {
		if time.Since(begun) > 6*time.Minute {
			break
		}
		first := cost(i%2 == 1)
		second := cost(i%2 == 0)
		if i%2 == 1 {
			first, second = second, first
		}
		without, more = append(without, first), append(more, second-first)
	}
	mean, err := meanOf(more)
	base, _ := meanOf(without)
	b.ReportMetric(float64(len(more)), "pairs")
	b.ReportMetric(base, "cpu-ns/event")
	b.ReportMetric(100*mean/base, "%-more-listed")
	b.ReportMetric(100*1.96*err/base, "%-either-way-95")
	b.ReportMetric(0, "ns/op")
}

// meanOf is the mean, and its standard error.
func meanOf(list []float64) (mean, deviation float64) {
	for _, x := range list {
		mean += x / float64(len(list))
	}
	for _, x := range list {
		deviation += (x - mean) * (x - mean)
	}
	return mean, math.Sqrt(deviation / float64(max(1, len(list)-1)) / float64(len(list)))
}

// benchRaw is the yardstick: it fetches what is there, at most 512 events, and commits the counters of their subjects.
func benchRaw(b *testing.B, br *broker.Broker, _ *config.Config) func() {
	consumer, err := br.JetStream().CreateConsumer(b.Context(), broker.StreamEvents, jetstream.ConsumerConfig{
		AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true,
	})
	if err != nil {
		b.Fatal(err)
	}
	db, err := pebble.Open(b.TempDir(), &pebble.Options{Logger: quiet{}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	return func() {
		counters := map[string]uint64{}
		for read := 0; read < b.N; {
			there, err := consumer.FetchNoWait(512)
			if err != nil {
				b.Fatal(err)
			}
			counted := map[string]struct{}{}
			for m := range there.Messages() {
				counters[m.Subject()]++
				counted[m.Subject()] = struct{}{}
				read++
			}
			batch := db.NewBatch()
			for subject := range counted {
				if err := batch.Set([]byte(subject), binary.AppendUvarint(nil, counters[subject]), nil); err != nil {
					b.Fatal(err)
				}
			}
			if err := errors.Join(there.Error(), batch.Commit(pebble.Sync), batch.Close()); err != nil {
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
