package rules

import (
	"fmt"
	"strings"
	"testing"

	"precis/summarize/lex"
)

// TestFileOfShortLines: most lines are too short to count as source lines, and those that count fill half of
// the summary; it must not be emptied for them.
func TestFileOfShortLines(t *testing.T) {
	var file strings.Builder
	for i := range 30 {
		fmt.Fprintf(&file, "service_%d:\n  host: 10.0.%d.1\n  port: %d\n  retries: 3\n", i, i, 8000+i)
	}
	out := ToolOutput(Input{
		MessageID: "m1", ToolName: "read_file", Arguments: []byte(`{"path":"services.yml"}`), Content: file.String(), MaxChars: 800,
	})
	if n := lex.Runes(out.Text); n < 700 || n > 800 {
		t.Errorf("%d characters of 800:\n%s", n, out.Text)
	}
	if n := strings.Count(out.Text, "host: 10.0."); n < 20 {
		t.Errorf("%d hosts:\n%s", n, out.Text)
	}
}
