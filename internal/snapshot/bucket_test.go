package snapshot_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"precis/internal/broker"
	"precis/internal/snapshot"
)

func open(t *testing.T) (*broker.Broker, *snapshot.Bucket) {
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
	var s *snapshot.Bucket
	for range 2 { // the second finds it
		if s, err = snapshot.Open(t.Context(), b.JetStream(), pub, "c", 1); err != nil {
			t.Fatal(err)
		}
	}
	return b, s
}

func random(n int) []byte {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(rand.Uint32())
	}
	return data
}

func put(t *testing.T, s *snapshot.Bucket, position uint64, data []byte, pace func(int) error) error {
	t.Helper()
	_, err := s.Put(t.Context(), snapshot.Info{
		Partition: 7, Partitions: 16, Format: "f", Position: position, First: 1, Config: "c", Time: time.Unix(int64(position), 0).UTC(),
	}, bytes.NewReader(data), pace)
	return err
}

func free(int) error { return nil }

// The two newest objects of a partition are there, whole, and nothing else is stored; any client of NATS reads them.
func TestPutAndGet(t *testing.T) {
	b, s := open(t)
	sizes := []int{0, 1, 128 << 10, 3<<20 + 17, 2 << 20, 500_000}
	var held [][]byte
	for n, size := range sizes {
		data := random(size)
		if err := put(t, s, uint64(n+1), data, free); err != nil {
			t.Fatal(err)
		}
		held = append(held, data)
		list, err := s.List(t.Context(), 7)
		if err != nil || len(list) != min(n+1, 2) {
			t.Fatalf("%d objects: %v", len(list), err)
		}
		for at, info := range list {
			var got bytes.Buffer
			if err := s.Get(t.Context(), info, &got); err != nil || !bytes.Equal(got.Bytes(), held[n-at]) {
				t.Errorf("object %d of %d: %d bytes: %v", at, n, got.Len(), err)
			}
			if info.Position != uint64(n+1-at) || info.Partition != 7 || info.Partitions != 16 || info.Format != "f" || info.First != 1 || info.Config != "c" || !info.Time.Equal(time.Unix(int64(n+1-at), 0)) {
				t.Errorf("it says %+v", info)
			}
		}
	}
	objects, err := b.JetStream().ObjectStore(t.Context(), snapshot.Name("c"))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]byte{"partition-7-a": held[4], "partition-7-b": held[5]} {
		if got, err := objects.GetBytes(t.Context(), name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s has %d bytes, want %d: %v", name, len(got), len(want), err)
		}
	}
	status, err := objects.Status(t.Context())
	if most := uint64(len(held[4])+len(held[5])) + 10_000; err != nil || status.Size() > most {
		t.Errorf("the store has %d bytes: %v", status.Size(), err)
	}
	if list, err := s.List(t.Context(), 8); len(list) > 0 || err != nil {
		t.Errorf("another partition has %v: %v", list, err)
	}
}

// A transfer that breaks off leaves the object that it was to replace torn, and the other one whole; the next one replaces it.
func TestTorn(t *testing.T) {
	b, s := open(t)
	for n := range uint64(2) {
		if err := put(t, s, n+1, random(3<<20), free); err != nil {
			t.Fatal(err)
		}
	}
	died := errors.New("died")
	if err := put(t, s, 3, random(3<<20), func(int) error { return died }); !errors.Is(err, died) {
		t.Fatal(err)
	}
	whole := func() (positions []uint64) {
		list, err := s.List(t.Context(), 7)
		if err != nil {
			t.Fatal(err)
		}
		for _, info := range list {
			err := s.Get(t.Context(), info, &bytes.Buffer{})
			if err == nil {
				positions = append(positions, info.Position)
			} else if !errors.Is(err, snapshot.ErrTorn) {
				t.Error(err)
			}
		}
		return positions
	}
	if got := whole(); len(got) != 1 || got[0] != 2 {
		t.Errorf("whole: %v", got)
	}
	if err := put(t, s, 4, random(1000), free); err != nil {
		t.Fatal(err)
	}
	if got := whole(); len(got) != 2 || got[0] != 4 {
		t.Errorf("whole: %v", got)
	}
	if _, err := b.JetStream().Publish(t.Context(), "$O.precis_c.C.partition-7-a", []byte("more")); err != nil {
		t.Fatal(err)
	}
	if got := whole(); len(got) != 1 {
		t.Errorf("whole, with something behind one: %v", got)
	}
	if err := b.JetStream().DeleteObjectStore(t.Context(), snapshot.Name("c")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.List(t.Context(), 7); err == nil {
		t.Error("a store that is gone has a list")
	}
}
