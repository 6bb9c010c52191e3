package fold

import (
	"testing"
	"unicode/utf8"
)

func TestRunes(t *testing.T) {
	const text = "seven…\x80 bytes, and then eight: ÄÖÜ 中文 and ASCII to the end, which is not even valid: \xe4\xb8"
	for from := range len(text) {
		for to := from; to <= len(text); to++ {
			if got, want := runes(text[from:to]), int64(utf8.RuneCountInString(text[from:to])); got != want {
				t.Fatalf("%q has %d characters, want %d", text[from:to], got, want)
			}
		}
	}
}
