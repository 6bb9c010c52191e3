package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"precis/api"
	"precis/internal/broker"
)

// BenchmarkOpenPage measures what an open page costs. The program takes 5,000 events a second in slices of five seconds, with the page fetched twenty
// times a second and without, in turns (A B B A …). An open page is fetched every two seconds at most, which would be lost in the machine's noise.
// The server, the publisher and the reader of the page run in this process, so that only the program's own processor time is measured.
// -benchtime 8x takes eight pairs.
//
//	go test -run '^$' -bench OpenPage -benchtime 8x ./cmd/processor
func BenchmarkOpenPage(b *testing.B) {
	w := openPagesBench(b)
	for _, page := range []struct{ name, path string }{{"overview", "/ui/"}, {"threads", "/ui/threads"}, {"thread", "/ui/threads/s%d-0"}} {
		b.Run(page.name, func(b *testing.B) {
			w.looks.Store(0)
			w.slice(b, "") // the first one fills caches
			var closed, more []float64
			for i := range b.N {
				paths := []string{"", page.path}
				first, second := w.slice(b, paths[i%2]), w.slice(b, paths[1-i%2])
				if i%2 == 1 {
					first, second = second, first
				}
				closed, more = append(closed, first), append(more, second-first)
			}
			n := float64(len(more))
			var base, mean, deviation float64
			for i := range more {
				base, mean = base+closed[i]/n, mean+more[i]/n
			}
			for _, x := range more {
				deviation += (x - mean) * (x - mean)
			}
			looks := float64(w.looks.Load()) / n / 5 // a second
			ofAll := 1e5 / (base * pagesRate)        // a look's ms every two seconds, in % of what is used in them
			either := 1.96 * math.Sqrt(deviation/max(n-1, 1)/n)
			inMs := pagesRate / looks / 1000
			b.ReportMetric(looks, "looks/s")
			b.ReportMetric(base, "cpu-µs/event")
			b.ReportMetric(mean*inMs, "cpu-ms/look")
			b.ReportMetric(either*inMs, "cpu-ms/look-either-way-95")
			b.ReportMetric(mean*inMs/2*ofAll, "%-of-all-open")
			b.ReportMetric(0, "ns/op")
		})
	}
}

const pagesRate = 5000 // events a second

type pagesBench struct {
	process *exec.Cmd
	pages   string
	publish *broker.Publisher
	client  *api.Client
	slices  int
	looks   atomic.Int64
}

func openPagesBench(b *testing.B) *pagesBench {
	b.Helper()
	isBuilt.Store(true)
	program, err := built()
	if err != nil {
		b.Fatal(err)
	}
	server, err := broker.Open(b.Context(), broker.Options{Listen: "127.0.0.1:0", StoreDir: b.TempDir(), Sync: "1m", Logger: zerolog.Nop()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = server.Close(context.Background()) })
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	w := &pagesBench{pages: "http://" + address}
	w.process = exec.Command(program, "run", "--nats", server.URL(), "--data", b.TempDir(), "--http", "", "--api", address, "--log-format", "json")
	stderr, err := w.process.StderrPipe()
	if err == nil {
		err = w.process.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = w.process.Process.Kill()
		_ = w.process.Wait()
	})
	log := bufio.NewScanner(stderr)
	for log.Scan() && !strings.Contains(log.Text(), `"message":"running"`) {
		b.Log(log.Text())
	}
	go func() { _, _ = io.Copy(io.Discard, stderr) }()
	if w.publish, err = broker.NewPublisher(server.Conn(), broker.PublisherConfig{}); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = w.publish.Close() })
	if w.client, err = api.NewClient(server.Conn(), api.ClientOptions{}); err != nil {
		b.Fatal(err)
	}
	return w
}

// slice publishes for five seconds, to new threads, with a page open or none, and waits until all of it is taken. It returns the program's processor time
// of an event, in µs.
func (w *pagesBench) slice(b *testing.B, open string) float64 {
	b.Helper()
	const threads, every = 200, pagesRate / 50
	w.slices++
	ctx, leave := context.WithCancel(b.Context())
	defer leave()
	if open != "" {
		go w.look(ctx, strings.Replace(open, "%d", strconv.Itoa(w.slices), 1))
	}
	pace := time.NewTicker(time.Second / (pagesRate / every))
	defer pace.Stop()
	before, events, last := w.used(b), 0, uint64(0)
	for events < 5*pagesRate {
		<-pace.C
		msgs := make([]*nats.Msg, every)
		for i := range msgs {
			msgs[i] = &nats.Msg{Subject: fmt.Sprintf("thread.message.s%d-%d", w.slices, events%threads), Data: sentence(events)}
			events++
		}
		for _, ack := range w.publish.PublishBatch(ctx, msgs) {
			if ack.Err != nil {
				b.Fatal(ack.Err)
			}
			last = max(last, ack.Seq)
		}
	}
	for i := range 64 { // of every partition
		if _, err := w.client.Context(ctx, fmt.Sprintf("s%d-%d", w.slices, i), api.ContextRequest{MinEventSeq: last, MaxTokens: 100}); err != nil {
			b.Fatal(err)
		}
	}
	return float64((w.used(b) - before).Microseconds()) / float64(events)
}

// look fetches a page twenty times a second.
func (w *pagesBench) look(ctx context.Context, path string) {
	pace := time.NewTicker(time.Second / 20)
	defer pace.Stop()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.pages+path, nil)
		if err != nil {
			panic(err)
		}
		if res, err := http.DefaultClient.Do(req); err == nil {
			_, _ = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
			w.looks.Add(1)
		}
		select {
		case <-pace.C:
		case <-ctx.Done():
			return
		}
	}
}

// used is the processor time that the program has used.
func (w *pagesBench) used(b *testing.B) time.Duration {
	b.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", w.process.Process.Pid))
	if err != nil {
		b.Fatal(err)
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:])) // from the third on
	user, err := strconv.ParseInt(fields[11], 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	system, err := strconv.ParseInt(fields[12], 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return time.Duration(user+system) * (time.Second / 100) // Linux counts in hundredths, whatever its own clock
}

// sentence is an event of some 256 bytes, of other words in each.
func sentence(i int) []byte {
	words := rand.New(rand.NewPCG(1, uint64(i)))
	body := fmt.Appendf(nil, `{"message_id":"m%d","role":"user","content":"`, i)
	for len(body) < 254 {
		body = append(append(body, benchWords[words.IntN(len(benchWords))]...), ' ')
	}
	return append(body, `"}`...)
}

var benchWords = strings.Fields(`the server answers with an error when its queue is full and a client that waits for longer than two seconds
	gives up so we should look at how many requests are pending before another connection opens because every retry makes it
	worse while most of them fail after their deadline has passed anyway which the log shows between midnight and noon`)
