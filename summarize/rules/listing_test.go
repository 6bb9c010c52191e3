package rules

import (
	"strings"
	"testing"

	"precis/summarize/lex"
	"precis/summarize/rules/listing"
)

// TestTreeFits: a listing that fits is written whole, and no note exceeds the room.
func TestTreeFits(t *testing.T) {
	paths := []string{"src/a.go", "src/b.go", "docs/guide.md", "docs/index.md", "x/y.txt"}
	const whole = "src/: a.go b.go\ndocs/: guide.md index.md\nx/y.txt"
	if got := listing.Tree(paths, len(whole)+5); got != whole {
		t.Errorf("got %q", got)
	}
	for room := range 80 {
		if got := listing.Tree(paths, room); lex.Runes(got) > room && strings.Contains(got, "more director") {
			t.Errorf("%d of %d characters: %q", lex.Runes(got), room, got)
		}
	}
}
