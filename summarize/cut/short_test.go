package cut

import (
	"testing"

	"pgregory.net/rapid"
)

// A cut that may not reach as far as it could stands at a safe place, or at the limit itself, and the counters agree with
// what it leaves.
func TestShort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items, c := threads().Draw(t, "thread"), policies().Draw(t, "policy")
		var s State
		for _, it := range items {
			s.Apply(it, c)
		}
		pos, ok := s.Choose(c.Keep)
		whole := s.Split(pos, items, c)
		if _, messages := whole.Removed(); !ok || messages < 2 {
			t.Skip("nothing to shorten")
		}
		first := 0
		for whole.Replaced[first].Deleted {
			first++
		}
		limit := rapid.SampledFrom(whole.Replaced[first+1:]).Draw(t, "limit").Ordinal
		at := s.Short(items, 0, limit, c)
		if at > limit || at <= whole.Replaced[first].Ordinal {
			t.Fatalf("at %d, with a limit of %d, of what begins at %d", at, limit, whole.Replaced[first].Ordinal)
		}
		for r, calls := range pairing(items) {
			for _, call := range calls {
				if at < limit && (items[call].Ordinal < at) != (items[r].Ordinal < at) {
					t.Fatalf("at %d, between call %d and result %d", at, items[call].Ordinal, items[r].Ordinal)
				}
			}
		}
		short := s.Split(Position{At: at}, items, c)
		var passed []Item
		var behind weight
		for _, it := range items {
			if it.Ordinal < at {
				passed = append(passed, it)
			} else {
				behind = behind.plus(it.weight())
			}
		}
		s.Replace(s.Before(at, short.Replaced, passed))
		agree(t, s.Facts(c), append(short.Held, short.Kept...))
		if last := passed[len(passed)-1]; s.Behind != behind || s.Edge != (Edge{At: last.Ordinal, Weight: last.weight()}) {
			t.Fatalf("edge %+v, %+v behind it, want %+v and %+v", s.Edge, s.Behind, last, behind)
		}
	})
}

// What earlier cuts have held may be more than one leaf takes: the rest is held on.
func TestHold(t *testing.T) {
	c := Cut{Replaced: []Item{{Ordinal: 1}, {Ordinal: 3}, {Ordinal: 5}}, Held: []Item{{Ordinal: 2}, {Ordinal: 4}}}
	got := c.Hold(3)
	if len(got.Replaced) != 1 || len(got.Held) != 4 {
		t.Fatalf("got %+v", got)
	}
	for i, it := range got.Held {
		if it.Ordinal != uint64(i+2) {
			t.Errorf("%d at %d", it.Ordinal, i)
		}
	}
}
