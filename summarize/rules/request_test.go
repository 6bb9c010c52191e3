package rules

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// TestRequestRepeated: the script that a tool repeats beside what it printed is left out if it is the call's own, and is a part of the answer if not.
func TestRequestRepeated(t *testing.T) {
	var script, printed strings.Builder
	for i := range 40 {
		fmt.Fprintf(&script, "plant --row %d --tree quince\n", i)
		fmt.Fprintf(&printed, "row %d: planted\n", i)
	}
	quoted := func(v any) string {
		text, err := json.Marshal(v, json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, c := range []struct {
		name, args, request string
		opened              bool
	}{
		{"its own command", `{"command":` + quoted(script.String()) + `}`, "command", true},
		{"its own script", `{"script":` + quoted(script.String()) + `}`, "script", true},
		{"another command", `{"command":"jobs show 3"}`, "command", false},
		{"a record's input", `{"id":3}`, "input", false},
		{"another long command", `{"command":` + quoted(script.String()+"plant --all") + `}`, "command", false},
	} {
		content := `{"success":false,"stdout":` + quoted(printed.String()) + `,"stderr":"","returncode":1,"` + c.request + `":` + quoted(script.String()) + `}`
		text := ToolOutput(Input{MessageID: "m1", ToolName: "bash", Arguments: []byte(c.args), Content: content, MaxChars: 600}).Text
		if got := !strings.Contains(text[strings.IndexByte(text, '\n')+1:], "--tree quince"); got != c.opened {
			t.Errorf("%s: left out is %v in\n%s", c.name, got, text)
		}
		if c.opened && !strings.HasPrefix(text, "[❌") {
			t.Errorf("%s: no exit code in\n%s", c.name, text)
		}
	}
}
