package rules

import (
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
