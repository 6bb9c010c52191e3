package rules

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// Of a file that the shell has cut while it printed it, the lines that are left are not said to be its length.
func TestLinesOfAShortenedFile(t *testing.T) {
	var rows strings.Builder
	for i := range 60 {
		if fmt.Fprintf(&rows, `{"time":"2026-06-23T12:14:%02d","level":"INFO","msg":"phase transition","from":"active","to":"idle %d"}`+"\n", i, i); i == 30 {
			rows.WriteString(`{"time":"2026-06…2403 tokens truncated…","level":"INFO","msg":"turn-start","from":"idle","to":"active"}` + "\n")
		}
	}
	for content, want := range map[string]bool{
		"Process exited with code 0\nOutput:\n" + rows.String(): true,
		"Process exited with code 0\nOutput:\nWarning: truncated output (original token count: 12403)\nTotal output lines: 160\n\n" + rows.String(): false,
	} {
		out := ToolOutput(Input{ToolName: "exec_command", Arguments: jsontext.Value(`{"cmd":"cat app.log"}`), Content: content, MaxChars: 800})
		head, _, _ := strings.Cut(out.Text, "\n")
		if strings.Contains(head, "| Lines: 61") != want || !strings.Contains(head, "File: app.log") {
			t.Errorf("%s", out.Text)
		}
	}
}

// Of few long lines, parts are shown: how many lines are not shown at all says next to nothing of what is left out.
func TestMarkOfLongLines(t *testing.T) {
	word := func(i, k int) string { return fmt.Sprintf(`"key_%d_%d":"value_%d"`, i, k, i*k) }
	for name, c := range map[string]struct {
		lines, words int
		chars        bool
	}{"five long lines": {5, 60, true}, "many short lines": {300, 1, false}} {
		var text strings.Builder
		for i := range c.lines {
			var parts []string
			for k := range c.words {
				parts = append(parts, word(i, k))
			}
			fmt.Fprintf(&text, "events.jsonl:{%s}\n", strings.Join(parts, ","))
		}
		out := ToolOutput(Input{ToolName: "bash", Arguments: jsontext.Value(`{"command":"grep key events.jsonl"}`), Content: text.String(), MaxChars: 800, MessageID: "m1"}).Text
		mark := out[strings.LastIndex(out, "\n")+1:]
		if !strings.HasPrefix(mark, "[… ") || strings.Contains(mark, "char") != c.chars {
			t.Errorf("%s: %s\n%s", name, mark, out)
		}
	}
}
