package state

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// What is kept decoded of the staged records answers as all of them would, wherever a caller begins and stops, and
// whatever was staged, voided or adopted before.
func TestStagedRecordsAreThoseOfTheStore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		store, err := Open("store", Options{FS: Memory()})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		p := open(t, store)
		defer func() { _ = p.Close() }()
		var want []*Staged // in order
		order := func(a, b *Staged) int {
			return cmp.Or(cmp.Compare(a.EffectiveSeq, b.EffectiveSeq), cmp.Compare(a.Under, b.Under),
				cmp.Compare(a.Thread, b.Thread), cmp.Compare(a.ChainSeq, b.ChainSeq))
		}
		number := rapid.Uint64Range(0, 12)
		stage := func(size int) {
			s := &Staged{
				Thread: fmt.Sprint("t", number.Draw(t, "thread")%3), EffectiveSeq: number.Draw(t, "effective"),
				Under: number.Draw(t, "under") % 2, ChainSeq: number.Draw(t, "chain"), Data: bytes.Repeat([]byte("x"), size),
			}
			if i, found := slices.BinarySearchFunc(want, s, order); !found {
				want = slices.Insert(want, i, s)
			}
			if err := p.Stage(s); err != nil {
				t.Fatal(err)
			}
		}
		for range 60 {
			switch rapid.SampledFrom([]string{"stage", "stage", "large", "many", "adopt", "adopt", "adopt", "void", "commit", "read", "read"}).Draw(t, "what") {
			case "stage":
				stage(10)
			case "large":
				stage(nearBytes / 16)
			case "many":
				for range nearRows / 4 {
					stage(1)
				}
			case "adopt":
				if len(want) > 0 {
					i := min(len(want)-1, rapid.IntRange(0, 3).Draw(t, "which"))
					p.Adopted(want[i])
					want = slices.Delete(want, i, i+1)
				}
			case "void":
				behind := number.Draw(t, "behind")
				n := 0
				for _, s := range want {
					if s.EffectiveSeq > behind {
						n++
					}
				}
				if n > 0 && len(want) == n { // no others are there that the voided ones could be taken for
					if _, err := p.Void(behind, 1<<20); err != nil {
						t.Fatal(err)
					}
					want = nil
					if err := p.EachStagedBack(func(s *Staged) (bool, error) {
						want = append(want, s)
						return true, nil
					}); err != nil {
						t.Fatal(err)
					}
					slices.Reverse(want)
				}
			case "commit":
				if _, err := p.Commit(NoSync); err != nil {
					t.Fatal(err)
				}
			case "read":
				from, atMost := number.Draw(t, "from"), rapid.IntRange(1, nearRows+9).Draw(t, "at most")
				var got, all []*Staged
				err := p.EachStaged(from, func(s *Staged) (bool, error) {
					got = append(got, s)
					return len(got) < atMost, nil
				})
				if err != nil {
					t.Fatal(err)
				}
				for _, s := range want {
					if s.EffectiveSeq >= from && len(all) < atMost {
						all = append(all, s)
					}
				}
				if !slices.EqualFunc(got, all, func(a, b *Staged) bool { return order(a, b) == 0 && a.Void == b.Void && bytes.Equal(a.Data, b.Data) }) {
					t.Fatalf("from %d, %d at most: %d records, %d are there", from, atMost, len(got), len(all))
				}
			}
		}
	})
}
