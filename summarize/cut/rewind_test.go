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

// A message that is restored behind the place to which a thread was rewound has its own place again, before what has come since.
// Every position has before it what stands there, and the edge has behind it what stands there.
func TestRestoreBehindARewind(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items, c := threads().Draw(t, "thread"), policies().Draw(t, "policy")
		if len(items) == 0 {
			t.Skip("nothing to rewind")
		}
		var s State
		for _, it := range items {
			s.Apply(it, c)
		}
		keep := rapid.IntRange(1, len(items)).Draw(t, "stay")
		present, gone := slices.Clone(items[:keep]), slices.Clone(items[keep:])
		for _, it := range gone {
			deleted := it
			deleted.Deleted = true
			s.Adjust(it, deleted, c)
		}
		s.Rewind(present, 0, c)
		weigh := func(from, to uint64) (all, free weight) { // inclusive
			for _, it := range present {
				if it.Ordinal >= from && it.Ordinal <= to {
					all, free = all.plus(it.weight()), free.plus(it.free(c))
				}
			}
			return all, free
		}
		restore := func() {
			i := rapid.IntRange(0, len(gone)-1).Draw(t, "restored")
			it := gone[i]
			gone = slices.Delete(gone, i, i+1)
			before := it
			before.Deleted, it.Deleted = true, false
			s.Adjust(before, it, c)
			at, _ := slices.BinarySearchFunc(present, it.Ordinal, func(it Item, at uint64) int { return int(it.Ordinal) - int(at) })
			present = slices.Insert(present, at, it)
		}
		same := func() {
			all, free := weigh(0, ^uint64(0))
			behind, _ := weigh(s.Edge.At+1, ^uint64(0))
			last := present[len(present)-1]
			if s.Seen != all || s.Free != free || s.Behind != behind || s.LastAt != last.Ordinal || s.Last != last.weight() {
				t.Fatalf("seen %v free %v behind %v last %d %v, want %v %v %v %d %v", s.Seen, s.Free, s.Behind, s.LastAt, s.Last, all, free, behind, last.Ordinal, last.weight())
			}
			for _, p := range append([]Position{s.BestAny, s.BestUser}, s.Pending...) {
				if p.At == 0 {
					continue
				}
				want := Position{At: p.At, User: p.User}
				for _, it := range present {
					if it.Ordinal < p.At {
						want.Prev = it.Ordinal
					}
				}
				want.Before, want.Free = weigh(0, p.At-1)
				if want.Prev > 0 {
					want.Tail, _ = weigh(0, want.Prev-1)
				}
				if p != want {
					t.Fatalf("position %+v, want %+v", p, want)
				}
			}
		}
		same()
		for _, it := range threads().Draw(t, "then") {
			if len(gone) > 0 && rapid.IntRange(0, 2).Draw(t, "restore") == 0 {
				restore()
				same()
			}
			it.Ordinal += items[len(items)-1].Ordinal
			s.Apply(it, c)
			present = append(present, it)
			if p, ok := s.Choose(c.Keep); ok && rapid.IntRange(0, 9).Draw(t, "cut") == 0 {
				s.Replace(p)
			}
			same()
		}
	})
}
