package rules

import (
	"fmt"
	"strings"
	"testing"
)

// TestHeadOfTable: column names are shown with the rows, and a row with a price and a time is not a search match.
func TestHeadOfTable(t *testing.T) {
	var rows strings.Builder
	rows.WriteString("order_id,customer,region,amount_eur,created_at,status\n")
	for n := range 60 {
		fmt.Fprintf(&rows, "ord_%06d,cust_%03d,eu-west,%d.37,2026-03-02T10:1%d:00Z,paid\n", n*131, n*17%97, n, n%6)
	}
	out := ToolOutput(Input{ToolName: "read", Arguments: []byte(`{"path":"/sales.csv"}`), Content: rows.String(), MaxChars: 800})
	for _, want := range []string{"1|order_id,customer,region,amount_eur,created_at,status\n", "Lines: 61"} {
		if !strings.Contains(out.Text, want) {
			t.Errorf("no %q in\n%s", want, out.Text)
		}
	}
}

// TestStateOnce: the same state in every record leaves room for the records.
func TestStateOnce(t *testing.T) {
	var text strings.Builder
	for n := range 40 {
		fmt.Fprintf(&text, "posting {\n  id: \"pst_%06x\"\n  state: POSTING_STATE_PENDING\n}\n", n*7919)
	}
	out := ToolOutput(Input{ToolName: "bash", Content: text.String(), MaxChars: 800})
	if n := strings.Count(out.Text, "state: POSTING_STATE_PENDING"); n == 0 || n > 2*mostAlikeStates {
		t.Errorf("%d times in\n%s", n, out.Text)
	}
}
