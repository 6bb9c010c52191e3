package rules

import (
	"fmt"
	"strings"
	"testing"
)

// TestFailedTestsNamed: whichever runner it is, and however many tests passed, those that failed are named.
func TestFailedTestsNamed(t *testing.T) {
	passing := func(format string) string {
		var b strings.Builder
		for i := range 60 {
			fmt.Fprintf(&b, format+"\n", i)
		}
		return b.String()
	}
	suite := strings.Repeat("a suite of the orchard with a long name ", 3)
	for name, c := range map[string]struct{ command, content string }{
		"jest": {"npx jest", "FAIL ./rows.test.ts\n  rows\n" + passing("    ✓ plants tree %d (3 ms)") + "    ✕ waters the old trees (1 ms)\n    ✕ prunes the young trees (2 ms)\n\n" +
			"  ● rows › waters the old trees\n\n    TypeError: Cannot redefine property: water\n\n  ● rows › prunes the young trees\n\n    TypeError: Cannot redefine property: water\n\nTests:       2 failed, 60 passed, 62 total\n"},
		"jest, cut off": {"npx jest | tail -80", passing("    ✓ plants tree %d (3 ms)") + "\n  ● " + suite + "› waters the old trees\n\n    Expected: 4\n    Received: 3\n\n  ● " + suite + "› prunes the young trees\n\n    Expected: 4\n    Received: 5\n\nTests:       2 failed, 60 passed, 62 total\n"},
		"phpunit": {"vendor/bin/phpunit", passing("tree %d was planted in its row") + "There were 2 failures:\n\n1) Orchard\\RowsTest::waters the old trees\nFailed asserting that false is true.\n\n2) Orchard\\RowsTest::prunes the young trees\nFailed asserting that 4 matches 3.\n\n" +
			"FAILURES!\nTests: 62, Assertions: 70, Failures: 2.\n"},
		"gradle": {"./gradlew test", passing("RowsTest > plants tree %d PASSED") + "RowsTest > waters the old trees FAILED\n    org.opentest4j.AssertionFailedError at RowsTest.java:12\nRowsTest > prunes the young trees FAILED\n    org.opentest4j.AssertionFailedError at RowsTest.java:19\n\n62 tests completed, 2 failed\n\nBUILD FAILED in 3s\n"},
	} {
		text := ToolOutput(Input{ToolName: "bash", Arguments: []byte(`{"command":"` + c.command + `"}`), Content: c.content, MessageID: "m1", MaxChars: 800, PreserveErrors: true}).Text
		for _, test := range []string{"waters the old trees", "prunes the young trees"} {
			if !strings.Contains(text, test) {
				t.Errorf("%s: no %q in\n%s", name, test, text)
			}
		}
	}
}
