package rules

import (
	"fmt"
	"strings"
	"testing"
)

// TestWaitedLog: what a run in the background has written is a log, also behind a wait; that it was read well does not make its failure a success.
func TestWaitedLog(t *testing.T) {
	log := strings.Repeat("  ok  [chromium] › tests/rows.spec.ts:12:7 › rows › are planted (81ms)\n", 40) + "  1 failed\n    [chromium] › tests/owners.spec.ts:9:7 › owners › are told\n  40 passed (1.3m)\n\nFAIL: E2E tests failed.\n\n=== SOME TESTS FAILED ===\n"
	text := ToolOutput(Input{ToolName: "Bash", Arguments: []byte(`{"command":"sleep 300 && tail -50 /tmp/tasks/b6eedof7g.output 2>&1"}`), Content: log, MessageID: "m1", MaxChars: 800, PreserveErrors: true}).Text
	if strings.HasPrefix(text, "[✓") || !strings.Contains(text, "SOME TESTS FAILED") {
		t.Error(text)
	}
}

// TestEndBehindWords: what is printed in front of the end of a file is none of its lines.
func TestEndBehindWords(t *testing.T) {
	var b strings.Builder
	b.WriteString("Waiting for the orchard\n")
	for i := range 50 {
		fmt.Fprintf(&b, "#33 %d.1 planting row number %d of the orchard\n", i, i*7)
	}
	for command, want := range map[string]string{
		"echo 'Waiting for the orchard' && sleep 30 && tail -50 rows.log": "Lines: last 50",
		"echo 'Waiting for the orchard' && tail -80 rows.log":             "Lines: 50",
	} {
		out := ToolOutput(Input{ToolName: "bash", Arguments: []byte(`{"command":"` + command + `"}`), Content: b.String(), MessageID: "m1", MaxChars: 500})
		if facts := strings.Join(out.Tool.KeyFacts, "\n"); !strings.Contains(facts, want) {
			t.Errorf("%s: no %q in %q", command, want, facts)
		}
	}
}
