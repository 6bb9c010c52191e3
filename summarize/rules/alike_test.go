package rules

import (
	"fmt"
	"strings"
	"testing"

	"precis/summarize/lex"
)

// loop returns a loop's output: the line with every number from 0 to n.
func loop(line string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, line+"\n", i)
	}
	return b.String()
}

// TestAlike: if all lines are alike, each shown one is whole or marked, equal ones are merged with their
// count, and the room is used.
func TestAlike(t *testing.T) {
	failed := 1
	const lost = "fatal: unable to access https://git.example.com/repo.git: Could not resolve host: git.example.com"
	for _, c := range []struct {
		content string
		exit    *int
		want    []string // lines of the summary
		chars   int      // its minimum length
	}{
		{strings.Repeat("rm: cannot remove /var/lib/thing: Permission denied\n", 50), &failed,
			[]string{"rm: cannot remove /var/lib/thing: Permission denied [… ×50]"}, 0},
		{strings.Repeat("error: failed to open /etc/passwd\n", 60), nil, []string{"error: failed to open /etc/passwd [… ×60]"}, 0},
		{loop("line of output %d", 100), nil, []string{"line of output 0", "line of output 1", "line of output 30", "line of output 99"}, 750},
		{loop("row %d", 1000), nil, []string{"row 0", "row 1", "row 90"}, 750},
		{loop("step %03d done, cache warm", 60) + lost + "\n" + loop("step %03d done, cache warm", 60), &failed, []string{lost, "step 000 done, cache warm"}, 750},
		{loop("[INFO] [worker-3] item %d done", 100), nil, []string{"item 0 done", "item 1 done", "item 99 done"}, 700},
		{loop("2026-03-11 08:02:11 build | stage %d has been reached", 60), nil, []string{"stage 0 has been reached", "stage 1 has been reached"}, 700},
	} {
		in := Input{MessageID: "m", ToolName: "bash", Content: c.content, ExitCode: c.exit, MaxChars: 800, PreserveErrors: true}
		checkOutput(t, in)
		text := ToolOutput(in).Text
		for _, want := range c.want {
			if !strings.Contains(text, "\n"+want+"\n") && !strings.HasSuffix(text, "\n"+want) {
				t.Errorf("no line %q in\n%s", want, text)
			}
		}
		if lex.Runes(text) < c.chars {
			t.Errorf("%d characters:\n%s", lex.Runes(text), text)
		}
	}
}
