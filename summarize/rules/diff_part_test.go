package rules

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestDiffInPart: how much of a file a diff changes is not told by a part of it.
func TestDiffInPart(t *testing.T) {
	var b strings.Builder
	for _, file := range []string{"tide", "moon"} {
		fmt.Fprintf(&b, "diff --git a/%s.go b/%s.go\n--- a/%s.go\n+++ b/%s.go\n@@ -1,2 +1,62 @@\n package sky\n", file, file, file, file)
		for i := range 60 {
			fmt.Fprintf(&b, "+var %s%d = reckon(%d)\n", file, i, i)
		}
		b.WriteString(" \n")
	}
	all := strings.SplitAfter(strings.TrimSuffix(b.String(), "\n"), "\n")
	first, last := strings.Join(all[:100], ""), strings.Join(all[len(all)-100:], "")
	within := strings.Join(all[:20], "") + "…50 lines truncated…\n" + strings.Join(all[66:], "")
	remark := strings.Join(all[:20], "") + "... [50 lines truncated] ...\n" + strings.Join(all[66:], "")
	for name, c := range map[string]struct {
		command, content, fact string
		tide, moon             string
	}{
		"whole":         {"git diff", b.String(), "Diff: 2 files, +120 -0", "tide.go +60 -0", "moon.go +60 -0"},
		"not reached":   {"git diff | head -400", b.String(), "Diff: 2 files, +120 -0", "tide.go +60 -0", "moon.go +60 -0"},
		"first lines":   {"git diff | head -100", first, "Diff: 2 files, +89 -0 in first 100 lines", "tide.go +60 -0", "moon.go"},
		"last lines":    {"git diff | tail -100", last, "Diff: 1 file, +60 -0 in last 100 lines", "", "moon.go"},
		"cut inside":    {"git diff", within, "Diff: 2 files, +75 -0 in part", "tide.go", "moon.go +60 -0"},
		"cut by remark": {"git diff", remark, "Diff: 2 files, +75 -0 in part", "tide.go", "moon.go +60 -0"},
	} {
		out := ToolOutput(Input{ToolName: "Bash", Arguments: fmt.Appendf(nil, `{"command":%q}`, c.command), Content: c.content, MaxChars: 800})
		if !slices.Contains(out.Tool.KeyFacts, c.fact) {
			t.Errorf("%s: %q, want %s", name, out.Tool.KeyFacts, c.fact)
		}
		lines := strings.Split(out.Text, "\n")
		for _, want := range []string{c.tide, c.moon} {
			if want != "" && !slices.Contains(lines, want) {
				t.Errorf("%s: no line %q:\n%s", name, want, out.Text)
			}
		}
	}
}
