package verdict

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

// ending is one output of a tool, as its runner prints it. The heads of testdata/endings.txt are
// `tool | command | verdict[, hidden verdict][, tests passed/failed]`.
type ending struct {
	tool, command, text string
	want, hidden        string // its verdict; that where the command line hides the exit code
	tests               string // Outcome.Tests; not compared if empty
}

func endings(t *testing.T) []ending {
	raw, err := os.ReadFile("testdata/endings.txt")
	if err != nil {
		t.Fatal(err)
	}
	var list []ending
	for _, block := range strings.Split("\n"+string(raw), "\n### ")[1:] {
		head, text, _ := strings.Cut(block, "\n")
		f := strings.Split(head, " | ")
		e := ending{tool: f[0], command: strings.Join(f[1:len(f)-1], " | "), text: text}
		says := strings.Split(f[len(f)-1], ", ")
		e.want, e.hidden = says[0], says[0]
		for _, say := range says[1:] {
			if hidden, ok := strings.CutPrefix(say, "hidden "); ok {
				e.hidden = hidden
			} else if tests, ok := strings.CutPrefix(say, "tests "); ok {
				e.tests = tests
			} else {
				t.Fatalf("%s: %q", e.command, say)
			}
		}
		list = append(list, e)
	}
	return list
}

// frames are the ways in which harnesses pass an output on, and the verdict that is right then.
var frames = []struct {
	name string
	call func(e ending) Call
	want func(e ending) string
}{
	{"nothing told", func(e ending) Call { return Call{Command: e.command, Text: e.text} }, own},
	{"an exit code", func(e ending) Call { return Call{Command: e.command, Text: e.text, ExitCode: new(codeOf(e))} }, ended},
	{"an error flag", func(e ending) Call { return Call{Command: e.command, Text: e.text, IsError: new(codeOf(e) != 0)} }, ended},
	{"an exit code in front", func(e ending) Call {
		return Call{Command: e.command, Text: fmt.Sprintf("Chunk ID: 3f1c2a\nWall time: 1.20 seconds\nProcess exited with code %d\nOutput:\n%s", codeOf(e), e.text)}
	}, ended},
	{"an exit code behind", func(e ending) Call {
		return Call{Command: e.command, Text: fmt.Sprintf("%s\n\n[The command completed with exit code %d.]", e.text, codeOf(e))}
	}, ended},
	{"a pipe that hides it", func(e ending) Call {
		return Call{Command: "cd /src && " + e.command + " 2>&1 | tail -40", Text: e.text, IsError: new(false), ExitCode: new(0)}
	}, func(e ending) string { return e.hidden }},
	{"captured", func(e ending) Call {
		return Call{Command: "OUT=$(" + e.command + " 2>&1); echo \"$OUT\" | tail -30", Text: e.text, IsError: new(false)}
	}, func(e ending) string { return e.hidden }},
	{"a reminder behind it", func(e ending) Call {
		return Call{Command: e.command, Text: e.text + "\n\n<system-reminder>\nThe last run:\n3 failed, 12 passed\nerror: it exited with code 3\n</system-reminder>"}
	}, own},
	{"a log of it that is shown", func(e ending) Call {
		return Call{Command: "cd /src && tail -n 50 run.log", Text: e.text, IsError: new(false), ExitCode: new(0)}
	}, func(ending) string { return "success" }},
	{"a file that is read", func(e ending) Call { return Call{Kind: Look, Text: e.text, IsError: new(false)} }, func(ending) string { return "success" }},
	{"an edit of it", func(e ending) Call {
		text := "The file /app/run.md has been updated. Here's the result of running `cat -n` on a snippet:"
		for i, line := range strings.Split(e.text, "\n") {
			text += fmt.Sprintf("\n%6d\t%s", i+31, line)
		}
		return Call{Kind: Edit, Text: text}
	}, func(ending) string { return "success" }},
	{"a longer log", func(e ending) Call {
		return Call{Command: e.command, Text: strings.Repeat("  running step of the build\n", 200) + e.text}
	}, own},
}

func own(e ending) string { return e.want }

// ended is the verdict where the exit code is known: it decides what the text leaves open.
func ended(e ending) string {
	if e.want == "unknown" {
		return "success"
	}
	return e.want
}

func codeOf(e ending) int {
	if e.want == "failure" {
		return 1
	}
	return 0
}

// TestEndings judges each ending in each frame. None may be wrong: a success for a failure, or the other way round.
func TestEndings(t *testing.T) {
	list := endings(t)
	tools := map[string]bool{}
	n := 0
	for _, e := range list {
		tools[e.tool] = true
		for _, f := range frames {
			call := f.call(e)
			if call.Kind == Other {
				call.Kind = Run
			}
			n++
			o := Of(call)
			got := o.Verdict.String()
			if want := f.want(e); got != want {
				t.Errorf("%s, %s: %s, want %s (by %q)\n%s", e.command, f.name, got, want, o.Line, e.text)
			}
			if tests := fmt.Sprintf("%d/%d", o.Tests.Passed, o.Tests.Failed); e.tests != "" && call.Kind == Run && f.name != "a log of it that is shown" && tests != e.tests {
				t.Errorf("%s, %s: tests %s, want %s\n%s", e.command, f.name, tests, e.tests, e.text)
			}
			if o.Line != "" && call.Kind == Run && !strings.Contains(call.Text, o.Line) {
				t.Errorf("%s, %s: decided by %q", e.command, f.name, o.Line)
			}
			if strings.HasPrefix(f.name, "an exit code") && (!o.ExitKnown || o.Exit != codeOf(e)) {
				t.Errorf("%s, %s: exit %d, %v", e.command, f.name, o.Exit, o.ExitKnown)
			}
		}
	}
	if len(list) < 300 || len(tools) < 100 {
		t.Errorf("%d endings of %d tools", len(list), len(tools))
	}
}

// TestCalls judges each call as it stands. The heads of testdata/calls.txt are `kind | is_error or exit code | command |
// verdict[, tests passed/failed]`; `-` is a flag that is not there.
func TestCalls(t *testing.T) {
	raw, err := os.ReadFile("testdata/calls.txt")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]Kind{"run": Run, "look": Look, "edit": Edit, "other": Other, "report": Report}
	list := strings.Split("\n"+string(raw), "\n### ")[1:]
	for _, block := range list {
		head, text, _ := strings.Cut(block, "\n")
		f := strings.Split(head, " | ")
		kind, known := kinds[f[0]]
		if len(f) < 4 || !known {
			t.Fatalf("head %q", head)
		}
		c := Call{Kind: kind, Command: strings.Join(f[2:len(f)-1], " | "), Text: text}
		c.Command = strings.ReplaceAll(c.Command, `\n`, "\n")
		switch f[1] {
		case "-":
		case "false", "true":
			c.IsError = new(f[1] == "true")
		default:
			c.ExitCode = new(atoi(f[1]))
		}
		want, tests, _ := strings.Cut(f[len(f)-1], ", tests ")
		o := Of(c)
		if got := o.Verdict.String(); got != want {
			t.Errorf("%s: %s (by %q)\n%s", head, got, o.Line, text)
		}
		if got := fmt.Sprintf("%d/%d", o.Tests.Passed, o.Tests.Failed); tests != "" && got != tests {
			t.Errorf("%s: tests %s\n%s", head, got, text)
		}
	}
	if len(list) < 400 {
		t.Errorf("%d calls", len(list))
	}
}

// TestOtherKinds: edits, refused calls, answers of services, shown files.
func TestOtherKinds(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		call Call
		want Verdict
	}{
		{Call{Kind: Edit, Text: "The file /app/cart.ts has been updated. Here's the result of running `cat -n`:\n 1\terror: x"}, Success},
		{Call{Kind: Edit, Text: "Error: String to replace not found in file.\nString: total"}, Failure},
		{Call{Kind: Edit, Text: "<tool_use_error>File has not been read yet. Read it first.</tool_use_error>"}, Failure},
		{Call{Kind: Edit, Text: "Your proposed edit has introduced new syntax error(s).\nERRORS:\n- E999 IndentationError"}, Failure},
		{Call{Kind: Edit, Text: "# 1 SEARCH/REPLACE block failed to match!\n\n# The other 2 SEARCH/REPLACE blocks were applied successfully."}, Partial},
		{Call{Kind: Edit, Text: "Success. Updated the following files:\nM src/cart.ts"}, Success},
		{Call{Kind: Edit, Text: "{\"lines\": 12}"}, Unknown},
		{Call{Kind: Edit, Text: "{\"lines\": 12}", IsError: &no}, Success},
		{Call{Kind: Edit, Text: "apply_patch verification failed: Failed to find expected lines in cart.ts", IsError: &no}, Failure},
		{Call{Kind: Run, Command: "rm -rf build", Text: "The user doesn't want to proceed with this tool use."}, Failure},
		{Call{Kind: Run, Command: "npm start", Text: "Command running in background with ID: b1"}, Unknown},
		{Call{Kind: Run, Command: "npm test", Text: "Chunk ID: 1\nProcess running with session ID 42\nOutput:\n1 passed, 0 failed"}, Unknown},
		{Call{Kind: Run, Command: "make suite; echo SUITE EXIT: $?", Text: "step\nSUITE EXIT: 0"}, Unknown},
		{Call{Kind: Run, Command: "make suite; echo SUITE EXIT: $?", Text: "step\nSUITE EXIT: 2"}, Failure},
		{Call{Kind: Run, Command: "make | tee log", Text: "step 1\nstep 2", IsError: &no}, Unknown},
		{Call{Kind: Run, Command: "cd /x && make", Text: "step 1\nstep 2", IsError: &no}, Success},
		{Call{Kind: Run, Command: "grep -c x a.txt", Text: "0", ExitCode: new(1)}, Unknown},
		{Call{Kind: Look, Text: "1\tpanic: in the docs\n2\t3 failed", IsError: &no}, Success},
		{Call{Kind: Look, Text: "Error: file not found: /app/x"}, Failure},
		{Call{Kind: Other, Text: "{\"error\": \"no such order\"}"}, Failure},
		{Call{Kind: Other, Text: "{\"error\": null, \"rows\": []}", IsError: &no}, Success},
		{Call{Kind: Other, Text: "{\"rows\": []}"}, Unknown},
		{Call{Kind: Other, Text: "Error: user not found"}, Failure},
		{Call{Kind: Other, Text: "all good", IsError: &yes}, Failure},
		{Call{Kind: Other, Text: strings.Repeat(" ", 5000) + "word"}, Unknown},
		{Call{Kind: Other, Text: strings.Repeat("\n", 5000) + "Error: user not found"}, Failure},
		{Call{Kind: Report, Text: "## Findings\nThe tests fail: 3 failed", IsError: &no}, Unknown},
	} {
		if got := Of(c.call).Verdict; got != c.want {
			t.Errorf("%s %q: %v, want %v", c.call.Command, c.call.Text, got, c.want)
		}
	}
}

// TestTallyOf reads the sums of runners, and no other line with numbers.
func TestTallyOf(t *testing.T) {
	for line, want := range map[string]string{
		"2 failed, 12 passed in 3.1s": "12 2 0", "Tests run: 4, Failures: 1, Errors: 2, Skipped: 0": "0 1 2", "test result: ok. 8 passed; 0 failed; 0 ignored": "8 0 0",
		"Tests:       1 failed, 21 passed, 22 total": "21 1 0", "[ FAIL 1 | WARN 0 | SKIP 0 | PASS 12 ]": "12 1 0", "Passed!  - Failed:     0, Passed:    12, Skipped:     0, Total:    12": "12 0 0",
		"# fail 1": "0 1 0", "✖ 3 problems (1 error, 2 warnings)": "0 0 1", "Ok: 8 / Fail: 2": "8 2 0", "1,204 passed": "1204 0 0",
		"copied 12 files": "", "the 3 failed attempts were repeated until one of the hosts answered again": "", "store.go:12: 3 errors are joined here by the caller before they return to it": "", "ok": "",
	} {
		got := ""
		if s, ok := TallyOf(line); ok {
			got = fmt.Sprint(s.Passed, s.Failed, s.Errors)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

// TestCounts: what is looked for before an expression is leaves out no line that it matches.
func TestCounts(t *testing.T) {
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 1))
	words := append(slices.Collect(maps.Keys(labels)), "Passed", "FAILED", "ok", "offences", "violation", "problems", "ſucceeded", "oK", "test", "cases", "error", "Error", "e: file:", "a.go", "main.c", "(12,3)", ":12:3:",
		" ", " ", " ", "\t", ":", "=", "*", "**", ",", "x", "_", "é", "3", "12", "1,204", "0.01s", "7", "offenses detected, ", " offense corrected", "[", "]", "(", ")", "/", ": 3", "=7 ", "3 failed", ": ", "=")
	check := func(line string) (matched bool) {
		count := countFirst.MatchString(line) || labelFirst.MatchString(line) || labelAlone.MatchString(line)
		if count && !counts(line) {
			t.Errorf("seed %d: %q has a count", seed, line)
		}
		compiler, mended := compilerError.MatchString(line), corrected.MatchString(line)
		if compiler && !mayBeCompilers(line) || mended && !strings.Contains(line, " detected, ") {
			t.Errorf("seed %d: %q matches", seed, line)
		}
		return count
	}
	n := 0
	for range 40_000 {
		var b strings.Builder
		for range 1 + rnd.IntN(7) {
			b.WriteString(words[rnd.IntN(len(words))])
		}
		if check(b.String()) {
			n++
		}
	}
	for _, e := range endings(t) {
		for line := range strings.Lines(e.text) {
			check(line)
		}
	}
	if n < 1000 {
		t.Errorf("seed %d: %d lines with a count", seed, n)
	}
	if line := "ok  \tshop/cart\t0.01s"; counts(line) {
		t.Errorf("%q has no count", line)
	}
}

// TestEndOfLongOutput: runners sum up behind any number of lines.
func TestEndOfLongOutput(t *testing.T) {
	text := strings.Repeat("running a step\n", 40000) + "1 failed, 3 passed in 0.12s\n"
	if o := Of(Call{Kind: Run, Command: "pytest | cat", Text: text, IsError: new(false)}); o.Verdict != Failure || o.Tests.Failed != 1 {
		t.Errorf("%v, %+v", o.Verdict, o.Tests)
	}
}

// TestSeveralRuns: the counts of one of several runs are not told as those of the call.
func TestSeveralRuns(t *testing.T) {
	passing := strings.Repeat("    √ plants a tree in its row (3 ms)\n", 80)
	two := passing + "Test Suites: 12 passed, 12 total\nTests:       212 passed, 212 total\n" + passing + "Test Suites: 11 passed, 11 total\nTests:       180 passed, 180 total\n"
	if o := Of(Call{Kind: Run, Command: "bash run_tests.sh", Text: two}); o.Tests.HasPassed || o.Verdict == Failure {
		t.Errorf("two runs: %+v", o)
	}
	if o := Of(Call{Kind: Run, Command: "bash run_tests.sh", Text: passing + "Tests:       212 passed, 212 total\n"}); o.Tests.Passed != 212 {
		t.Errorf("one run: %+v", o)
	}
	cut := "PASS rows.test.ts\nTests:       212 passed, 212 total\nFAIL owners.test.ts\n    × tells the owner (7 ms)\n  ● owners › tells the owner\nPASS trees.test.ts\n"
	if o := Of(Call{Kind: Run, Command: "bash run_tests.sh 2>&1 | grep -E 'FAIL|PASS|Tests:' | head -30", Text: cut}); o.Verdict != Failure || o.Tests.HasPassed {
		t.Errorf("cut off: %+v", o)
	}
}

// TestFailedWithCode: the first line of an unknown tool says that what it ran failed, and with which code.
func TestFailedWithCode(t *testing.T) {
	for text, want := range map[string]Verdict{
		"step `plant` (jdk=17): BUILD FAILED after it, rc=1\n--- first errors ---\n[ERROR] no such row": Failure,
		"Deployment failed (exit_code=2)\nsee the log":                                                  Failure,
		"Nightly build failed with exit code 1\nopened by mina":                                         Unknown, // an issue's title
		"# Axios: Request failed with status code 500\nasked 3 years ago":                               Unknown,
		"Troubleshooting: deploy failed, exit code 137\nMore memory helps.":                             Unknown,
		"step `plant`: built, rc=0\n12 trees":                                                           Unknown,
		"What to do if a build failed\nexit code 1 means that a tree is missing":                        Unknown,
		"3 of 12 trees failed to grow\nrow 4":                                                           Unknown,
	} {
		if o := Of(Call{Kind: Other, Text: text}); o.Verdict != want {
			t.Errorf("%q: %v, want %v", text, o.Verdict, want)
		}
	}
}
