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

// What pages that somebody looks at cost: the program takes what a publisher gives it as fast as it can, in slices, with three pages open (the overview,
// the list of threads, a thread at work) and without, in turns (A B B A …). The server, the publisher and the reader of the pages are this process: what
// the program's own uses is measured. -benchtime 40x: in so many pairs, or as many as six minutes allow.
//
//	go test -run '^$' -bench OpenPages -benchtime 40x ./cmd/processor
func BenchmarkOpenPages(b *testing.B) {
	w := openPagesBench(b)
	w.slice(b, false) // the first one fills caches
	var closed, more []float64
	for i := range b.N {
		if b.Elapsed() > 6*time.Minute {
			break
		}
		first := w.slice(b, i%2 == 1)
		second := w.slice(b, i%2 == 0)
		if i%2 == 1 {
			first, second = second, first
		}
		closed, more = append(closed, first), append(more, second-first)
	}
	var base, mean, deviation float64
	for i := range more {
		base, mean = base+closed[i]/float64(len(more)), mean+more[i]/float64(len(more))
	}
	for _, x := range more {
		deviation += (x - mean) * (x - mean)
	}
	n := float64(len(more))
	b.ReportMetric(n, "pairs")
	b.ReportMetric(float64(w.looks.Load()), "looks")
	b.ReportMetric(base, "cpu-ns/event")
	b.ReportMetric(100*mean/base, "%-more-open")
	b.ReportMetric(100*1.96*math.Sqrt(deviation/max(n-1, 1)/n)/base, "%-either-way-95")
	b.ReportMetric(0, "ns/op")
}

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

// slice publishes for four seconds, to new threads, and waits until all of it is taken. It returns the program's processor time of an event, in ns.
func (w *pagesBench) slice(b *testing.B, open bool) float64 {
	b.Helper()
	const threads = 700
	w.slices++
	ctx, leave := context.WithCancel(b.Context())
	defer leave()
	if open {
		for _, path := range []string{"/ui/", "/ui/threads", fmt.Sprintf("/ui/threads/s%d-0", w.slices)} {
			go w.look(ctx, path)
		}
	}
	before, until, events, last := w.used(b), time.Now().Add(4*time.Second), 0, uint64(0)
	for time.Now().Before(until) {
		msgs := make([]*nats.Msg, 0, 5000)
		for range cap(msgs) {
			msgs = append(msgs, &nats.Msg{Subject: fmt.Sprintf("thread.message.s%d-%d", w.slices, events%threads), Data: sentence(events)})
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
	return float64(w.used(b)-before) / float64(events)
}

// look does what a browser does with a page that is open: fetches it, and again each time that it has changed.
func (w *pagesBench) look(ctx context.Context, path string) {
	get := func(path string) io.ReadCloser {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.pages+path, nil)
		if err != nil {
			panic(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return nil
		}
		return res.Body
	}
	fetch := func() {
		if body := get(path); body != nil {
			_, _ = io.Copy(io.Discard, body)
			_ = body.Close()
			w.looks.Add(1)
		}
	}
	fetch()
	changes := get("/ui/live?path=" + url.QueryEscape(path))
	if changes == nil {
		return
	}
	defer changes.Close()
	for lines := bufio.NewScanner(changes); lines.Scan(); {
		if lines.Text() == "event: changed" {
			fetch()
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
