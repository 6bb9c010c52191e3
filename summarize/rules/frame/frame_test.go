package frame

import (
	"fmt"
	"strings"
	"testing"
)

const (
	command = "make check\nmake report"
	printed = "orchard: counting trees\n<b>12</b> apple, 3 pear\n\nerror: row 7 has no owner\n```\nStderr: (empty) of nothing"
)

// frames put an output between what agents' programs add, with an exit code of 3.
var frames = map[string]string{
	"tags":                "<returncode>3</returncode>\n<output>\n%s\n</output>",
	"observed tags":       "Observation: <returncode>3</returncode>\n<output>\n%s</output>",
	"streams in tags":     "<stdout>\n%s\n</stdout>\n<stderr>\n</stderr>\n<exit_code>3</exit_code>",
	"a task":              "<retrieval_status>success</retrieval_status>\n\n<task_id>b81</task_id>\n\n<task_type>local_bash</task_type>\n\n<status>completed</status>\n\n<exit_code>3</exit_code>\n\n<output>\n%s\n</output>",
	"a terminal's tags":   "<terminal_id>1</terminal_id>\n<terminal_cwd>/srv/orchard</terminal_cwd>\n<command_status>completed</command_status>\n<command_exit_code>3</command_exit_code>\n<command_output>\n%s\n</command_output>",
	"brackets":            "%s\n[The command completed with exit code 3.]\n[Current working directory: /srv/orchard]\n[Python interpreter: /usr/bin/python3]\n[Command finished with exit code 3]",
	"a heading":           "EXECUTION RESULT of [execute_bash]:\n%s\n[Python Interpreter: /usr/bin/python3]\nroot@orchard:/srv # \n[Command finished with exit code 3]",
	"a tool":              "Tool: terminal\nResult:\n%s\n[Command finished with exit code 3]",
	"a place":             "[execute_command for 'make check'] Result:\nCommand executed in terminal within working directory '/srv/orchard'. Exit code: 3\nOutput:\n%s",
	"labels":              "Command: " + command + "\nDirectory: (root)\nStdout: %s\nStderr: (empty)\nError: (none)\nExit Code: 3\nSignal: (none)\nBackground PIDs: (none)\nProcess Group PGID: 1234",
	"few labels":          "Output: %s\nExit Code: 3\nProcess Group PGID: 1234",
	"a fence":             "Exit code: 3\n\nCommand output:\n\n```\n%s\n```\n\nCommand completed.\n\nThe previous shell command ended, so on the next invocation of this tool, you will be reusing the shell.",
	"a quoted command":    "Command \"" + command + "\" failed with exit code 3.\n\n%s",
	"a tag behind":        "%s\n<exited with exit code 3>",
	"a sentence behind":   "%s\nCommand failed with exit code: 3.",
	"sections":            "exit_code: 3\nstdout:\n%s\nstderr:\n",
	"capital sections":    "STDOUT:\n%s\n\nSTDERR:\n\n\nEXIT CODE: 3",
	"a sentence in front": "The command completed.\nExit code: 3\nOutput:\n%s",
}

// TestOpen: whatever stands around an output, it is the same, and the exit code is known.
func TestOpen(t *testing.T) {
	for name, frame := range frames {
		text := printed
		if name == "a fence" {
			text = strings.ReplaceAll(printed, "```", "---")
		}
		got, ok := Open(fmt.Sprintf(frame, text), command)
		switch {
		case !ok:
			t.Errorf("%s: not seen", name)
		case strings.TrimSpace(got.Text) != text:
			t.Errorf("%s: text %q", name, got.Text)
		case got.Exit == nil || *got.Exit != 3:
			t.Errorf("%s: exit code %v", name, got.Exit)
		case got.Failed || got.Running:
			t.Errorf("%s: failed %v, running %v", name, got.Failed, got.Running)
		}
	}
}

// TestOpenWithoutCode: frames that say nothing of the exit code, or that there is none yet.
func TestOpenWithoutCode(t *testing.T) {
	for name, c := range map[string]struct {
		source, want    string
		failed, running bool
	}{
		"notes":             {"a\nb\n[result-id: r2]\n[rerun: b4]", "a\nb", false, false},
		"an editor's shell": {"OBSERVATION:\na\nb\n(Open file: n/a)\n(Current directory: /srv)\nbash-$", "a\nb", false, false},
		"a terminal":        {"New Terminal Output:\n\nroot@0c1f:/app# " + command + "\na\nb\nroot@0c1f:/app# ", "a\nb", false, false},
		"no new output":     {"a\nb\n[The command has no new output after 30 seconds. You may wait longer.]\n[Current working directory: /srv]\n[Command finished with exit code -1]", "a\nb", false, true},
		"goes on":           {"Command is still running in the user's terminal.\nOutput:\na\nb", "a\nb", false, true},
		"a running task":    {"<status>running</status>\n<stdout>\na\nb\n</stdout>", "a\nb", false, true},
		"errors below":      {"stdout:\na\n\nstderr:\nb\n", "a\nb", false, false},
		"refused":           {"exec_command failed for `/bin/sh -c \"cat > x <<E\na\nE\n\"`: Denied { reason: \"none\" }", `exec_command failed: Denied { reason: "none" }`, true, false},
		"behind a command":  {"Command: /bin/sh -c \"cat > x <<E\na\nE\"\nChunk ID: ce57\nWall time: 0 seconds\nProcess exited with code 0\nOutput:\n", "Chunk ID: ce57\nWall time: 0 seconds\nProcess exited with code 0\nOutput:", false, false},
		"cut off":           {"<returncode>-1</returncode>\n<output>\na\nb", "a\nb", false, false},
	} {
		got, ok := Open(c.source, command)
		if text := strings.TrimSpace(got.Text); !ok || text != c.want || got.Failed != c.failed || got.Running != c.running || c.running && got.Exit != nil {
			t.Errorf("%s: %v %q, failed %v, running %v, exit %v", name, ok, text, got.Failed, got.Running, got.Exit)
		}
	}
}

// TestOpenLeaves: what only resembles a frame is an output's own.
func TestOpenLeaves(t *testing.T) {
	for _, source := range []string{
		"", "\n", "Output:\n", "a\nb\n", "Output:\na\nb\n",
		"<status>ok</status>\n<total>3</total>",
		"<output>only this</output> and more",
		"<html><body>a</body></html>",
		"Command: make\nIt ran.\n",
		"make: *** [check] Error 1\nexit code: 1 was expected\n",
		"[Command finished with exit code 0]",
		"[The orchard: closed]\n[Open: never]\n",
		"Error: (none)\nnothing else\n",
		"Tool: rake\nPrice: 12\n",
		"Output:\na\nb\nReturn code: 2\n", // of a solver
		"Output: a\nb\nExit Code: 1\n",
		"```\na\nb\n```\n",
		"[File: /srv/a.py (2 lines total)]\n1:a\n2:b\n(Open file: /srv/a.py)\n(Current directory: /srv)\nbash-$",
	} {
		for _, run := range []string{"", command} {
			if got, ok := Open(source, run); ok {
				t.Errorf("%q: opened as %+v", source, got)
			}
		}
	}
}

// A command that goes on has no exit code; one that has another than -1 has ended, whatever its text says.
func TestOpenAnEnd(t *testing.T) {
	got, ok := Open("<returncode>1</returncode><output>\na\n[Command still running in background]\n</output>", command)
	if !ok || got.Running || got.Exit == nil || *got.Exit != 1 {
		t.Errorf("%v %+v", ok, got)
	}
}
