package audit_test

import (
	"flag"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"precis/internal/audit"
	"precis/internal/broker"
	"precis/internal/processor"
	"precis/internal/secrets"
	"precis/state"
	"precis/summarize"
)

var (
	benchEvents  = flag.Int("replay.events", 20_000, "events of the benchmarks' log")
	benchThreads = flag.Int("replay.threads", 1_000, "threads of the benchmarks' log")
	benchTools   = flag.Int("replay.tools", 0, "one tool output over the threshold every so many events; 0: none")
)

// benchLog is a log of messages of 256 bytes, worked on by a processor.
func benchLog(b *testing.B) *world {
	w := newWorld(b)
	w.config.Partitions = 16
	w.config.Policies[0].Compaction.Trigger = summarize.Condition{Messages: 1 << 20}
	w.run(func(p *processor.Processor) {
		pub, err := broker.NewPublisher(w.broker.Conn(), broker.PublisherConfig{})
		if err != nil {
			b.Fatal(err)
		}
		defer pub.Close()
		for n := 0; n < *benchEvents; {
			var msgs []*nats.Msg
			for ; n < *benchEvents && len(msgs) < 500; n++ {
				msgs = append(msgs, benchEvent(n))
			}
			for _, ack := range pub.PublishBatch(b.Context(), msgs) {
				if ack.Err != nil {
					b.Fatal(ack.Err)
				}
			}
		}
		settled(b, p)
	})
	return w
}

// settled waits without a bound: a benchmark's log is long, and the machine may be busy.
func settled(b *testing.B, p *processor.Processor) {
	b.Helper()
	if err := p.Settled(b.Context()); err != nil {
		b.Fatal(err)
	}
}

func benchEvent(n int) *nats.Msg {
	thread := fmt.Sprintf("t%d", n%*benchThreads)
	if *benchTools > 0 && n%*benchTools == 0 {
		return &nats.Msg{Subject: "tool.result." + thread, Data: []byte(output(fmt.Sprintf("m%d", n), 60, ""))}
	}
	body := fmt.Sprintf(`{"message_id":"m%d","role":"user","content":"%s"}`, n, "")
	text := strings.Repeat("the quick brown fox jumps over it ", 8)[:256-len(body)]
	return &nats.Msg{Subject: "thread.message." + thread, Data: []byte(body[:len(body)-2] + text + `"}`)}
}

// BenchmarkReplay reads the whole log and checks every step; -replay.events says how long it is.
func BenchmarkReplay(b *testing.B) {
	w := benchLog(b)
	masker, err := secrets.Load()
	if err != nil {
		b.Fatal(err)
	}
	for _, rules := range []bool{false, true} {
		b.Run(fmt.Sprintf("rules=%t", rules), func(b *testing.B) {
			for b.Loop() {
				scratch, err := state.Open(b.TempDir(), state.Options{Scratch: true, Logger: zerolog.Nop()})
				if err != nil {
					b.Fatal(err)
				}
				peak, used := watchHeap(b), processorTime(b)
				rep, err := audit.Replay(b.Context(), audit.Options{
					JetStream: w.broker.JetStream(), Scratch: scratch, Rules: rules, Mask: masker.Mask,
					Workers: runtime.GOMAXPROCS(0), Now: time.Now, Logger: zerolog.Nop(),
				})
				if err != nil || !rep.Clean() {
					b.Fatal(err, rep)
				}
				b.ReportMetric(rep.EventsPerSecond, "events/s")
				b.ReportMetric(float64((processorTime(b)-used).Microseconds())/float64(rep.Log.Read), "cpu-µs/event")
				b.ReportMetric(float64(peak())/(1<<20), "peak-heap-MB")
				if err := scratch.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkRebuild starts a processor whose store is gone, and waits until it stands where that stood.
func BenchmarkRebuild(b *testing.B) {
	w := benchLog(b)
	runtime.GC()
	peak, used, began, events := watchHeap(b), processorTime(b), time.Now(), 0
	for ; b.Loop(); events += *benchEvents {
		w.config.DataDir = b.TempDir()
		w.run(func(p *processor.Processor) { settled(b, p) })
	}
	b.ReportMetric(float64(events)/time.Since(began).Seconds(), "events/s")
	b.ReportMetric(float64((processorTime(b)-used).Microseconds())/float64(events), "cpu-µs/event")
	b.ReportMetric(float64(peak())/(1<<20), "peak-heap-MB")
}

// processorTime is what the process has used so far, the server inside it included.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// watchHeap returns a function that ends the watch and says how large the heap has been.
func watchHeap(b *testing.B) func() uint64 {
	var peak atomic.Uint64
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak.Store(max(peak.Load(), m.HeapInuse))
			select {
			case <-tick.C:
			case <-stop:
				return
			}
		}
	}()
	return func() uint64 {
		close(stop)
		<-done
		return peak.Load()
	}
}
