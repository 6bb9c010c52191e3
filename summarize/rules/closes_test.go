package rules_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"precis/summarize/rules"
)

// What a summary shows of an output and what its mark counts are all of its lines: names on lines of their own are shown, and so is a long line of which
// only the end is.
func TestMarkClosesTheCount(t *testing.T) {
	mark := regexp.MustCompile(`^\[… (\d+) lines?; message m1\]$`)
	var searched, printed, long strings.Builder
	for i := range 6 {
		fmt.Fprintf(&searched, "pkg/file%d.go\n", i)
		fmt.Fprintf(&printed, "==> conf/part%d.yaml <==\n", i)
		for n := range 5 {
			fmt.Fprintf(&searched, "%d:\tif err := open%d(path%d); err != nil {\n", 10*n+1, i, n)
			fmt.Fprintf(&printed, "setting_%d_%d: value of %d in part %d\n", i, n, n, i)
		}
		searched.WriteString("\n")
	}
	for i := range 200 {
		fmt.Fprintf(&long, "step %d %s ends as result_%d\n", i, strings.Repeat("then goes on with what it found ", 20), i)
	}
	for _, c := range []struct{ name, command, content, each string }{
		{"a search with headings", "rg --heading -n open", strings.TrimRight(searched.String(), "\n") + "\n", ""},
		{"several files", "head -n 5 conf/*.yaml", printed.String(), ""},
		{"long lines", "./steps", long.String(), "result_"}, // of a long line there may be several parts
	} {
		t.Run(c.name, func(t *testing.T) {
			out := rules.ToolOutput(rules.Input{ToolName: "bash", Arguments: fmt.Appendf(nil, `{"command":%q}`, c.command), Content: c.content, MaxChars: 800, MessageID: "m1"})
			shown, left := 0, -1
			for i, line := range strings.Split(out.Text, "\n") {
				switch m := mark.FindStringSubmatch(line); {
				case m != nil:
					left, _ = strconv.Atoi(m[1])
				case i > 0 && line != "…" && !strings.HasPrefix(line, "See ") && strings.Contains(line, c.each):
					shown++
				}
			}
			if total := strings.Count(c.content, "\n"); left < 0 || shown < 4 || shown+left != total {
				t.Errorf("%d lines: %d are shown, %d are said to be left out:\n%s", total, shown, left, out.Text)
			}
		})
	}
}
