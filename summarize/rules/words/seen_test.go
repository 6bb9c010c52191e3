package words

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

func TestSeen(t *testing.T) {
	var s Seen
	s.Add("func (s *Store) ReadAll(path string) in store/file_store.go and words")
	for _, w := range []string{"ReadAll", "store/file_store.go", "file_store"} {
		if !s.Has(w) {
			t.Errorf("%s is not seen", w)
		}
	}
	for _, w := range []string{"words", "ReadOne", "Store"} { // prose is not kept
		if s.Has(w) {
			t.Errorf("%s is seen", w)
		}
	}
	if (*Seen)(nil).Has("ReadAll") {
		t.Error("nil has seen something")
	}
}

// TestSeenIsBounded: the older generation goes when the younger is full, and new identifiers always stay.
func TestSeenIsBounded(t *testing.T) {
	var s Seen
	for i := range 3 * seenGeneration {
		s.Add(fmt.Sprintf("id_%d", i))
		if s.Len() > 2*seenGeneration {
			t.Fatalf("%d identifiers held", s.Len())
		}
	}
	if s.Has("id_0") || !s.Has(fmt.Sprintf("id_%d", 3*seenGeneration-1)) || !s.Has(fmt.Sprintf("id_%d", 2*seenGeneration+1)) {
		t.Error("the wrong ones are forgotten")
	}
}

func TestSeenRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a, b Seen
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, 1000), 0, 50).Draw(t, "ids") {
			a.Add(fmt.Sprintf("name_%d", n))
		}
		raw, _ := a.MarshalBinary()
		if err := b.UnmarshalBinary(raw); err != nil {
			t.Fatal(err)
		}
		again, _ := b.MarshalBinary()
		if !bytes.Equal(raw, again) || a.Len() != b.Len() {
			t.Fatalf("%x, again %x", raw, again)
		}
	})
}

func FuzzSeen(f *testing.F) {
	var s Seen
	s.Add("a_b c.d")
	raw, _ := s.MarshalBinary()
	f.Add(raw)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, raw []byte) {
		var s Seen
		if err := s.UnmarshalBinary(raw); err != nil && !errors.Is(err, ErrDamaged) {
			t.Fatal(err)
		}
	})
}
