package rules

import (
	"fmt"
	"strings"
	"testing"

	"precis/summarize/rules/call"
)

// TestListOfCommits: a list of commits is shown from the newest on, line by line, and no hash stands without its subject.
func TestListOfCommits(t *testing.T) {
	subjects := []string{"fix typo", "feat(TideGate): openGate reports os.ErrClosed", "docs", "Merge branch 'main' into berth/moorVessel", "chore(deps): bump example.com/harbour/lock v1.4.2"}
	for _, c := range []struct{ name, args, graph string }{
		{"plain", `{"command":"git log --oneline -60"}`, ""},
		{"with a graph", `{"command":"git log --oneline --graph -60"}`, "* "},
	} {
		var out strings.Builder
		var lines []string
		for i := range 60 {
			line := fmt.Sprintf("%s%x %s, part %d of what was left", c.graph, 0xa1b2c30+i*7919, subjects[i%len(subjects)], i)
			lines = append(lines, line)
			out.WriteString(line + "\n")
		}
		text := ToolOutput(Input{MessageID: "m1", ToolName: "bash", Arguments: []byte(c.args), Content: out.String(), MaxChars: 800}).Text
		shown := strings.Split(text, "\n")
		if len(shown) < 10 {
			t.Fatalf("%s: %d lines are shown:\n%s", c.name, len(shown)-2, text)
		}
		for i, line := range shown[1 : len(shown)-1] {
			if line != lines[i] {
				t.Errorf("%s: line %d is %q, want %q", c.name, i, line, lines[i])
			}
		}
	}
}

// TestNoListOfCommits: lines that begin like a commit are a list of commits only if the call lists them, the newest first.
func TestNoListOfCommits(t *testing.T) {
	for command, want := range map[string]bool{
		"git log --oneline -60":                          true,
		"cd harbour && git -C quay reflog | head -60":    true,
		"git log --oneline --reverse":                    false,
		"git log --oneline | tac":                        false,
		"git blame -L 10,70 gate.go":                     false,
		"git log --oneline -1; git blame -L 1,60 a.go":   false,
		"./worker --jobs 60":                             false,
		"for b in a b; do git log --oneline -9 $b; done": false,
	} {
		var out strings.Builder
		for i := range 60 {
			fmt.Fprintf(&out, "%d worker %d took %d ms over its berth\n", 1700000000+i, i%4, i*37%91)
		}
		args := call.ParseArguments(fmt.Appendf(nil, `{"command":%q}`, command))
		d := newDocument(out.String(), CommandOutput, args)
		if got := d.listsCommits(args); got != want {
			t.Errorf("%s: %v", command, got)
		}
	}
}
