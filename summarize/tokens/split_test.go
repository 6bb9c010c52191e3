package tokens

import (
	"slices"
	"testing"

	"github.com/dlclark/regexp2/v2"
	"pgregory.net/rapid"
)

// The encodings' patterns as OpenAI's tiktoken publishes them (possessive quantifiers left out:
// they change no match).
var patterns = map[string]encoding{
	O200k: {splitO200k, `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|` +
		`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|` +
		`\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`},
	CL100k: {splitCL100k, `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|` +
		` ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`},
}

type encoding struct {
	split   splitter
	pattern string
}

// compile puts a group around the pattern, which keeps the engine from using the matcher that the
// codec package has generated for the bare one: that errs (see libraryErrs).
func (e encoding) compile() *regexp2.Regexp {
	return regexp2.MustCompile("(?:"+e.pattern+")", regexp2.None)
}

// TestSplitsAsThePattern: the same pieces as a backtracking engine finds, on texts made of the
// characters that the patterns tell apart.
func TestSplitsAsThePattern(t *testing.T) {
	for name, p := range patterns {
		t.Run(name, func(t *testing.T) {
			re := p.compile()
			rapid.Check(t, func(t *rapid.T) {
				text := trickyText().Draw(t, "text")
				want, got := matches(t, re, text), pieces(p.split, text)
				if !slices.Equal(got, want) {
					t.Fatalf("pieces of %q\n got %q\nwant %q", text, got, want)
				}
			})
		})
	}
}

// trickyText strings together characters of every class, those next to a class's border, and the
// parts of contractions, in any order.
func trickyText() *rapid.Generator[string] {
	part := rapid.OneOf(
		rapid.SampledFrom([]string{
			"a", "b", "s", "t", "re", "VE", "m", "lL", "d", "A", "B", "é", "Ж", "ж", "ǅ", "ʰ", "中", "の", "ا", "ª",
			"\u0301", "\u0903", "\u20dd", "1", "12", "½", "Ⅷ", "²", "٣", " ", "  ", "\t", "\u00a0", "\u2003", "\u3000", "\u0085", "\u200b",
			"\n", "\r", "\r\n", "\n\n", "/", "//", "'", "’", "'s", "'ſ", "ſ", "'T", "'rE", "'ll", "K", "!", "-", "_", "🙂", "\x00", "\x7f", "\ufffd", "𝐀", "𝟘", "<|endoftext|>",
			"azure", " lowercase", "internationally", "Zz", "z{", "`a", "@A", "az[",
		}),
		rapid.StringN(0, 4, -1),
	)
	return rapid.Custom(func(t *rapid.T) string {
		var text string
		for _, p := range rapid.SliceOfN(part, 0, 24).Draw(t, "parts") {
			text += p
		}
		return string([]rune(text))
	})
}

func pieces(split splitter, text string) []string {
	var out []string
	c := loadClasses()
	for i := 0; i < len(text); {
		end := split(c, text, i)
		out = append(out, text[i:end])
		i = end
	}
	return out
}

type fataler interface {
	Helper()
	Fatalf(string, ...any)
}

func matches(t fataler, re *regexp2.Regexp, text string) []string {
	var out []string
	m, err := re.FindStringMatch(text)
	for ; m != nil && err == nil; m, err = re.FindNextMatch(m) {
		out = append(out, m.String())
	}
	if err != nil {
		t.Fatalf("match: %v", err)
	}
	return out
}
