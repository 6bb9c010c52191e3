package thread_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"precis/internal/thread"
	"precis/summarize"
)

// keptOutput is what the test below remembers of an output.
type keptOutput struct {
	turns  int
	tokens int64
}

// Whatever comes: an output is kept for its turns, if it has not come among 64 others, and beyond for as long as it and
// the newer ones are within the tokens. What is released is what is kept no longer, once.
func TestOutputsKeptWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keep := summarize.KeepOutputs{Turns: rapid.IntRange(0, 3).Draw(t, "turns"), Tokens: rapid.SampledFrom([]int{0, 100, 1000}).Draw(t, "tokens")}
		var c thread.Compaction
		kept := map[uint64]*keptOutput{}
		check := func(released []uint64) {
			newest := uint64(0) // of those that have had their turns
			for at, o := range kept {
				if o.turns >= keep.Turns {
					newest = max(newest, at)
				}
			}
			if o := kept[newest]; o != nil && o.tokens <= int64(keep.Tokens) && len(kept) <= 64 && slices.Contains(released, newest) {
				t.Fatalf("%d is released, the newest, of %d tokens", newest, o.tokens)
			}
			for _, at := range released {
				if kept[at] == nil {
					t.Fatalf("%d is released, and was not kept", at)
				}
				if o := kept[at]; o.turns < keep.Turns && len(kept) <= 64 {
					t.Fatalf("%d is released after %d of %d turns", at, o.turns, keep.Turns)
				}
				delete(kept, at)
			}
			var over int64
			for at, o := range kept {
				if !c.KeepsWhole(at) {
					t.Fatalf("%d is kept no longer, and not released", at)
				}
				if o.turns >= keep.Turns {
					over += o.tokens
				}
			}
			if over > int64(keep.Tokens) {
				t.Fatalf("%d tokens beyond the turns", over)
			}
			if len(c.Outputs) != len(kept) || len(kept) > 64 {
				t.Fatalf("%d outputs, want %d", len(c.Outputs), len(kept))
			}
		}
		for at := range uint64(rapid.IntRange(1, 200).Draw(t, "events")) {
			at++
			if rapid.IntRange(0, 3).Draw(t, "what") == 0 {
				var unread []uint64
				for n, o := range kept {
					if rapid.IntRange(0, 9).Draw(t, "unread") == 0 {
						unread = append(unread, n)
					} else {
						o.turns++
					}
				}
				check(c.Turn(unread, keep))
				continue
			}
			if rapid.IntRange(0, 9).Draw(t, "edited") == 0 {
				at = uint64(rapid.IntRange(1, int(at)).Draw(t, "which"))
			}
			tokens := int64(rapid.IntRange(1, 400).Draw(t, "size"))
			if !keep.None() && (keep.Turns > 0 || tokens <= int64(keep.Tokens)) {
				kept[at] = &keptOutput{tokens: tokens}
			} else if o := kept[at]; o != nil {
				o.tokens = tokens // an edit has made it too large
			}
			check(c.KeepWhole(thread.Output{At: at, Tokens: tokens}, keep))
		}
	})
}

// Outputs beyond their turns are released in batches, so that a prompt's beginning stands between two of them.
func TestOutputsAreReleasedInBatches(t *testing.T) {
	keep := summarize.KeepOutputs{Turns: 1, Tokens: 1000}
	var c thread.Compaction
	batches, released := 0, 0
	for at := range uint64(100) {
		c.KeepWhole(thread.Output{At: at + 1, Tokens: 100}, keep)
		if gone := c.Turn(nil, keep); len(gone) > 0 {
			batches, released = batches+1, released+len(gone)
		}
	}
	if batches > 20 || released < 90 {
		t.Errorf("%d outputs released at %d turns", released, batches)
	}
}
