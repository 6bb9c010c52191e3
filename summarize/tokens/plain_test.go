package tokens

import (
	"testing"

	"pgregory.net/rapid"

	"precis/internal/race"
)

// What is taken eight bytes at a time ends where a piece of the pattern does, and has as many tokens.
func TestPlainPiecesAreThePatterns(t *testing.T) {
	race.Slow(t)
	for _, r := range references() {
		t.Run(r.ours.name, func(t *testing.T) {
			taken := 0
			rapid.Check(t, func(t *rapid.T) {
				text := trickyText().Draw(t, "text") + trickyText().Draw(t, "more")
				list := matches(t, r.re, text)
				i := 0
				for at, piece := range list {
					count, end := r.ours.plain.count(r.ours, text, i)
					want, j := 0, i
					for _, next := range list[at:] {
						if j >= end {
							break
						}
						want, j = want+r.merge(next), j+len(next)
					}
					if j != end || count != want {
						t.Fatalf("from byte %d of %q: %d tokens up to byte %d, want %d up to %d", i, text, count, end, want, j)
					}
					taken += end - i
					i += len(piece)
				}
			})
			if taken == 0 {
				t.Error("nothing was taken")
			}
		})
	}
}
