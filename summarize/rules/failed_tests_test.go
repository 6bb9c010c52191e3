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
		words := strings.Fields("masked octets contain hashes redacted fingerprints records exposed lockers cleared attempts accepted seconds rejected owners audited")
		for i := range 60 {
			line := fmt.Sprintf(format, i)
			fmt.Fprintf(&b, "%s\n", strings.Replace(line, "tree", words[i%len(words)]+" of "+words[i*7%len(words)]+words[(i*3+1)%len(words)], 1))
		}
		return b.String()
	}
	suite := strings.Repeat("a suite of the orchard with a long name ", 3)
	marked := func(format string) string {
		var b strings.Builder
		for _, test := range []string{"returns the row and its view", "waters the old trees", "writes no raw address", "keeps the log short", "prunes the young trees", "tells the owner"} {
			fmt.Fprintf(&b, format+"\n", test)
		}
		return b.String()
	}
	for name, c := range map[string]struct{ command, content string }{
		"jest": {"npm test -- --testPathPattern=rows", "> orchard@1.0.0 test\n> jest --testPathPattern=rows\n\nFAIL ./rows.test.ts\n  rows\n" + passing("    ✓ plants tree %d (3 ms)") +
			marked("    ✕ %s (1 ms)") + "\n" + marked("  ● rows — view — the keeper does not see raw rows › %s\n\n    TypeError: Cannot redefine property: compare\n        at Function.defineProperty (<anonymous>)\n\n      206 |     jest.clearAllMocks();\n      207 |     keeper = new Keeper(rows, views, log);\n    > 208 |     jest.spyOn(rows, 'compare').mockReturnValue(view);\n          |          ^\n      209 |     await keeper.open(row);\n\n      at ModuleMocker.spyOn (node_modules/jest-mock/build/index.js:776:16)\n      at Object.<anonymous> (rows.test.ts:208:10)\n") +
			"Test Suites: 1 failed, 1 total\nTests:       6 failed, 60 passed, 66 total\nSnapshots:   0 total\nTime:        1.523 s\nRan all test suites matching /rows/i.\n"},
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

// TestColouredFailure: a runner's colours take nothing from the lines that it shows in them.
func TestColouredFailure(t *testing.T) {
	var b strings.Builder
	for _, tree := range strings.Fields("apple pear plum cherry quince medlar almond walnut hazel fig olive lemon lime orange peach apricot damson mulberry elder rowan") {
		fmt.Fprintf(&b, "checking /srv/orchard/%s.yaml against %s_rows-1.2.0 (%s)\r\n", tree, tree, strings.ToUpper(tree))
	}
	rule := strings.Repeat("=", 76)
	red := func(text string) { fmt.Fprintf(&b, "\x1b[1m\x1b[31m%s\x1b[0m\r\n", text) }
	b.WriteString("Successfully installed pluggy-1.6.0 pytest-8.4.1\r\n" + rule + " FAILURES " + rule + "\r\n\x1b[31m\x1b[1m_________ test_owner _________\x1b[0m\r\n\r\n")
	red(">       assert row.owner, 'the row has no owner'")
	red("E       AssertionError: the row has no owner")
	b.WriteString("\r\n\x1b[1m\x1b[31m/tests/test_rows.py\x1b[0m:39: AssertionError\r\n" + rule + " PASSES " + rule + "\r\n")
	b.WriteString("\x1b[31mFAILED\x1b[0m ../tests/test_rows.py::\x1b[1mtest_owner\x1b[0m - AssertionError: the row has no owner\r\n\x1b[31m====== \x1b[31m\x1b[1m1 failed\x1b[0m, \x1b[32m2 passed\x1b[0m\x1b[31m in 0.03s\x1b[0m\x1b[31m ======\x1b[0m\r\n")
	text := ToolOutput(Input{ToolName: "run_shell", Arguments: []byte(`{"cmd":"bash run-tests.sh"}`), Content: b.String(), MessageID: "m1", MaxChars: 400, PreserveErrors: true}).Text
	for _, part := range []string{"E AssertionError: the row has no owner", "test_rows.py:39", "FAILED ../tests/test_rows.py::test_owner"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
}
