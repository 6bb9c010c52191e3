package rules

import (
	"fmt"
	"strings"
	"testing"
)

// TestHits: each file of a search says how many matches it has beyond those that are shown, also of many files, and the line of facts how many there
// are in all; a pattern that is cut is not joined with its end, as a path is.
func TestHits(t *testing.T) {
	var few, many strings.Builder
	for i := range 3 {
		fmt.Fprintf(&few, "src/mooring/berth_planner.go:%d:\tassigned%d := plan.AssignBerthTo(vessel%d, tide)\n", 10+i, i, i)
	}
	fmt.Fprintf(&few, "src/mooring/crane.go:7:\tcrane.LiftContainerAt(plan.AssignBerthTo(v, t))\n")
	for i := range 60 {
		for k := range 3 {
			fmt.Fprintf(&many, "internal/harbour/zone%02d/service_%02d.go:%d:\tvalue%d := registry.Lookup%02d(ctx, id%d)\n", i, i, 12+k, k, i, k)
		}
	}
	for _, c := range []struct {
		name, tool, args, content string
		max                       int
		want                      []string
		not                       string
	}{
		{"one of three is shown", "Grep", `{"pattern":"AssignBerthTo","output_mode":"content"}`, few.String(), 260, []string{"berth_planner.go [… +2]\n", "Matches: 4"}, ""},
		{"many files", "Grep", `{"pattern":"Lookup","output_mode":"content"}`, many.String(), 800, []string{" [… +2]\n", "service_10.go 3; "}, ""},
		{"a long pattern", "exec_command", `{"cmd":"rg -n \"HARBOUR_HOME|harbourDir|tides.json|\\.harbour/agent\" docs src examples"}`, many.String(), 800, []string{"Matches: 180]"}, "…/agent"},
	} {
		in := Input{MessageID: "m", ToolName: c.tool, Arguments: []byte(c.args), Content: c.content, MaxChars: c.max, PreserveErrors: true}
		checkOutput(t, in)
		text := ToolOutput(in).Text
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", c.name, want, text)
			}
		}
		if c.not != "" && strings.Contains(text, c.not) {
			t.Errorf("%s: %q in\n%s", c.name, c.not, text)
		}
	}
}
