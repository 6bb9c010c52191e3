package tokens

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A piece gets its own count and never that of another piece, with any number of goroutines at once.
func TestMergedPiecesAreThoseAskedFor(t *testing.T) {
	v, m := loadO200k().vocab, &merged{}
	word := rapid.StringMatching(`[a-z]{2,15}|[A-Za-z0-9]{2,15}|(ab|é|中|\x00){1,5}`).Filter(func(s string) bool { return len(s) <= mergedMax })
	var words []string
	var want []int
	for i := range 3 << mergedBits { // so that they drive each other out
		w := word.Example(i)
		words, want = append(words, w), append(want, mergeScan(v, w))
	}
	done := make(chan string)
	for g := range 4 {
		go func() {
			var wrong []string
			for round := range 3 {
				for i := range words {
					i = (i*(2*g+1) + round*g) % len(words)
					for range 2 {
						if m.count(v, words[i]) != want[i] {
							wrong = append(wrong, words[i])
						}
					}
				}
			}
			done <- strings.Join(slices.Compact(wrong), " ")
		}()
	}
	for range 4 {
		if wrong := <-done; wrong != "" {
			t.Errorf("wrong counts of %.300q", wrong)
		}
	}
}
