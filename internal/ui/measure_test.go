package ui_test

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"precis/internal/broker"
	"precis/internal/race"
)

var (
	measureEvents  = flag.Int("ui.events", 0, "measure the pages with so many events")
	measureThreads = flag.Int("ui.threads", 1_000_000, "of so many threads")
	measureActive  = flag.Int("ui.active", 0, "of which so many have events at the same time; 0: all")
	measureDir     = flag.String("ui.dir", "", "keep streams and store here, and go on with what is there")
	measureLooks   = flag.Int("ui.looks", 200, "looks at each page")
	measureStride  = flag.Int("ui.stride", 4999, "threads between two looks: with as many as a block has messages, each look has blocks of its own")
	measureOnly    = flag.String("ui.only", "", "of the pages, only those that contain this")
)

// TestMeasure measures how long each page takes with many threads and events in the store: until it shows something, which may be an outline, until the
// answer ends, and, where it has a part only, until all of it was asked for.
func TestMeasure(t *testing.T) {
	race.Slow(t)
	if *measureEvents == 0 {
		t.Skip("-ui.events says with how many")
	}
	began := time.Now()
	w := begin(t, options{contents: true, dir: *measureDir, patience: time.Hour, first: func(b *broker.Broker) { fill(t, b) }})
	t.Logf("caught up after %v; %s", time.Since(began).Round(time.Second), memory())
	w.sample("t")
	w.settle(t)
	t.Logf("%d events of %d threads in %v; %s", *measureEvents, *measureThreads, time.Since(began).Round(time.Second), memory())
	first := time.Now()
	w.eventually(func() error {
		if a := w.do("/ui/threads", nil); a.status != 200 {
			return fmt.Errorf("%d", a.status)
		}
		return nil
	})
	t.Logf("the first list after %v; %s", time.Since(first).Round(time.Millisecond), memory())
	for _, path := range []string{
		"/ui/", "/ui/threads", "/ui/threads?sort=size", "/ui/threads?sort=cost", "/ui/threads?order=up", "/ui/threads?q=d-99999", "/ui/threads?agent=agent-7&sort=prompt", "/ui/threads?stale=on",
		"/ui/threads/thread-%d", "/ui/threads/thread-%d?at=%d", "/ui/threads/thread-%d/prompt", "/ui/threads/thread-%d/compare?policy=default&turns=0", "/ui/rejections", "/ui/rejections?thread=thread-%d",
		"/ui/partitions", "/ui/configuration",
	} {
		if !strings.Contains(path, *measureOnly) {
			continue
		}
		var took, whole, all []time.Duration // until something is there, until the answer ends, until nothing is left to read
		outlines, parts := 0, 0
		for i := range *measureLooks {
			at := strings.Replace(path, "%d", fmt.Sprint((499+i**measureStride)%*measureThreads), 1)
			at = strings.Replace(at, "%d", fmt.Sprint(*measureEvents), 1)
			asked := time.Now()
			for more := true; more; {
				began := time.Now()
				res := w.begun(at)
				took = append(took, time.Since(began))
				text, err := io.ReadAll(res.Body)
				_ = res.Body.Close()
				if err != nil || res.StatusCode != 200 {
					t.Fatalf("%s: %v %d %.300s", at, err, res.StatusCode, text)
				}
				whole = append(whole, time.Since(began))
				if bytes.Contains(text, []byte(`<div class="outline">`)) {
					outlines++
				}
				if more = bytes.Contains(text, []byte("data-unread")); more {
					parts++
				}
			}
			all = append(all, time.Since(asked))
		}
		t.Logf("%-55s %s; answers: %s; with those that read on: %s; %d outlines, %d in part", path, percentiles(took), percentiles(whole), percentiles(all), outlines, parts)
	}
	t.Log(memory())
}

func percentiles(took []time.Duration) string {
	slices.Sort(took)
	at := func(i int) time.Duration { return took[i].Round(10 * time.Microsecond) }
	return fmt.Sprintf("p50 %v  p99 %v  max %v", at(len(took)/2), at(len(took)*99/100), at(len(took)-1))
}

// fill publishes the events that are not there yet, before there is a processor: it takes them in bulk.
func fill(t *testing.T, b *broker.Broker) {
	if _, err := broker.Provision(t.Context(), b.JetStream(), broker.StreamSpec{Partitions: 4}); err != nil {
		t.Fatal(err)
	}
	at, err := broker.StateOf(t.Context(), b.JetStream(), broker.StreamEvents)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for i := int(at.Last); i < *measureEvents; i++ { //nolint:gosec // a count
		active := cmp.Or(*measureActive, *measureThreads)
		group := active * (*measureEvents / *measureThreads) // the events of threads that are active together
		th := i/group*active + i%active
		m := &nats.Msg{Subject: fmt.Sprintf("thread.message.thread-%d", th), Data: []byte(say(fmt.Sprint("m", i%group/active), "user", "Look at "+fmt.Sprint(i), fmt.Sprintf(`,"agent_id":"agent-%d"`, th%300)))}
		if i%500 == 499 {
			m = &nats.Msg{Subject: fmt.Sprintf("tool.result.thread-%d", th), Data: []byte(output(fmt.Sprint("r", i), ""))}
		}
		if _, err := b.JetStream().PublishMsgAsync(m); err != nil {
			t.Fatal(err)
		}
		if i%3000 == 0 {
			<-b.JetStream().PublishAsyncComplete()
		}
	}
	<-b.JetStream().PublishAsyncComplete()
	t.Logf("published in %v; %s", time.Since(began).Round(time.Second), memory())
}

func (w *world) settle(t *testing.T) {
	deadline := time.Now().Add(20 * time.Minute)
	for time.Now().Before(deadline) {
		if err := w.proc.Settled(within(t)); err == nil {
			return
		}
	}
	t.Fatal("not settled")
}

func memory() string {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	status, _ := os.ReadFile("/proc/self/status")
	peak := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(status)
	rss := ""
	if peak != nil {
		rss = ", resident " + string(peak[1]) + " kB"
	}
	return fmt.Sprintf("heap %d MiB%s", m.HeapAlloc>>20, rss)
}
