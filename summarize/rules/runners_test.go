package rules

import (
	"fmt"
	"strings"
	"testing"
)

// TestRunnersCounts: what runners of other languages sum up is told as what it is, and with the right end.
func TestRunnersCounts(t *testing.T) {
	listed := func(format string) string {
		var b strings.Builder
		for i := range 30 {
			fmt.Fprintf(&b, format+"\n", i+1)
		}
		return b.String()
	}
	for name, c := range map[string]struct {
		command, content, mark string
		has, hasNot            []string
	}{
		"browser tests": {"npx playwright test", listed("  ok %d [chromium] › tests/orchard.spec.ts:12:7 › rows › are planted (81ms)") + "\n  30 passed (34.1s)", "✓",
			[]string{"Tests: 30 passed"}, []string{"Packages"}},
		"files of tests": {"npx vitest run", listed(" FAIL  src/row%d.test.ts [ src/row.test.ts ]\nError: Failed to resolve import") + "\n Test Files  30 failed (30)\n      Tests  no tests\n", "❌",
			nil, []string{"Packages"}},
		"tests that could not begin": {"bash run-tests.sh", "Successfully installed pytest-8.4.1\n" + listed("ERROR test_rows.py::test_%d - Failed: no orchard") + "========== 30 errors in 30.28s ==========\n", "❌",
			[]string{"Tests: 30 errors"}, nil},
		"failed and skipped": {"bash run-tests.sh", "Successfully installed pytest-8.4.1\n" + listed("SKIPPED [1] test_rows.py:%d: no orchard") + "FAILED test_rows.py::test_owner - AssertionError\n========== 1 failed, 30 skipped in 50.37s ==========\n", "❌",
			[]string{"Tests: 1 failed"}, nil},
		"packages": {"go test ./...", listed("ok  \torchard/row%d\t0.012s") + "?   \torchard/cmd\t[no test files]\nFAIL\torchard/broken [build failed]\n", "❌",
			[]string{"Packages: 1 failed, 30 ok, 1 untested"}, nil},
		"a listing and a file": {"ls -la rows && sed -n '1,40p' rows/a.py", listed("-rw-r--r-- 1 ida ida 230 Mar 25 14:02 row%d.py") + listed("    plant(%d, 'an apple tree of the old orchard')"), "✓",
			[]string{"Output: 60 lines"}, []string{"Entries"}},
	} {
		out := ToolOutput(Input{ToolName: "bash", Arguments: []byte(`{"command":` + fmt.Sprintf("%q", c.command) + `}`), Content: c.content, MessageID: "m1", MaxChars: 800, PreserveErrors: true})
		if !strings.HasPrefix(out.Text, "["+c.mark+" ") {
			t.Errorf("%s: no %s in %.120s", name, c.mark, out.Text)
		}
		facts := strings.Join(out.Tool.KeyFacts, "\n")
		for _, fact := range c.has {
			if !strings.Contains(facts, fact) {
				t.Errorf("%s: no %q in %q", name, fact, facts)
			}
		}
		for _, fact := range c.hasNot {
			if strings.Contains(facts, fact) {
				t.Errorf("%s: %q in %q", name, fact, facts)
			}
		}
	}
}

// TestPowerShellReads: a file that PowerShell shows is a file, told by the path as it was typed.
func TestPowerShellReads(t *testing.T) {
	var b strings.Builder
	for i := range 60 {
		fmt.Fprintf(&b, "def plant_%d(row, tree):\n    raise ValueError('error: no row of that name')\n\n", i)
	}
	in := Input{ToolName: "shell_command", Arguments: []byte(`{"command":"Get-Content -Raw src\\orchard\\rows.py"}`), Content: "Exit code: 0\nWall time: 0.3 seconds\nOutput:\n" + b.String(), MessageID: "m1", MaxChars: 800, PreserveErrors: true}
	out := ToolOutput(in)
	if out.Tool.Category != string(FileContent) || !strings.HasPrefix(out.Text, "[✓ ") || !strings.Contains(out.Text, "rows.py") || !strings.Contains(out.Text, "1|def plant_0") {
		t.Errorf("%s\n%s", out.Tool.Category, out.Text)
	}
	in.Arguments = []byte(`{"command":"Get-ChildItem -Recurse"}`)
	if got := in.Recognized(); got != DirectoryListing {
		t.Error(got)
	}
}

// TestBuildBehindPowerShell: a program that runs behind one that shows something is heard.
func TestBuildBehindPowerShell(t *testing.T) {
	for name, c := range map[string]struct{ command, content string }{
		"a listing": {`dir && dotnet build`, "    Directory: C:\\orchard\n\n" + strings.Repeat("-a---  12.03.2026  10:14   1200 Row.cs\n", 45) +
			"C:\\orchard\\Row.cs(12,8): error CS1002: ; expected [C:\\orchard\\orchard.csproj]\n\nBuild FAILED.\n    0 Warning(s)\n    1 Error(s)\n"},
		"a file": {`type src\a.c && gcc src\a.c`, "#include <stdio.h>\n" + strings.Repeat("int row(int tree) { return tree + 1; }\n", 45) +
			"src\\a.c: In function 'plant':\nsrc\\a.c:45:3: error: expected ';' before '}' token\n"},
	} {
		out := ToolOutput(Input{ToolName: "shell_command", Arguments: fmt.Appendf(nil, `{"command":%q}`, c.command), Content: c.content, MessageID: "m1", MaxChars: 800, PreserveErrors: true})
		if strings.HasPrefix(out.Text, "[✓ ") || !strings.Contains(out.Text, "error") {
			t.Errorf("%s: no failure in\n%s", name, out.Text)
		}
	}
}
