package rules

import (
	"testing"

	"pgregory.net/rapid"

	"precis/summarize/rules/words"
)

// TestTable: every number is found by what it stands for, even with equal keys, and nothing else is found.
func TestTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.Uint32Range(0, rapid.Uint32Range(0, 1<<20).Draw(t, "range"))
		held := words.NewTable(0)
		var things []int
		key := map[int]uint32{}
		look := func(thing int) (int32, uint32) {
			for k := key[thing]; ; k++ {
				if n := held.Find(k); n == words.None || things[n] == thing {
					return n, k
				}
			}
		}
		for thing := range rapid.IntRange(0, 300).Draw(t, "things") {
			key[thing] = keys.Draw(t, "key")
			n, free := look(thing)
			if n != words.None {
				t.Fatalf("%d is there as %d before it is added", thing, n)
			}
			held.Add(free, int32(len(things)))
			things = append(things, thing)
		}
		for want, thing := range things {
			if n, _ := look(thing); n != int32(want) {
				t.Fatalf("%d is %d, want %d", thing, n, want)
			}
		}
	})
}
