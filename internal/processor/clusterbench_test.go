package processor_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/recovery"
)

// What the claim costs where three servers, processes of their own that sync every write, hold the records: waves of records of 1 KB, each of another
// thread, one wave of a partition at a time. claim publishes a wave as an outbox does, as one atomic batch on condition of the partition's claim.
// threads is the yardstick, one message a record, each on condition of the last one of its thread:
//
//	go test -run '^$' -bench PublishToCluster -benchtime 10000x ./internal/processor
func BenchmarkPublishToCluster(b *testing.B) {
	br := openCluster(b)
	for _, load := range []struct{ partitions, wave int }{{1, 1}, {16, 1}, {1, 16}, {16, 16}, {1, 256}, {16, 256}} {
		for _, way := range []struct {
			name    string
			publish publishing
		}{{"claim", onClaim}, {"threads", onThreads}} {
			b.Run(fmt.Sprintf("%dpartitions/waves=%d/%s", load.partitions, load.wave, way.name), func(b *testing.B) {
				provisionCluster(b, br)
				publishWaves(b, br, load.partitions, load.wave, way.publish)
			})
		}
	}
}

// writer is what a partition has published.
type writer struct {
	partition int
	claim     uint64            // its sequence
	last      map[string]uint64 // by subject
}

// publishing publishes a wave of a partition.
type publishing func(*broker.Publisher, *writer, []*nats.Msg) []broker.Ack

func onClaim(pub *broker.Publisher, w *writer, wave []*nats.Msg) []broker.Ack {
	recovery.Expect(wave[0], recovery.ClaimSubject(w.partition), w.claim)
	return pub.PublishAtomic(context.Background(), wave)
}

func onThreads(pub *broker.Publisher, w *writer, wave []*nats.Msg) []broker.Ack {
	for _, m := range wave {
		recovery.Expect(m, m.Subject, w.last[m.Subject])
	}
	return pub.PublishBatch(context.Background(), wave)
}

// publishWaves publishes b.N records, and reports how long a wave takes.
func publishWaves(b *testing.B, br *broker.Broker, partitions, size int, publish publishing) {
	b.Helper()
	pub, err := broker.NewPublisher(br.Conn(), broker.PublisherConfig{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = pub.Close() }()
	writers := make([]*writer, partitions)
	for p := range writers {
		claim := pub.PublishBatch(b.Context(), []*nats.Msg{{Subject: recovery.ClaimSubject(p), Data: []byte("{}")}})[0]
		if claim.Err != nil {
			b.Fatal(claim.Err)
		}
		writers[p] = &writer{partition: p, claim: claim.Seq, last: map[string]uint64{}}
	}
	var left, refused atomic.Int64
	left.Store(int64(b.N))
	took := make([][]time.Duration, partitions)
	var all sync.WaitGroup
	b.ResetTimer()
	for p, w := range writers {
		all.Go(func() {
			for record := 0; left.Add(-int64(size)) > -int64(size); {
				wave := make([]*nats.Msg, size)
				for i := range wave {
					record++
					wave[i] = &nats.Msg{
						Subject: fmt.Sprintf("%s.p%dt%d", events.SummaryCreated, p, record%1000), Data: make([]byte, 1024),
						Header: nats.Header{nats.MsgIdHdr: {fmt.Sprintf("%d/%d", p, record)}},
					}
				}
				began := time.Now()
				acks := publish(pub, w, wave)
				for errors.Is(acks[0].Err, broker.ErrWrongLastSequence) && refused.Add(1) <= int64(b.N) { // it has answered, and not yet forgotten what
					acks = publish(pub, w, wave)
				}
				took[p] = append(took[p], time.Since(began))
				for i, ack := range acks {
					if ack.Err != nil || ack.Duplicate {
						b.Errorf("%s: %+v", wave[i].Subject, ack)
						return
					}
					w.last[wave[i].Subject] = ack.Seq
				}
			}
		})
	}
	all.Wait()
	b.StopTimer()
	waves := slices.Concat(took...)
	b.ReportMetric(float64(len(waves)*size)/b.Elapsed().Seconds(), "records/s")
	b.ReportMetric(float64(refused.Load()), "refused")
	b.ReportMetric(0, "ns/op")
	reportQuantiles(b, waves)
}

// provisionCluster makes the streams, empty ones, with three replicas.
func provisionCluster(b *testing.B, br *broker.Broker) {
	b.Helper()
	for _, stream := range []string{broker.StreamEvents, broker.StreamSummaries, broker.StreamRejected} {
		_ = br.JetStream().DeleteStream(b.Context(), stream) // in the first run there is none
	}
	if _, err := broker.Provision(b.Context(), br.JetStream(), broker.StreamSpec{Partitions: 16, Replicas: 3}); err != nil {
		b.Fatal(err)
	}
}

// openCluster starts three servers that sync every write, and connects to one.
func openCluster(b *testing.B) *broker.Broker {
	b.Helper()
	program, err := natsServer()
	if err != nil {
		b.Fatal(err)
	}
	// As many routes as there are servers: that is how large each takes the cluster for.
	routes := []string{"nats://127.0.0.1:1", "nats://127.0.0.1:2", "nats://127.0.0.1:3"}
	var url string
	for i := range routes {
		dir := b.TempDir()
		file := filepath.Join(dir, "server.conf")
		conf := fmt.Sprintf("server_name: n%d\nlisten: '127.0.0.1:-1'\njetstream { store_dir: '%s', sync_interval: always }\ncluster { name: bench, listen: '127.0.0.1:-1', routes: ['%s'] }\n",
			i+1, dir, strings.Join(routes, "', '"))
		if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
			b.Fatal(err)
		}
		client, route := startServer(b, exec.Command(program, "-c", file))
		url, routes[i] = client, "nats://"+route
	}
	for ctx := within(b); ; { // until they have a leader
		br, err := broker.Open(ctx, broker.Options{URL: url, Logger: zerolog.Nop()})
		if err == nil {
			b.Cleanup(func() { _ = br.Close(context.Background()) })
			return br
		}
		if ctx.Err() != nil {
			b.Fatal(err)
		}
	}
}

// startServer starts a server until the benchmark ends, and returns where it listens for clients and for other servers.
func startServer(b *testing.B, server *exec.Cmd) (client, route string) {
	b.Helper()
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
	for lines := bufio.NewScanner(log); (client == "" || route == "") && lines.Scan(); {
		if _, at, ok := strings.Cut(lines.Text(), "Listening for client connections on "); ok {
			client = "nats://" + at
		}
		if _, at, ok := strings.Cut(lines.Text(), "Listening for route connections on "); ok {
			route = at
		}
	}
	go func() { _, _ = io.Copy(io.Discard, log) }()
	return client, route
}
