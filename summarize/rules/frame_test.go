package rules

import (
	"fmt"
	"strings"
	"testing"
)

// TestFramed: an output has the same summary whichever agent's program put what around it, and its lines are counted without that.
func TestFramed(t *testing.T) {
	var b strings.Builder
	for i := range 40 {
		fmt.Fprintf(&b, "tests/test_orchard.py::test_row_%02d PASSED\n", i)
	}
	b.WriteString("tests/test_orchard.py::test_owner FAILED\n\n>       assert row.owner == 'Ida'\nE       AssertionError: assert None == 'Ida'\n\ntests/test_orchard.py:71: AssertionError\n" +
		"=========================== short test summary info ============================\nFAILED tests/test_orchard.py::test_owner - AssertionError: assert None == 'Ida'\n" +
		"========================= 1 failed, 40 passed in 1.20s =========================")
	printed, one := b.String(), 1
	in := Input{ToolName: "shell", Arguments: []byte(`{"command":"pytest -v"}`), MessageID: "m1", MaxChars: 800, PreserveErrors: true, Content: printed, ExitCode: &one}
	want := ToolOutput(in)
	for _, frame := range []string{
		"<returncode>1</returncode>\n<output>\n%s\n</output>",
		"%s\n[The command completed with exit code 1.]\n[Current working directory: /srv]\n[Python interpreter: /usr/bin/python3]\n[Command finished with exit code 1]",
		"Command: pytest -v\nDirectory: (root)\nOutput: %s\nError: (none)\nExit Code: 1\nSignal: (none)\nProcess Group PGID: 1234",
		"[execute_command for 'pytest -v'] Result:\nCommand executed in terminal within working directory '/srv'. Exit code: 1\nOutput:\n%s",
		"<retrieval_status>success</retrieval_status>\n<task_type>local_bash</task_type>\n<exit_code>1</exit_code>\n<output>\n%s\n</output>",
		"exit_code: 1\nstdout:\n%s\nstderr:\n",
	} {
		in.Content, in.ExitCode = fmt.Sprintf(frame, printed), nil
		if got := ToolOutput(in); got.Text != want.Text || got.Tool.Category != want.Tool.Category || got.Tool.Status != want.Tool.Status {
			t.Errorf("in %.60q:\n%s\nwant:\n%s", frame, got.Text, want.Text)
		}
	}
}

// TestCommandGoesOn: the code that stands for no exit yet is no failure.
func TestCommandGoesOn(t *testing.T) {
	text := ToolOutput(Input{ToolName: "execute_bash", Arguments: []byte(`{"command":"python serve.py"}`), MessageID: "m1", MaxChars: 400,
		Content: strings.Repeat("serving the orchard on port 8100\n", 30) + "[The command has no new output after 30 seconds. You may wait longer to see additional output.]\n[Current working directory: /srv]\n[Command finished with exit code -1]"}).Text
	if head, _, _ := strings.Cut(text, "\n"); strings.Contains(head, "❌") || strings.Contains(head, "Exit") {
		t.Errorf("an end in %s", head)
	}
}

// TestNotRun: a command that the harness refused did not succeed, and the script that it was is not its output.
func TestNotRun(t *testing.T) {
	script := strings.Repeat("echo planting a row of trees in the orchard\n", 60)
	text := ToolOutput(Input{ToolName: "exec_command", Arguments: []byte(`{"cmd":"sh plant.sh"}`), MessageID: "m1", MaxChars: 800,
		Content: "exec_command failed for `/bin/bash -lc \"" + script + "\"`: CreateProcess { message: \"Denied { exit_code: 1, stderr: \\\"bwrap: Operation not permitted\\\" }\" }"}).Text
	if !strings.HasPrefix(text, "[❌") || strings.Contains(text, "planting") || !strings.Contains(text, "Operation not permitted") {
		t.Error(text)
	}
}
