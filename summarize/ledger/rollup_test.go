package ledger

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A Condenser's reuse of memory changes no result, neither the next nor earlier ones.
func TestCondenserIsCondense(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c Condenser
		var made []Ledger
		var want []string
		for range rapid.IntRange(1, 4).Draw(t, "times") {
			var leaves []Ledger
			var kept []Message
			for _, s := range spans().Draw(t, "spans") {
				leaves, kept = append(leaves, Collect(s)), s
			}
			if rapid.Bool().Draw(t, "alone") {
				kept = nil
			}
			chars := rapid.IntRange(1, 3000).Draw(t, "chars")
			l, write := Condense(Merge(leaves...), kept)
			got, text := c.Merged(leaves, kept)
			if a, b := text(chars), write(chars); a != b {
				t.Fatalf("%q, made anew %q", a, b)
			}
			made, want = append(made, got), append(want, encoded(t, l))
		}
		for i := range made {
			if a := encoded(t, made[i]); a != want[i] {
				t.Fatalf("%s\nmade anew\n%s", a, want[i])
			}
		}
	})
}

// A text is the same whatever was written from the same ledger before.
func TestWritingAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := Collect(slices.Concat(spans().Draw(t, "spans")...))
		_, write := Condense(l, nil)
		for _, chars := range rapid.SliceOfN(rapid.IntRange(1, 3000), 1, 5).Draw(t, "chars") {
			_, fresh := Condense(l, nil)
			if a, b := write(chars), fresh(chars); a != b {
				t.Fatalf("%q, first %q", a, b)
			}
		}
	})
}

// The index finds what was added, and nothing else.
func TestIndex(t *testing.T) {
	var x index
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOf(rapid.StringMatching(`[a-c]{0,4}`)).Draw(t, "names")
		x.reset(len(names))
		var want []string
		for _, n := range names {
			at, fresh := x.add(n)
			if fresh {
				want = append(want, n)
			}
			if at != slices.Index(want, n) {
				t.Fatalf("%q stands at %d of %q", n, at, want)
			}
		}
		other := rapid.StringMatching(`[a-d]{0,4}`).Draw(t, "other")
		if at := x.find(other); at != slices.Index(want, other) {
			t.Fatalf("%q is found at %d of %q", other, at, want)
		}
	})
}

// Selecting the first n and sorting them equals sorting all and taking the first n.
func TestFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOf(rapid.IntRange(0, 9)).Draw(t, "list")
		n := rapid.IntRange(0, len(list)).Draw(t, "n")
		all := make([]ranked[int], len(list))
		for i, r := range list {
			all[i] = ranked[int]{r, int32(i)}
		}
		first(all, n)
		slices.SortFunc(all[:n], ranked[int].compare)
		if want := byRank(list, func(i int) int { return list[i] })[:n]; !slices.Equal(places(all[:n]), want) {
			t.Fatalf("%v, want %v", places(all[:n]), want)
		}
	})
}
