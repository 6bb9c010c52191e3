package rules

import (
	"strings"
	"testing"

	"precis/summarize/verdict"
)

// The seeds' own cases: what the product's original requirements say about a summary.

func summarize(tool, args, content string) Output {
	return ToolOutput(Input{ToolName: tool, Arguments: []byte(args), Content: content, MaxChars: 800, PreserveErrors: true, IncludeMetadata: true})
}

func TestSeedHeader(t *testing.T) {
	f := facts{ended: verdict.Outcome{Verdict: verdict.Success}, key: []string{"File: /app.ts", "Lines: 100"}}
	if got, want := f.header("read_file", 100), "[✓ read_file: File: /app.ts | Lines: 100]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	f.ended.Verdict = verdict.Failure
	if got, want := f.header("read_file", 100), "[❌ read_file: File: /app.ts | Lines: 100]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestSeedReadFile(t *testing.T) {
	out := summarize("read_file", `{"path":"/src/app.ts"}`, "export function hello() {}\nexport const world = 42;\nimport { foo } from 'bar';")
	tool := out.Tool
	if tool.ToolName != "read_file" || tool.Status != statusSuccess {
		t.Errorf("%+v", tool)
	}
	want := []string{"File: /src/app.ts", "Lines: 3", "Type: TypeScript", "Exports: hello, world", "Imports: 1 module"}
	if got := strings.Join(tool.KeyFacts, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("facts:\n%s", got)
	}
	for key, want := range map[string]any{"lines": 3, "has_exports": true, "has_imports": true, "path": "/src/app.ts"} {
		if tool.Metadata[key] != want {
			t.Errorf("%s: %v, want %v", key, tool.Metadata[key], want)
		}
	}
}

func TestSeedBash(t *testing.T) {
	out := summarize("execute_bash", `{"command":"npm test"}`, "npm test\nError: Module not found\nexit code: 1")
	if out.Tool.Status != statusError || out.Tool.Metadata["exit_code"] != 1 || out.Tool.Metadata["has_error"] != true {
		t.Errorf("%+v", out.Tool)
	}
	if facts := strings.Join(out.Tool.KeyFacts, "\n"); !strings.Contains(facts, "Command: npm test\nExit: 1") || !strings.Contains(facts, "Error: Error: Module not found") {
		t.Errorf("facts:\n%s", facts)
	}
	if out := summarize("execute_bash", `{"command":"npm test"}`, "all good\nexit code: 0"); out.Tool.Status != statusSuccess {
		t.Errorf("%+v", out.Tool)
	}
}

func TestSeedSearch(t *testing.T) {
	out := summarize("search_files", `{"pattern":"useState"}`, "src/App.tsx:3:import { useState } from 'react';\nsrc/App.tsx:9:const [a] = useState(0);\nsrc/Hook.ts:1:useState()")
	want := []string{`Pattern: "useState"`, "Matches: 3", "Files: 2", "Top files: src/App.tsx, src/Hook.ts"}
	if got := strings.Join(out.Tool.KeyFacts, "\n"); got != strings.Join(want, "\n") || out.Tool.Status != statusSuccess {
		t.Errorf("%s:\n%s", out.Tool.Status, got)
	}
	if out := summarize("grep", `{"pattern":"x"}`, "No matches found"); out.Tool.Status != statusPartial {
		t.Errorf("nothing found: %+v", out.Tool)
	}
}

func TestSeedMetadataIsOptional(t *testing.T) {
	out := ToolOutput(Input{ToolName: "read", Content: "a\nb", MaxChars: 100})
	if out.Tool.Metadata == nil || len(out.Tool.Metadata) != 0 || out.Tool.KeyFacts == nil {
		t.Errorf("%+v", out.Tool)
	}
}

// TestStatus: the event takes precedence over the text.
func TestStatus(t *testing.T) {
	yes, no, zero, two := true, false, 0, 2
	for _, c := range []struct {
		name string
		in   Input
		want string
	}{
		{"told an error", Input{ToolName: "bash", Content: "fine", IsError: &yes}, statusError},
		{"told an exit code", Input{ToolName: "bash", Content: "fine", ExitCode: &two}, statusError},
		{"exit code 0 after errors", Input{ToolName: "bash", Content: "error: retried\nfine", ExitCode: &zero}, statusSuccess},
		{"errors and no word", Input{ToolName: "bash", Content: "main.go:3:1: error: no such thing"}, statusError},
		{"errors in a call that went well", Input{ToolName: "bash", Content: "--- FAIL: TestX (0.01s)", IsError: &no}, statusPartial},
		{"a file that speaks of errors", Input{ToolName: "read", Content: "panic: in the docs\nError: no"}, statusSuccess},
		{"a word about errors", Input{ToolName: "bash", Content: "0 errors, 0 warnings\nno error here"}, statusSuccess},
		{"a Python traceback", Input{ToolName: "bash", Content: "Traceback (most recent call last):\n  File \"a.py\", line 1\nboom.Odd: x"}, statusError},
	} {
		c.in.MaxChars = 200
		if got := ToolOutput(c.in).Tool.Status; got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
