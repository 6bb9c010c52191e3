package rules

import (
	"fmt"
	"strings"
	"testing"

	"precis/summarize/lex"
)

// TestShortNames: short names of a listing are joined on one line, otherwise as in the source.
func TestShortNames(t *testing.T) {
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, "bin%d\n", i*7)
	}
	in := Input{MessageID: "m1", ToolName: "ls", Content: b.String(), MaxChars: 800}
	text := ToolOutput(in).Text
	if _, chars := sourceLines(text, in.Content); 2*chars < lex.Runes(text) {
		t.Errorf("%d of %d characters are the source's:\n%s", chars, lex.Runes(text), text)
	}
}
