package rules

import (
	"fmt"
	"strings"
	"testing"
)

// TestNumbersOfData: of data with more numbers than are weighed, the requested record is shown, wherever its
// number occurs, and names count to the end.
func TestNumbersOfData(t *testing.T) {
	const rows = 3 * maxNumbers
	var text strings.Builder
	text.WriteString("id,amount,state\n")
	for i := range rows {
		state := "paid"
		if i == rows-100 {
			state = "heldByComplianceTeam"
		}
		fmt.Fprintf(&text, "%d,%d,%s\n", 500000+i, 7000000+13*i, state)
	}
	const asked = rows - 2000
	for name, number := range map[string]int{"first column": 500000 + asked, "second column": 7000000 + 13*asked} {
		got := ToolOutput(Input{
			MessageID: "m1", ToolName: "run_query", Content: text.String(), MaxChars: 800,
			Earlier: []string{fmt.Sprintf("What became of payment %d?", number)},
		}).Text
		for _, want := range []string{fmt.Sprintf("\n%d,%d,paid", 500000+asked, 7000000+13*asked), "heldByComplianceTeam"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in:\n%s", name, want, got)
			}
		}
	}
}
