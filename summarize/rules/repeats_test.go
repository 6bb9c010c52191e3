package rules

import (
	"strings"
	"testing"
)

// TestEqualErrors: an error that occurs three times is shown with its count, at the first place; the same words about another place are another
// error.
func TestEqualErrors(t *testing.T) {
	filler := loop("checking berth %d for free moorings and tide tables", 60)
	names := "" // identifiers enough to fill a summary
	for i := range 90 {
		names += "loaded mooring" + string(rune('A'+i%26)) + string(rune('a'+i/26)) + "Plan for " + string(rune('a'+i%26)) + "_tide_" + string(rune('a'+i/26)) + "\n"
	}
	for _, c := range []struct {
		name, content string
		want          []string // lines
		not           string
	}{
		{"three models", filler + "model: crane-x9\n❌ ERROR: should have been rejected, was added\nmodel: hull-404\n❌ ERROR: should have been rejected, was added\n" +
			"model: keel-none\n❌ ERROR: should have been rejected, was added\nvalid added: 3/3\ninvalid rejected: 0/3\n" + names,
			[]string{"❌ ERROR: should have been rejected, was added [… ×3]", "invalid rejected: 0/3", "valid added: 3/3"}, ""},
		{"two next to each other", filler + "Error: tide gate is stuck\nError: tide gate is stuck\nclosing\nError: tide gate is stuck\n" + filler,
			[]string{"Error: tide gate is stuck [… ×3]"}, ""},
		{"places below", filler + "error[E0308]: mismatched types\n  --> src/berth.rs:12:9\nerror[E0308]: mismatched types\n  --> src/crane.rs:80:3\nerror[E0308]: mismatched types\n  --> src/crane.rs:80:3\nerror: aborting due to 2 previous errors\n",
			[]string{"error[E0308]: mismatched types", "--> src/berth.rs:12:9", "--> src/crane.rs:80:3", "error[E0308]: mismatched types [… ×2]"}, ""},
		{"what was compared", filler + "✗ berth opens\n  Expected: true\n  Received: false\n✗ crane opens\n  Expected: true\n  Received: null\n",
			[]string{"Received: false", "Received: null"}, "Expected: true [… ×2]"},
	} {
		failed := 1
		in := Input{MessageID: "m", ToolName: "bash", Arguments: []byte(`{"command":"make check"}`), Content: c.content, ExitCode: &failed, MaxChars: 800, PreserveErrors: true}
		checkOutput(t, in)
		text := ToolOutput(in).Text
		for _, want := range c.want {
			if !strings.Contains(text+"\n", "\n"+want+"\n") {
				t.Errorf("%s: no line %q in\n%s", c.name, want, text)
			}
		}
		if c.not != "" && strings.Contains(text, c.not) {
			t.Errorf("%s: %q in\n%s", c.name, c.not, text)
		}
	}
}
