package processor

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"precis/internal/broker"
	"precis/internal/parked"
	"precis/state"
)

// cancels ends a context at the first line that is logged.
type cancels struct{ cancel context.CancelFunc }

func (c cancels) Run(*zerolog.Event, zerolog.Level, string) { c.cancel() }

// What the server is known to have is parked, also if it can't be asked for what comes behind.
func TestSettledInFrontOfAFailure(t *testing.T) {
	b, err := broker.Open(t.Context(), broker.Options{StoreDir: t.TempDir(), Sync: "2m", Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close(context.WithoutCancel(t.Context())) }()
	pub, err := broker.NewPublisher(b.Conn(), broker.PublisherConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pub.Close() }()
	shelf := parked.New(b.JetStream(), pub)
	if _, err := shelf.Provision(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	var objects []*state.Packed
	for _, name := range []string{"a", "b", "c"} {
		o := &state.Packed{Thread: name, Data: []byte(name)}
		sum := state.NewObjectSum()
		sum.Write(o.Data)
		o.Object = sum.Object()
		objects = append(objects, o)
	}
	places, err := shelf.Put(t.Context(), 1, objects)
	if err != nil {
		t.Fatal(err)
	}
	places[1][0]++ // the server has made it anew elsewhere, which is logged
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p := &Processor{shelf: shelf, metrics: newMetrics(""), parking: parking{settles: time.Nanosecond}}
	k := &parkingPart{part: &partition{id: 1, log: zerolog.New(zerolog.NewTestWriter(t)).Hook(cancels{cancel})}, waits: map[string]bool{}}
	for i, o := range objects {
		k.put = append(k.put, putObject{Packed: *o, place: places[i]})
		k.waits[o.Thread] = true
	}
	done, err := p.settled(ctx, k, time.Now())
	if !errors.Is(err, context.Canceled) || len(done) != 1 || done[0].Thread != "a" {
		t.Errorf("%d are settled: %v", len(done), err)
	}
	if len(k.put) > 0 || len(k.waits) > 0 {
		t.Errorf("%d wait, and %v: they are never found again", len(k.put), k.waits)
	}
}

// A partition that has left, and is back as another one, begins anew.
func TestParkingForgetsWhatHasLeft(t *testing.T) {
	stays, left := &partition{id: 1}, &partition{id: 2}
	k := parking{parts: map[int]*parkingPart{}}
	first, old := k.of(stays), k.of(left)
	old.after = "thread"
	k.forget(func(id int) *partition { return map[int]*partition{1: stays}[id] })
	if k.of(stays) != first || len(k.parts) != 1 {
		t.Errorf("%d partitions are held", len(k.parts))
	}
	if again := k.of(left); again == old || again.after != "" {
		t.Error("it goes on where it was")
	}
	if again := k.of(&partition{id: 1}); again == first {
		t.Error("another one's parking goes on")
	}
}
