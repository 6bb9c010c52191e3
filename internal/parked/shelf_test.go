package parked_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"precis/internal/broker"
	"precis/internal/parked"
	"precis/state"
)

func open(t *testing.T) (*broker.Broker, *parked.Shelf) {
	t.Helper()
	b, err := broker.Open(t.Context(), broker.Options{StoreDir: t.TempDir(), Sync: "2m", Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close(context.Background()) })
	pub, err := broker.NewPublisher(b.Conn(), broker.PublisherConfig{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pub.Close() })
	return b, parked.New(b.JetStream(), pub)
}

func packed(name string, size int) *state.Packed {
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(rand.Uint32())
	}
	return &state.Packed{Parked: state.Parked{Object: name}, Data: data}
}

// Objects of any size come back as they were put, until they are deleted, and then nothing is left of them.
func TestPutGetDelete(t *testing.T) {
	_, s := open(t)
	ctx := t.Context()
	if _, err := s.Put(ctx, 3, []*state.Packed{packed("early", 10)}); err == nil {
		t.Error("put before there is a stream")
	}
	if _, err := s.Get(ctx, 3, "early"); err == nil || errors.Is(err, state.ErrNoObject) {
		t.Errorf("get before there is a stream: %v", err)
	}
	for range 2 { // the second finds it
		if has, err := s.Provision(ctx, 1); has != 1 || err != nil {
			t.Fatal(err)
		}
	}
	list := []*state.Packed{packed("a", 1), packed("b", 512<<10), packed("c", 512<<10+1), packed("d", 3<<20)}
	for range 2 {
		places, err := s.Put(ctx, 3, list)
		if err != nil || slices.ContainsFunc(places, func(at parked.Place) bool { return at == nil }) {
			t.Fatal(places, err)
		}
	}
	if msgs, size, err := s.Size(ctx); msgs != 1+1+2+6 || size < 4<<20 || err != nil {
		t.Errorf("%d messages of %d bytes: %v", msgs, size, err)
	}
	for _, o := range list {
		if got, err := s.Get(ctx, 3, o.Object); err != nil || !bytes.Equal(got, o.Data) {
			t.Errorf("%s: %d bytes: %v", o.Object, len(got), err)
		}
		if _, err := s.Get(ctx, 4, o.Object); !errors.Is(err, state.ErrNoObject) {
			t.Errorf("%s of another partition: %v", o.Object, err)
		}
	}
	for _, o := range list[1:] {
		if err := errors.Join(s.Delete(ctx, 3, o.Object), s.Delete(ctx, 3, o.Object)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Get(ctx, 3, o.Object); !errors.Is(err, state.ErrNoObject) {
			t.Errorf("%s is deleted: %v", o.Object, err)
		}
	}
	deadline, every := time.After(time.Minute), time.NewTicker(20*time.Millisecond)
	defer every.Stop()
	for {
		msgs, _, err := s.Size(ctx)
		if err != nil {
			t.Fatal(err)
		}
		places, err := s.Put(ctx, 3, list[1:2]) // again, once it is gone
		if err != nil {
			t.Fatal(err)
		}
		if msgs == 2 && places[0] != nil {
			break
		}
		select {
		case <-every.C:
		case <-deadline:
			t.Fatalf("%d messages are left", msgs)
		}
	}
	for _, o := range list[:2] {
		if got, err := s.Get(ctx, 3, o.Object); err != nil || !bytes.Equal(got, o.Data) {
			t.Errorf("%s: %d bytes: %v", o.Object, len(got), err)
		}
	}
}

// Only an object that is where it was put, as it was put, and old enough is settled; and a second Put does not touch it.
func TestSettled(t *testing.T) {
	b, s := open(t)
	ctx := t.Context()
	if has, err := s.Provision(ctx, 1); has != 1 || err != nil {
		t.Fatal(err)
	}
	o := packed("", 512<<10+1)
	sum := state.NewObjectSum()
	sum.Write(o.Data)
	o.Object = sum.Object()
	at, err := s.Put(ctx, 3, []*state.Packed{o})
	if err != nil {
		t.Fatal(err)
	}
	now, err := s.Now(ctx)
	if err != nil {
		t.Fatal(err)
	}
	settled := func(since time.Time) error { return s.Settled(ctx, 3, o.Object, at[0], since) }
	if err := settled(now); err != nil {
		t.Error(err)
	}
	if err := settled(now.Add(-time.Minute)); !errors.Is(err, parked.ErrYoung) {
		t.Errorf("a minute ago: %v", err)
	}
	if again, err := s.Put(ctx, 3, []*state.Packed{o}); err != nil || !slices.Equal(again[0], at[0]) {
		t.Errorf("put again: %v, was %v: %v", again, at, err)
	}
	stream, err := b.JetStream().Stream(ctx, parked.Stream)
	if err != nil {
		t.Fatal(err)
	}
	second := "precis.parked.3." + o.Object + ".1"
	if err := stream.Purge(ctx, jetstream.WithPurgeSubject(second)); err != nil {
		t.Fatal(err)
	}
	if err := settled(now); !errors.Is(err, parked.ErrMoved) {
		t.Errorf("a part is gone: %v", err)
	}
	if at, err = s.Put(ctx, 3, []*state.Packed{o}); err != nil {
		t.Fatal(err)
	}
	if now, err = s.Now(ctx); err != nil || settled(now) != nil {
		t.Error("a part is there again", err, settled(now))
	}
	was := at[0]
	if _, err := b.JetStream().Publish(ctx, second, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := settled(now); !errors.Is(err, parked.ErrMoved) {
		t.Errorf("a part was written again: %v", err)
	}
	if at, err = s.Put(ctx, 3, []*state.Packed{o}); err != nil || slices.Equal(at[0], was) {
		t.Fatal(at, err)
	}
	if now, err = s.Now(ctx); err != nil || !errors.Is(settled(now), parked.ErrMoved) {
		t.Error("a part is another", err, settled(now))
	}
}
