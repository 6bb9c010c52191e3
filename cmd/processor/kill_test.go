package main

import (
	"context"
	"flag"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"precis/events"
)

var (
	kills           = flag.Int("kills", 5, "how often TestKill kills the program")
	killTranscripts = flag.Int("kills.transcripts", 1000, "how many events of real transcripts TestKill publishes, where they are")
	killSeed        = flag.Uint64("kills.seed", 0, "the seed of TestKill; 0 takes one of the clock")
)

// The program is killed at any moment, again and again, while agents publish: nothing is lost, nothing is
// counted twice, no summary is made twice.
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("kills the program for many seconds")
	}
	seed := *killSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("go test -run TestKill -kills %d -kills.seed %d", *kills, seed)
	random := rand.New(rand.NewPCG(seed, 0))
	l := newLoad()
	l.generate(t, random, 30, 60)
	l.addFiles(t, *killTranscripts)

	program := build(t)
	v := newVictim(t, program)
	v.start(t)
	early := l.publishKilling(t, v, random)
	t.Logf("%d events of %d threads, %d kills, %d of them before it ran again", len(l.events), len(l.threads), *kills, early)
	before := l.verify(t, v)

	v.stop(t)
	v.check(t)
	v.start(t)
	v.awaitRunning(t)
	l.publish(t, v, func(int) {})
	if after := l.verify(t, v); !maps.Equal(before, after) {
		t.Error("publishing everything again changed counters")
	}
	v.stop(t)
	v.check(t)
	v.start(t)
	v.awaitRunning(t)
	l.reexport(t, v, newVictim(t, program), random)
}

// publishKilling publishes everything once, and kills the program in between; early is how often that was before
// it was back.
func (l *load) publishKilling(t *testing.T, v *victim, random *rand.Rand) (early int) {
	t.Helper()
	moments := make([]int, *kills)
	for i := range moments {
		moments[i] = random.IntN(len(l.events))
	}
	slices.Sort(moments)
	l.publish(t, v, func(stored int) {
		for len(moments) > 0 && moments[0] <= stored {
			moments = moments[1:]
			<-time.After(time.Duration(random.IntN(30)) * time.Millisecond)
			for random.IntN(4) == 0 && len(moments) > 0 { // and again while it recovers
				v.restart(t)
				<-time.After(time.Duration(random.IntN(100)) * time.Millisecond)
				moments = moments[1:]
				early++
			}
			v.restart(t)
			v.awaitRunning(t)
		}
	})
	return early
}

// restart kills it, and starts it again.
func (v *victim) restart(t *testing.T) {
	t.Helper()
	v.kill()
	v.start(t)
}

// publish has everything published in order, as an agent does whose processor dies, and tells after each event
// how many are stored.
func (l *load) publish(t *testing.T, v *victim, stored func(n int)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), killTimeout)
	defer cancel()
	nc, err := events.Connect(v.url(), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	publisher, err := events.NewPublisher(nc, events.PublisherOptions{BufferEvents: 500, BatchEvents: 50})
	if err != nil {
		t.Fatal(err)
	}
	receipts, failed := make(chan *events.Receipt, len(l.events)), make(chan error, 1)
	go func() {
		defer close(receipts)
		for _, e := range l.events {
			receipt, err := publisher.Publish(ctx, e.Type, e.Thread, e.Data)
			if err != nil {
				failed <- err
				return
			}
			receipts <- receipt
		}
	}()
	n := 0
	for receipt := range receipts {
		if _, err := receipt.Wait(ctx); err != nil {
			t.Fatalf("event %d: %v", n, err)
		}
		n++
		stored(n)
	}
	if n < len(l.events) {
		t.Fatal(<-failed)
	}
	if err := publisher.Close(ctx); err != nil {
		t.Fatal(err)
	}
}

// reexport publishes what some threads export into an empty server, where they must be the same again.
func (l *load) reexport(t *testing.T, from, to *victim, random *rand.Rand) {
	t.Helper()
	to.start(t)
	to.awaitRunning(t)
	threads := slices.Sorted(maps.Keys(l.threads))
	random.Shuffle(len(threads), func(i, j int) { threads[i], threads[j] = threads[j], threads[i] })
	for _, thread := range threads[:min(10, len(threads))] {
		exported := program(t, "", "export", thread, "--nats", from.url())
		exported.wants(t, exitDone, "", "0 left out")
		program(t, exported.stdout, "publish", "-", "--nats", to.url()).wants(t, exitDone, "", "")
		if want, got := from.countersOf(t, thread), to.countersOf(t, thread); want != got {
			t.Errorf("thread %q exported and published: %+v, before %+v", thread, got, want)
		}
	}
}
