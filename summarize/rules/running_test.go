package rules

import (
	"strings"
	"testing"
)

// TestStillRuns: that a process goes on is told also where the arguments of the call would take the first line.
func TestStillRuns(t *testing.T) {
	text := ToolOutput(Input{ToolName: "write_stdin", Arguments: []byte(`{"session_id":72480,"chars":"","yield_time_ms":30000,"max_output_tokens":50000}`), MaxChars: 800,
		Content: "Chunk ID: 677b26\nWall time: 30.0008 seconds\nProcess running with session ID 72480\nOriginal token count: 1232\nOutput:\n" + strings.Repeat("dashboard build: rendering chunks of the page...\n@agentv/core build: ESM Build success in 84ms\n", 20)}).Text
	if head, _, _ := strings.Cut(text, "\n"); !strings.Contains(head, "Running: session ID 72480") {
		t.Errorf("no word of it in %s", head)
	}
}

// TestRunningStands: which process goes on is told whole, and first; what was typed follows as far as there is room.
func TestRunningStands(t *testing.T) {
	const typed = "npm run build"
	id := "0d3f6c1e-88a4-4f7b-9a53-2f6d2b7c1e90"
	text := ToolOutput(Input{ToolName: "write_stdin", Arguments: []byte(`{"session_id":"` + id + `","chars":"y\n"}`), MaxChars: 800,
		Content: "Chunk ID: 677b26\nWall time: 30.0008 seconds\nProcess running with session ID " + id + "\nOriginal token count: 1232\nOutput:\n" + strings.Repeat("dashboard build: rendering chunks of the page...\n@agentv/core build: ESM Build success in 84ms\n", 20)}).Text
	if head, _, _ := strings.Cut(text, "\n"); !strings.Contains(head, id) {
		t.Error("not whole in", head)
	}
	text = ToolOutput(Input{ToolName: "write_stdin", Arguments: []byte(`{"session_id":72480,"chars":"` + typed + ` -- --filter dashboard\n","yield_time_ms":30000,"max_output_tokens":50000}`), MaxChars: 800,
		Content: "Wall time: 30.0008 seconds\nProcess running with session ID 72480\nOutput:\n" + strings.Repeat("dashboard build: rendering chunks of the page...\n@agentv/core build: ESM Build success in 84ms\n", 20)}).Text
	if head, _, _ := strings.Cut(text, "\n"); !strings.Contains(head, "session ID 72480") || !strings.Contains(head, typed) {
		t.Error("not what was typed in", head)
	}
}
