package processor_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"precis/handlers"
	"precis/internal/broker"
	"precis/internal/processor"
	"precis/summarize"
)

// A store that is made again in bulk is the one that the lanes made, nothing is published again, and the
// lanes go on behind it.
func TestBulk(t *testing.T) {
	b, c := openBroker(t, t.TempDir()), settings(t)
	c.Partitions = 2
	c.Policies[0].Compaction.Trigger = summarize.Condition{Messages: 30}
	c.Policies[0].Compaction.Keep = summarize.Keep{Messages: 5}
	load := newLoad(rand.New(rand.NewPCG(5, 0)))
	life := func(from uint64, events int) {
		p := start(t, processor.Options{Config: c, Logger: logger(t), Broker: b, BulkFrom: from})
		load.publish(t, b.Conn(), events)
		if err := p.Settled(within(t)); err != nil {
			t.Fatal(err)
		}
		<-p.Ready() // a bulk may still move a partition past its last event, which is all that Settled waits for
		p.end()
	}
	life(math.MaxUint64, 300)
	before, rejected := records(t, b, broker.StreamSummaries), records(t, b, broker.StreamRejected)
	c.DataDir = t.TempDir()
	life(1, 0)
	compareRecords(t, broker.StreamSummaries, before, records(t, b, broker.StreamSummaries))
	compareRecords(t, broker.StreamRejected, rejected, records(t, b, broker.StreamRejected))
	for id, view := 0, verifyStore(t, c, b); id <= c.Partitions; id++ {
		// The lanes leave one without events where it is.
		if meta, err := view.View(id).Meta(); err != nil || meta.Position < 300 {
			t.Errorf("partition %d stands at %d: %v", id, meta.Position, err)
		}
	}
}

// A gap in the log is named once, and ends nothing.
func TestBulkOverAGap(t *testing.T) {
	b, c := openBroker(t, t.TempDir()), settings(t)
	c.Partitions = 1
	var said bytes.Buffer
	o := processor.Options{Config: c, Logger: zerolog.New(zerolog.SyncWriter(&said)), Broker: b, BulkFrom: 1}
	last := behind(t, o, "thread.message.t1", message("m1"), message("m2"), message("m3"))
	stream, err := b.JetStream().Stream(t.Context(), broker.StreamEvents)
	if err == nil {
		err = stream.DeleteMsg(t.Context(), last-1)
	}
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, o)
	if err := p.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	p.end()
	if n := strings.Count(said.String(), "the log has a gap"); n != 1 {
		t.Errorf("told %d times: %s", n, said.String())
	}
	if n := eventsOf(t, verifyStore(t, c, b), c.Partitions); n != 2 {
		t.Errorf("%d events counted, 2 are there", n)
	}
}

// A panic in a bulk ends the processor, and half a batch is never committed.
func TestBulkThatPanics(t *testing.T) {
	b, c := openBroker(t, t.TempDir()), settings(t)
	c.Partitions = 1
	o := processor.Options{Config: c, Logger: logger(t), Broker: b, BulkFrom: 1}
	behind(t, o, "thread.message.t1", message("m1"), message("m2"), message("m3"))
	calls := 0
	fails := o
	fails.Failpoint = func(point string, _ int) error {
		if point != processor.FailApplied {
			return nil
		}
		if calls++; calls == 2 {
			panic("as planned")
		}
		return nil
	}
	p := openAlone(t, fails)
	ran := make(chan error, 1)
	go func() { ran <- p.Run(t.Context()) }()
	if err := ends(t, ran); !errors.Is(err, handlers.ErrPanic) {
		t.Errorf("run: %v", err)
	}
	p.close()
	again := start(t, o)
	if err := again.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	again.end()
	if n := eventsOf(t, verifyStore(t, c, b), c.Partitions); n != 3 {
		t.Errorf("%d events counted, 3 were sent", n)
	}
}

// An end comes also in the middle of a bulk whose outbox is full, and where the server takes nothing.
func TestStopABulkWithAFullOutbox(t *testing.T) {
	b, c := openBroker(t, t.TempDir()), settings(t)
	c.Partitions = 1
	o := processor.Options{Config: c, Logger: logger(t), Broker: b, BulkFrom: 1, CloseTimeout: 3 * time.Second}
	bodies := make([]string, 12) // half of them fill the outbox
	for i := range bodies {
		bodies[i] = strings.Repeat("x", 2<<20) // no JSON, and too large
	}
	last := behind(t, o, "tool.result.t1", bodies...)
	p := openAlone(t, o)
	if err := b.JetStream().DeleteStream(t.Context(), broker.StreamRejected); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ran := make(chan error, 1)
	go func() { ran <- p.Run(ctx) }()
	if err := p.Wait(within(t), 0, last-8); err != nil {
		t.Fatal(err)
	}
	stop()
	if err := ends(t, ran); err != nil {
		t.Errorf("run: %v", err)
	}
	p.close()
	again := start(t, o) // makes the stream anew
	if err := again.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	again.end()
	stream, err := broker.StateOf(t.Context(), b.JetStream(), broker.StreamRejected)
	if err != nil || stream.Msgs != uint64(len(bodies)) {
		t.Errorf("%d rejections, %v", stream.Msgs, err)
	}
	verifyStore(t, c, b)
}

// A stop that comes when the log has been read, but not all of it dealt, leaves no event behind: what no partition has received is
// not part of any position.
func TestStopABulkBeforeTheLastHands(t *testing.T) {
	b, c := openBroker(t, t.TempDir()), settings(t)
	c.Partitions = 16
	c.Policies[0].Tokenizer = "estimate"
	o := processor.Options{Config: c, Logger: logger(t), Broker: b, BulkFrom: 1, CloseTimeout: 3 * time.Second}
	behind(t, o, "thread.message.t0", message("m0"))
	var names []string // a thread of each partition
	for id := range c.Partitions {
		for i := 0; len(names) == id; i++ {
			if name := fmt.Sprint("t", i); broker.PartitionOf(name, c.Partitions) == id {
				names = append(names, name)
			}
		}
	}
	// The second partition gets two hands and a part of a third one, the others a part of one.
	const slow, hands = 1, 700
	publishAll(t, b, hands+c.Partitions, func(i int) *nats.Msg {
		return &nats.Msg{Subject: "thread.message." + names[min(slow+max(0, i-hands), len(names)-1)], Data: []byte(message(fmt.Sprint("m", i)))}
	})
	last := put(t, b.Conn(), "thread.message."+names[0], message("last"))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	o.Failpoint = func(point string, partition int) error {
		switch {
		case point != processor.FailApplied:
		case partition == slow:
			<-ctx.Done()
		case partition == 0: // the first one to receive its last hand
			stop()
		}
		return nil
	}
	p := openAlone(t, o)
	ran := make(chan error, 1)
	go func() { ran <- p.Run(ctx) }()
	if err := ends(t, ran); err != nil {
		t.Errorf("run: %v", err)
	}
	p.close()
	o.Failpoint = nil
	again := start(t, o)
	if err := again.Wait(within(t), 0, last); err != nil {
		t.Fatal(err)
	}
	if err := again.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	again.end()
	verifyStore(t, c, b)
}

// behind publishes bodies before any processor has run, and returns the last one's sequence.
func behind(t *testing.T, o processor.Options, subject string, bodies ...string) uint64 {
	t.Helper()
	p := openAlone(t, o)
	defer p.close()
	return put(t, o.Broker.Conn(), subject, bodies...)
}

// Where each event is another thread's, a batch ends when what it holds of them is its share of what all may hold.
func TestBulkOfManyThreads(t *testing.T) {
	const threads, bytes = 2000, 512 << 10
	b, c := openBroker(t, t.TempDir()), settings(t)
	c.Partitions = 3
	c.Policies[0].Tokenizer = "estimate"
	o := processor.Options{Config: c, Logger: logger(t), Broker: b, BulkFrom: 1, BulkBytes: bytes}
	behind(t, o, "thread.message.t0")
	publishAll(t, b, threads, func(i int) *nats.Msg {
		return &nats.Msg{Subject: fmt.Sprint("thread.message.t", i), Data: []byte(message("m1"))}
	})
	var mu sync.Mutex
	largest, open := 0, map[int]int{}
	o.Failpoint = func(point string, partition int) error {
		mu.Lock()
		defer mu.Unlock()
		switch point {
		case processor.FailApplied:
			open[partition]++
			largest = max(largest, open[partition])
		case processor.FailFlush:
			open[partition] = 0
		}
		return nil
	}
	p := start(t, o)
	if err := p.Settled(within(t)); err != nil {
		t.Fatal(err)
	}
	p.end()
	mu.Lock()
	defer mu.Unlock()
	if most := bytes / 4 / 1000; largest > most || largest == 0 { // each takes more than 1,000 bytes
		t.Errorf("a batch of %d threads, want %d at most", largest, most)
	}
	if n := eventsOf(t, verifyStore(t, c, b), c.Partitions); n != threads {
		t.Errorf("%d events counted, %d are there", n, threads)
	}
}

// A partition that is given up while it is read in bulk ends behind the last batch of that. No other test runs meanwhile: its stacks would count.
func TestGivenUpInBulk(t *testing.T) {
	b, c := openBroker(t, t.TempDir()), settings(t)
	c.Partitions = 1
	lived(t, processor.Options{Config: c, Logger: logger(t), Broker: b})
	grown(t, b.Conn(), "a", 40)
	member := *c
	member.Cluster.Name, member.DataDir = "flock", t.TempDir()
	var reads atomic.Bool
	release := make(chan struct{})
	p := start(t, processor.Options{Config: &member, Logger: logger(t), Broker: b, BulkFrom: 1, BulkBytes: 2, Failpoint: func(name string, partition int) error {
		switch {
		case partition != 0:
		case name == processor.FailApplied:
			reads.Store(true)
		case name == processor.FailSeen && reads.Load():
			<-release
		}
		return nil
	}})
	until(t, "no batch waits for those before it", func() bool {
		return slices.ContainsFunc(strings.Split(stacks(), "\n\n"), func(one string) bool {
			return strings.Contains(one, "[chan send") && strings.Contains(one, "(*partition).follow(") && strings.Contains(one, "(*partition).bulk(")
		})
	})
	p.MakeAgain(0)
	until(t, "the partition is not given up", func() bool { return strings.Contains(stacks(), "(*Processor).endLife(") })
	close(release)
	until(t, "it is not taken again", func() bool { return !p.MadeAgain(0) && len(p.Owned()) == c.Partitions+1 })
	if err := p.Settled(within(t)); err != nil {
		t.Error(err)
	}
	p.end()
}
