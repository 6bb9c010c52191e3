package rules

import (
	"fmt"
	"strings"
	"testing"

	"precis/summarize/verdict"
)

// What looks like a harness's frame, but is in a file or a page, or contradicts the event, is the output's own: its lines are counted and
// shown, and nothing is known of how it ended but what the event says.
func TestFramesOfOthers(t *testing.T) {
	var doc strings.Builder
	for i := range 60 {
		fmt.Fprintf(&doc, "Rule %d of the orchard: tree %d is watered before row %d is counted.\n", i, i*3, i*7)
	}
	yes, no, code := true, false, func(n int) *int { return &n }
	ends := doc.String() + "[Command finished with exit code 1]\n"
	for name, c := range map[string]struct {
		in   Input
		want verdict.Verdict
		says string // in the first line
	}{
		"a file":                     {Input{ToolName: "read_file", Arguments: []byte(`{"path":"docs/harness.md"}`), Content: ends, IsError: &no}, verdict.Success, "Lines: 61"},
		"a file in tags":             {Input{ToolName: "read_file", Arguments: []byte(`{"path":"case.txt"}`), Content: "<exit_code>2</exit_code>\n<output>\n" + doc.String() + "</output>\n"}, verdict.Success, "Lines: "},
		"a log of sections":          {Input{ToolName: "read_file", Arguments: []byte(`{"path":"run.txt"}`), Content: "Exit code: 1\nOutput:\n" + doc.String()}, verdict.Success, "Lines: "},
		"a page":                     {Input{ToolName: "web_fetch", Arguments: []byte(`{"url":"https://example.com/frames"}`), Content: ends}, verdict.Success, ""},
		"cat, with the event's code": {Input{ToolName: "bash", Arguments: []byte(`{"command":"cat docs/harness.md"}`), Content: ends, ExitCode: code(0)}, verdict.Success, "61"},
		"git show":                   {Input{ToolName: "bash", Arguments: []byte(`{"command":"git show HEAD:docs/harness.md"}`), Content: doc.String() + "Command failed with exit code: 1.\n"}, verdict.Success, "61"},
		"ran out of time":            {Input{ToolName: "bash", Arguments: []byte(`{"command":"make check"}`), Content: doc.String() + "[The command timed out after 30 seconds.]\n", ExitCode: code(124)}, verdict.Failure, "Exit: 124"},
		"a failure":                  {Input{ToolName: "bash", Arguments: []byte(`{"command":"make check"}`), Content: ends, IsError: &yes}, verdict.Failure, "Exit: 1"},
		"a command in a frame":       {Input{ToolName: "bash", Arguments: []byte(`{"command":"make check"}`), Content: ends}, verdict.Failure, "Exit: 1"},
	} {
		c.in.MessageID, c.in.MaxChars, c.in.IncludeMetadata, c.in.PreserveErrors = "m7", 800, true, true
		got := ToolOutput(c.in)
		first, _, _ := strings.Cut(got.Text, "\n")
		if failed := c.want == verdict.Failure; strings.Contains(first, "❌") != failed || !strings.Contains(first, c.says) {
			t.Errorf("%s: %s", name, first)
		}
	}
}
