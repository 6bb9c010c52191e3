package state

import (
	"fmt"
	"testing"

	"precis/internal/thread"
)

// Pebble takes its memtables out of the block cache: what has been read is in it all the same when both are there.
func TestBlockCacheBesideMemtables(t *testing.T) {
	s, err := Open(t.TempDir(), Options{Scratch: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	p, err := s.Partition(0)
	if err != nil {
		t.Fatal(err)
	}
	ledger := make([]byte, 1<<20)
	const written = 2 * memTables * memTableBytes // the first ones are smaller
	for i := range written / len(ledger) {
		p.set(p.key(kindLedger).part("t").rest(fmt.Sprint("s", i)), ledger)
		if _, err := p.Commit(NoSync); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.db.Flush(); err != nil {
		t.Fatal(err)
	}
	if held := s.db.Metrics().MemTable.Size + s.db.Metrics().MemTable.ZombieSize; held < memTables*memTableBytes {
		t.Fatalf("%d bytes of memtables are held: the test says nothing", held)
	}
	for range 2 {
		if got, err := s.View(0).Ledger("t", "s1"); err != nil || len(got) != len(ledger) {
			t.Fatalf("%d bytes of a ledger, %v", len(got), err)
		}
	}
	if c := s.db.Metrics().BlockCache; c.Size < int64(len(ledger)) {
		t.Errorf("the block cache holds %d bytes of a ledger of %d", c.Size, len(ledger))
	}
}

// What partitions keep in memory is bounded for all of them together, however many they are.
func TestPartitionsShareMemory(t *testing.T) {
	for _, n := range []int{1, 16, 1024} {
		s, err := Open("state", Options{FS: Memory(), Partitions: n})
		if err != nil {
			t.Fatal(err)
		}
		p, err := s.Partition(0)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 40_000 {
			name := fmt.Sprint("t", i)
			p.hot.put(name, &thread.Header{Thread: name}, nil)
			p.ids.add(name, p.ids.of(name, 0), "m")
		}
		if n*p.hot.bytes > hotBytes || n*p.ids.bytes > idsBytes {
			t.Errorf("%d partitions would keep %d and %d bytes", n, n*p.hot.bytes, n*p.ids.bytes)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
