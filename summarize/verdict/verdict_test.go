package verdict

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// ending is one output of a tool, as its runner prints it.
type ending struct {
	tool, command, text string
	want, hidden        string // its verdict; that where the command line hides the exit code
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
		want, hidden, ok := strings.Cut(f[len(f)-1], ", hidden ")
		if !ok {
			hidden = want
		}
		list = append(list, ending{tool: f[0], command: strings.Join(f[1:len(f)-1], " | "), want: want, hidden: hidden, text: text})
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
			call.Kind = Run
			n++
			if got, want := Of(call).Verdict.String(), f.want(e); got != want {
				t.Errorf("%s, %s: %s, want %s\n%s", e.command, f.name, got, want, e.text)
			}
		}
	}
	if n < 500 || len(tools) < 60 {
		t.Errorf("%d endings of %d tools", n, len(tools))
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
