package cut

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// After a rewind the counters are those of a thread that ended there: they say the same of it, and of what comes then. The cuts
// before the place to which the thread goes back stand.
func TestRewind(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items, c := threads().Draw(t, "thread"), policies().Draw(t, "policy")
		if len(items) == 0 {
			t.Skip("nothing to rewind")
		}
		keep := rapid.IntRange(1, len(items)).Draw(t, "stay")
		cutAt := rapid.IntRange(0, keep).Draw(t, "cut")
		var s, want State
		var passed Position
		fold := func(s *State, items []Item, from int) {
			for i, it := range items {
				s.Apply(it, c)
				if p, ok := s.Choose(c.Keep); ok && from+i+1 == cutAt {
					passed = p
					s.Replace(p)
				}
			}
		}
		fold(&s, items, 0)
		fold(&want, items[:keep], 0)
		for _, it := range items[keep:] {
			gone := it
			gone.Deleted = true
			s.Adjust(it, gone, c)
		}
		after := uint64(0)
		if passed.At > 0 {
			after = passed.At - 1
		}
		first, _ := slices.BinarySearchFunc(items, after+1, func(it Item, at uint64) int { return int(it.Ordinal) - int(at) })
		from := max(0, min(first, keep)-Lookback)
		s.Rewind(items[from:keep], after, c)
		for _, turn := range []struct {
			role    string
			got, of Turn
		}{{"user", s.User, want.User}, {"assistant", s.Assistant, want.Assistant}} { // latest turns may be older than what was folded again
			if turn.got.At > 0 {
				continue
			}
			var latest Item
			var members []Item
			for _, it := range items[:keep] {
				if it.Ordinal == turn.of.At && it.Role == turn.role {
					latest = it
				}
				if slices.Contains(turn.of.Members, it.Ordinal) {
					members = append(members, it)
				}
			}
			s.Retake(turn.role, latest, members, c)
		}
		same := func(where string) {
			if got, want := s.Facts(c), want.Facts(c); got != want {
				t.Fatalf("%s: %+v, want %+v", where, got, want)
			}
			ids := func(calls []Call) (ids []string) {
				for _, call := range calls {
					ids = append(ids, call.ID)
				}
				return ids
			}
			if !slices.Equal(ids(s.Open), ids(want.Open)) {
				t.Fatalf("%s: calls %q wait, want %q", where, ids(s.Open), ids(want.Open))
			}
			if !slices.Equal(ids(s.Early), ids(want.Early)) {
				t.Fatalf("%s: results of %q wait, want %q", where, ids(s.Early), ids(want.Early))
			}
			if s.Speaking() != want.Speaking() {
				t.Fatalf("%s: the assistant speaks: %v, want %v", where, s.Speaking(), want.Speaking())
			}
		}
		same("after the rewind")
		next := threads().Draw(t, "then")
		for _, it := range next {
			it.Ordinal += items[len(items)-1].Ordinal
			s.Apply(it, c)
			want.Apply(it, c)
			same("then")
		}
	})
}
