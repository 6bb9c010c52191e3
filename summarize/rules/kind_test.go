package rules

import (
	"testing"

	"precis/summarize/rules/call"
	"precis/summarize/verdict"
)

// TestKindOfCall: an editor that shows a file runs nothing, and neither does a request with a short code.
func TestKindOfCall(t *testing.T) {
	for _, c := range []struct {
		tool, args string
		want       verdict.Kind
	}{
		{"str_replace_based_edit_tool", `{"command":"view","path":"/app/run.sh"}`, verdict.Look},
		{"str_replace_editor", `{"command":"view","path":"/app/run.sh"}`, verdict.Look},
		{"str_replace_editor", `{"command":"create","path":"/app/run.sh"}`, verdict.Edit},
		{"find_airport", `{"code":"JFK"}`, verdict.Other},
		{"find_airport", `{"script":"Latn"}`, verdict.Other},
		{"run_python", `{"code":"print(1)"}`, verdict.Run},
		{"bash", `{"command":"make"}`, verdict.Run},
	} {
		args := call.ParseArguments([]byte(c.args))
		if got := kindOfCall(c.tool, categoryOf(c.tool, args, "one line"), args); got != c.want {
			t.Errorf("%s %s: kind %d, want %d", c.tool, c.args, got, c.want)
		}
	}
}
