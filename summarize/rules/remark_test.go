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

// TestStatusNamesFiles: what changed stands below the line that says that something did.
func TestStatusNamesFiles(t *testing.T) {
	var b strings.Builder
	b.WriteString("$ bun test src/\nbun test v1.3.5 (1e86cebd)\n")
	for i := range 60 {
		fmt.Fprintf(&b, "[Parser] Warning: could not parse evaluator %d of response %x as JSON\n", i, i*7919)
	}
	b.WriteString(" 130 pass\n 0 fail\nOn branch main\n\nChanges not staged for commit:\n  (use \"git add <file>...\" to update what will be committed)\n\tmodified:   src/remediation/git-operations.ts\n\tdeleted:    src/remediation/old.ts\n\nno changes added to commit\n")
	out := ToolOutput(Input{MessageID: "m7", ToolName: "Bash", Arguments: []byte(`{"command":"git commit -m fix"}`), Content: b.String(), MaxChars: 800, PreserveErrors: true})
	for _, want := range []string{"src/remediation/git-operations.ts", "src/remediation/old.ts"} {
		if !strings.Contains(out.Text, want) {
			t.Errorf("no %s in\n%s", want, out.Text)
		}
	}
}

// TestSearchReminder: what a search tool says to the model is no part of what it found.
func TestSearchReminder(t *testing.T) {
	found := strings.Repeat("Unused exports are found by the checker, which reads the packages' entry points and their imports in turn. ", 20)
	out := ToolOutput(Input{MessageID: "m7", ToolName: "WebSearch", Arguments: []byte(`{"query":"unused exports"}`), Content: found + "\n\n\nREMINDER: You MUST include the sources above in your response to the user using markdown hyperlinks.", MaxChars: 800})
	if strings.Contains(out.Text, "REMINDER") || strings.Contains(out.Text, "hyperlinks") {
		t.Error(out.Text)
	}
}
