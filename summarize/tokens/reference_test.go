package tokens

import (
	"strings"
	"sync"
	"testing"

	"github.com/dlclark/regexp2/v2"
	"github.com/tiktoken-go/tokenizer/codec"
	"pgregory.net/rapid"

	"precis/internal/race"
)

// reference counts by the book: the published pattern in a backtracking engine, then the textbook
// merge over a map of the library's vocabulary. Slow, and short enough to be checked by eye.
type reference struct {
	ours    *bpe
	library *codec.Codec
	re      *regexp2.Regexp
	ranks   map[string]int
}

var references = sync.OnceValue(func() []reference {
	var all []reference
	for _, r := range []reference{
		{ours: loadO200k(), library: codec.NewO200kBase()},
		{ours: loadCL100k(), library: codec.NewCl100kBase()},
	} {
		r.re = patterns[r.ours.name].compile()
		r.ranks = map[string]int{}
		for i, t := range decodeAll(r.library) {
			r.ranks[t] = i
		}
		all = append(all, r)
	}
	return all
})

func (r reference) count(t fataler, text string) int {
	n := 0
	for _, piece := range matches(t, r.re, text) {
		n += r.merge(piece)
	}
	return n
}

func (r reference) merge(piece string) int {
	var parts []string
	for i := range len(piece) {
		parts = append(parts, piece[i:i+1])
	}
	for {
		best, at := len(r.ranks), -1
		for i := range len(parts) - 1 {
			if rank, ok := r.ranks[parts[i]+parts[i+1]]; ok && rank < best {
				best, at = rank, i
			}
		}
		if at < 0 {
			return len(parts)
		}
		parts[at] += parts[at+1]
		parts = append(parts[:at+1], parts[at+2:]...)
	}
}

// libraryErrs: where the library's Count departs from the pattern it is generated from (codec
// v0.10.0): it skips U+007F, and of blanks with several groups of line breaks it takes those up to
// the first group for a piece, not those up to the last.
var libraryErrs = regexp2.MustCompile(`\x7f|[\r\n][^\S\r\n]+[\r\n]`, regexp2.None)

func (r reference) check(t fataler, text string) {
	t.Helper()
	got := r.ours.Count(text)
	text = string([]rune(text)) // a byte that is no UTF-8 counts as U+FFFD
	if want := r.count(t, text); got != want {
		t.Fatalf("%s: Count = %d, reference says %d, for %.300q (%d bytes)", r.ours.name, got, want, text, len(text))
	}
	if wrong, _ := libraryErrs.MatchString(text); wrong {
		return
	}
	if want, err := r.library.Count(text); got != want || err != nil {
		t.Fatalf("%s: Count = %d, library says %d, %v, for %.300q (%d bytes)", r.ours.name, got, want, err, text, len(text))
	}
}

// TestCountsAsTheReference draws words, runs of one part, and any bytes.
func TestCountsAsTheReference(t *testing.T) {
	race.Slow(t)
	part := rapid.OneOf(
		rapid.SampledFrom([]string{" the", "Foo", "bar", "_", "(", ");\n", "\t\t", "    ", "==", "a", "b", "ab", "\n", "\n \n", "42", "中", "文", "🙂", "é", "\xff", "\xe4\xb8", "<|endoftext|>"}),
		rapid.String(),
		rapid.StringMatching(`[a-z]{1,30}|[A-Za-z0-9+/]{20,60}`),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
	)
	times := rapid.OneOf(rapid.Just(1), rapid.IntRange(1, 300))
	for _, r := range references() {
		t.Run(r.ours.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				var b strings.Builder
				for range rapid.IntRange(0, 6).Draw(t, "parts") {
					b.WriteString(strings.Repeat(part.Draw(t, "part"), times.Draw(t, "times")))
				}
				r.check(t, b.String())
			})
		})
	}
}

// TestHeapMergesAsTheScan: either way of merging gives the same parts, at every length both serve.
func TestHeapMergesAsTheScan(t *testing.T) {
	piece := rapid.OneOf(
		rapid.StringMatching(`[a-zA-Z]{2,64}`),
		rapid.StringMatching(`[ab]{2,64}`),
		rapid.StringMatching(`(ab|abc|the|ing|  |=|中){2,20}`),
	).Filter(func(s string) bool { return len(s) <= mergeMax })
	for _, r := range references() {
		t.Run(r.ours.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				p := piece.Draw(t, "piece")
				if scan, heap := mergeScan(r.ours.vocab, p), mergeHeap(r.ours.vocab, p); scan != heap {
					t.Fatalf("%q: scan leaves %d parts, heap %d", p, scan, heap)
				}
			})
		})
	}
}

func FuzzCount(f *testing.F) {
	for _, s := range []string{"", "hello world", strings.Repeat("a", 500), strings.Repeat("ab", 200), strings.Repeat(" ", 300), "中文字符", "🙂🙃", "\xff\xfe", "don'T 'LL 'ſ", "\u0301ABC", "\n \n ", "\x7f", "a\x00b\x00\x00\x00 (\x00)\x00\x00 and a long enough text behind it"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, r := range references() {
			r.check(t, text)
		}
	})
}
