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
	"net/url"
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
// times a second and without, in turns (A B B A …). An open page is fetched more rarely, which would be lost in the machine's noise: how often is
// measured by itself, of a client that does as a browser (open-looks/s), for twenty seconds, and what an open page costs is both together. The server, the publisher and the reader of the page run in this process, so that only the program's own processor time is measured.
// -benchtime 8x takes eight pairs.
//
//	go test -run '^$' -bench OpenPage -benchtime 8x ./cmd/processor
func BenchmarkOpenPage(b *testing.B) {
	w := openPagesBench(b)
	for _, page := range []struct{ name, path string }{{"overview", "/ui/"}, {"threads", "/ui/threads"}, {"thread", "/ui/threads/s%d-0"}} {
		b.Run(page.name, func(b *testing.B) {
			w.looks.Store(0)
			w.slice(b, 5, "", nil) // the first one fills caches
			var closed, more []float64
			for i := range b.N {
				paths := []string{"", page.path}
				first, second := w.slice(b, 5, paths[i%2], w.look), w.slice(b, 5, paths[1-i%2], w.look)
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
			w.looks.Store(0)
			w.slice(b, 20, page.path, w.follow)
			open := float64(w.looks.Load()) / 20 // a second
			ofAll := 1e5 / (base * pagesRate)    // a millisecond a second, in % of what is used in it
			either := 1.96 * math.Sqrt(deviation/max(n-1, 1)/n)
			inMs := pagesRate / looks / 1000
			b.ReportMetric(looks, "looks/s")
			b.ReportMetric(base, "cpu-µs/event")
			b.ReportMetric(mean*inMs, "cpu-ms/look")
			b.ReportMetric(either*inMs, "cpu-ms/look-either-way-95")
			b.ReportMetric(open, "open-looks/s")
			b.ReportMetric(mean*inMs*open*ofAll, "%-of-all-open")
			b.ReportMetric(either*inMs*open*ofAll, "%-either-way-95")
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

// slice publishes for some seconds, to new threads, with a page that is looked at or none, and waits until all of it is taken. It returns the program's
// processor time of an event, in µs.
func (w *pagesBench) slice(b *testing.B, seconds int, open string, looking func(ctx context.Context, path string)) float64 {
	b.Helper()
	const threads, every = 200, pagesRate / 50
	w.slices++
	ctx, leave := context.WithCancel(b.Context())
	defer leave()
	if open != "" {
		go looking(ctx, strings.Replace(open, "%d", strconv.Itoa(w.slices), 1))
	}
	pace := time.NewTicker(time.Second / (pagesRate / every))
	defer pace.Stop()
	before, events, last := w.used(b), 0, uint64(0)
	for events < seconds*pagesRate {
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
	for ctx.Err() == nil {
		w.fetch(ctx, path)
		select {
		case <-pace.C:
		case <-ctx.Done():
		}
	}
}

// follow fetches a page, and again when its stream says that it has changed.
func (w *pagesBench) follow(ctx context.Context, path string) {
	w.fetch(ctx, path)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.pages+"/ui/live?path="+url.QueryEscape(path), nil)
	if err != nil {
		panic(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return
	}
	defer res.Body.Close()
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		if lines.Text() == "event: changed" {
			w.fetch(ctx, path)
		}
	}
}

func (w *pagesBench) fetch(ctx context.Context, path string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.pages+path, nil)
	if err != nil {
		panic(err)
	}
	if res, err := http.DefaultClient.Do(req); err == nil {
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		w.looks.Add(1)
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
