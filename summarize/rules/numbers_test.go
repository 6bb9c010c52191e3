package rules

import (
	"fmt"
	"strings"
	"testing"
)

// TestNumbersOfData: of data with more numbers than are weighed, the record that was asked for is shown, and names count
// to the end.
func TestNumbersOfData(t *testing.T) {
	var rows strings.Builder
	rows.WriteString("id,amount,note\n")
	for i := range 3 * maxNumbers {
		note := "paid"
		if i == 3*maxNumbers-100 {
			note = "heldByComplianceTeam"
		}
		fmt.Fprintf(&rows, "%d,%d,%s\n", 500000+i, 7000000+13*i, note)
	}
	asked := fmt.Sprint(500000 + 3*maxNumbers - 2000)
	got := ToolOutput(Input{
		MessageID: "m1", ToolName: "run_query", Content: rows.String(), MaxChars: 800,
		Earlier: []string{"What became of payment " + asked + "?"},
	}).Text
	for _, want := range []string{"\n" + asked + ",", "heldByComplianceTeam"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
}
