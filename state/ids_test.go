package state

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"precis/internal/thread"
)

// A message that is there is never taken for a new one, whatever was evicted or opened again meanwhile; and
// a thread that grows up here is known whole.
func TestNoMessageIsForgotten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		store, err := Open("store", Options{FS: Memory()})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		p := open(t, store)
		have := map[string]uint64{}
		for n := uint64(1); n < 200; n++ {
			name, id := fmt.Sprint("t", n%3), fmt.Sprint("m", rapid.IntRange(0, 100).Draw(t, "id"))
			switch rapid.IntRange(0, 60).Draw(t, "circumstance") {
			case 0:
				p.ids.lru.Remove(name)
			case 1:
				if _, err := p.Commit(NoSync); err != nil {
					t.Fatal(err)
				}
				_ = p.Close()
				p = open(t, store)
			}
			st, err := p.LoadThread(name)
			if err == nil {
				err = p.loadMessage(st, id)
			}
			if err != nil {
				t.Fatal(err)
			}
			if at := have[name+id]; (st.Message == nil) != (at == 0) || at != 0 && st.Message.Ordinal != at {
				t.Fatalf("message %s of %s: %+v, it has ordinal %d", id, name, st.Message, at)
			}
			if st.Message == nil {
				st.Header.Ordinals++
				st.Message = &thread.Message{ID: id, Ordinal: st.Header.Ordinals}
				st.Changes = thread.Changes{MessagePut: true, MessageNew: true}
				have[name+id] = st.Header.Ordinals
				p.Save(st)
			}
		}
		_ = p.Close()
	})
}

func open(t *rapid.T, store *Store) *Partition {
	p, err := store.Partition(0)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// What is remembered stays within its bound, and a thread of any length has its place or none.
func TestIDsAreBounded(t *testing.T) {
	s := newIDs(idsBytes / 16)
	for i := range 400_000 {
		name := fmt.Sprint("t", i%2000)
		if i >= 200_000 {
			name = "long"
		}
		s.add(name, s.of(name, 0), fmt.Sprint(i))
		if s.bytes > s.most {
			t.Fatalf("%d bytes", s.bytes)
		}
	}
	bytes := 0
	for _, set := range s.lru.Values() {
		bytes += set.weight()
	}
	if bytes != s.bytes {
		t.Fatalf("counted %d bytes, there are %d", s.bytes, bytes)
	}
}

// TestIDsOfABusyThreadStay: a thread that one large batch asks for all the time is not taken for one that nobody uses.
func TestIDsOfABusyThreadStay(t *testing.T) {
	p := inMemory(t)
	p.writes("busy").ids = p.ids.of("busy", 0)
	for i := range 16384 {
		name := fmt.Sprint("t", i/4)
		other := p.ids.of(name, 0)
		for k := range 40 {
			p.ids.add(name, other, fmt.Sprint(i, k))
		}
		set := p.idsOf("busy", uint64(i))
		if !set.whole {
			t.Fatalf("its ids are gone at event %d", i)
		}
		p.ids.add("busy", set, fmt.Sprint(i))
	}
}

// A set of hashes is that of a map, however they collide.
func TestHashes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s hashes
		have := map[uint32]bool{}
		hash := rapid.OneOf(rapid.Uint32Range(0, 40), rapid.Map(rapid.Uint32Range(0, 40), func(h uint32) uint32 { return h << 16 }))
		for range rapid.IntRange(0, 100).Draw(t, "hashes") {
			if rapid.IntRange(0, 20).Draw(t, "clear") == 0 {
				s.clear(rapid.SampledFrom([]int{0, 16, 64}).Draw(t, "most"))
				clear(have)
			}
			if h := hash.Draw(t, "hash"); s.has(h) != have[named(h)] {
				t.Fatalf("%d is there: %v", h, s.has(h))
			} else if rapid.Bool().Draw(t, "add") {
				s.add(h)
				have[named(h)] = true
			}
		}
		if s.n != len(have) {
			t.Fatalf("%d hashes, want %d", s.n, len(have))
		}
	})
}
