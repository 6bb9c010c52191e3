package rules

import (
	"strings"
	"testing"

	"precis/summarize/lex"
)

// TestCharactersStayWhole cuts lines without boundaries, and clips them at every length.
func TestCharactersStayWhole(t *testing.T) {
	for _, character := range []string{"ก\u0e34\u0e48", "ष\u094d\u200dक\u093f", "e\u0301", "👩\u200d👩\u200d👧\u200d👦", "👍🏽", "❤\ufe0f", "漢", "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"} {
		text := strings.Repeat(character, 400)
		d := document{}
		d.split(line{text: text})
		if len(d.lines) < 2 {
			t.Errorf("%s: %d lines", character, len(d.lines))
		}
		for _, l := range d.lines {
			if rest := strings.ReplaceAll(l.text, character, ""); rest != "" {
				t.Errorf("%s: a line has %q of one", character, rest)
			}
		}
		for n := 60; n < 900; n += 7 {
			if got := HeadTail(text+text+text, "", n, Original("", "m")); lex.Runes(got) > n {
				t.Errorf("%s: %d code points, at most %d are asked for", character, lex.Runes(got), n)
			}
		}
		for n := range 40 {
			if rest := strings.ReplaceAll(lex.Prefix(text, n), character, ""); rest != "" {
				t.Errorf("%s: clipped at %d it has %q of one", character, n, rest)
			}
		}
	}
	if lex.Prefix("\u0301\u0301", 0) != "" {
		t.Error("no character has a text")
	}
	if marks := strings.Repeat("\u0301", 200); lex.Runes(lex.Prefix(marks, 100)) != 100 {
		t.Error("what is nothing but marks is not cut")
	}
}
