package parked_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

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
	if err := s.Put(ctx, 3, []*state.Packed{packed("early", 10)}); err == nil {
		t.Error("put before there is a stream")
	}
	if _, err := s.Get(ctx, 3, "early"); err == nil || errors.Is(err, state.ErrNoObject) {
		t.Errorf("get before there is a stream: %v", err)
	}
	for range 2 { // the second finds it
		if err := s.Provision(ctx, 1); err != nil {
			t.Fatal(err)
		}
	}
	list := []*state.Packed{packed("a", 1), packed("b", 512<<10), packed("c", 512<<10+1), packed("d", 3<<20)}
	for range 2 {
		if err := s.Put(ctx, 3, list); err != nil {
			t.Fatal(err)
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
	if err := s.Put(ctx, 3, list[1:2]); err != nil { // again
		t.Fatal(err)
	}
	deadline, every := time.After(time.Minute), time.NewTicker(20*time.Millisecond)
	defer every.Stop()
	for {
		msgs, _, err := s.Size(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if msgs == 2 {
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
