package main

import (
	"strings"
	"testing"
)

// edited is a thread with what changes it: an edit, a deletion, a rewind, and a large output, which has a summary.
var edited = `{"type":"thread.message","thread_id":"t","message_id":"m0","role":"system","content":"Be brief."}
{"type":"thread.message","thread_id":"t","message_id":"m1","role":"user","content":"Why do they fail?"}
{"type":"thread.message","thread_id":"t","message_id":"m2","role":"assistant","content":"Let me see.","tool_calls":[{"id":"c1","name":"bash","arguments":{"command":"go test"}}],"model":"m-1","usage":{"input_tokens":9,"output_tokens":4},"created_at":"2026-02-05T10:00:00Z"}
{"type":"tool.result","thread_id":"t","message_id":"m3","tool_call_id":"c1","content":"` + strings.Repeat("--- FAIL: TestTotal\\n", 200) + `","exit_code":1,"is_error":true}
{"type":"thread.message","thread_id":"t","message_id":"m4","role":"assistant","content":"It rounds."}
{"type":"message.edited","thread_id":"t","message_id":"m1","content":"Why does it fail?"}
{"type":"thread.message","thread_id":"t","message_id":"m5","role":"user","content":"Never mind.","pinned":true}
{"type":"message.edited","thread_id":"t","message_id":"m4","deleted":true}
{"type":"thread.message","thread_id":"t","message_id":"m6","role":"assistant","content":"Gone with the rewind."}
{"type":"message.edited","thread_id":"t","message_id":"m5","rewind":true}
{"type":"thread.message","thread_id":"t","agent_id":"a","message_id":"m7","role":"assistant","content":"Then not.","tool_calls":[{"id":"c2","name":"bash","arguments":{"command":"ls"}}]}
`

// An export in a form has the thread as it stands: current revisions, whole outputs, no summaries.
func TestExportForms(t *testing.T) {
	p := startProcessor(t, t.TempDir())
	p.do(t, edited, "publish", "-", "--wait").wants(t, exitDone, "11 events of 1 thread", "")
	p.awaits(t, "summary.created", 1)
	for format, want := range map[string][]string{
		"openai":      {`"role": "system"`, `"tool_call_id": "c1"`, `"arguments": "{\"command\":\"go test\"}"`},
		"anthropic":   {`"system": [`, `"tool_use_id": "c1"`, `"is_error": true`},
		"responses":   {`"input": [`, `"type": "function_call_output"`},
		"claude-code": {`"tool_use_id":"c1"`, `"id":"c2"`, `"model":"m-1"`},
	} {
		got := p.do(t, "", "export", "t", "--format", format)
		if format == "claude-code" {
			got.wants(t, exitDone, "", "left out: system message, which Claude Code sends by itself, 1 time (first: m0)")
		} else {
			got.wants(t, exitDone, "", "left out: call that waits for its result, 1 time (first: m7)")
		}
		for _, text := range append(want, "Why does it fail?", "Never mind.", strings.Repeat(`--- FAIL: TestTotal\n`, 200)) {
			if !strings.Contains(got.stdout, text) {
				t.Errorf("%s: no %.100q in\n%s", format, text, got.stdout)
			}
		}
		for _, text := range []string{"It rounds.", "Gone with the rewind.", "Why do they fail?"} {
			if strings.Contains(got.stdout, text) {
				t.Errorf("%s: %q is in\n%s", format, text, got.stdout)
			}
		}
	}
	p.do(t, "", "export", "other", "--format", "openai").wants(t, exitWrong, "", `no thread "other"`)
	p.do(t, "", "export", "t", "--format", "openai", "--records", "usage").wants(t, exitUsage, "", "give --format or --records, not both")
}

// What was exported is exported again as it was, once it has been published to another server.
func TestExportIsReadAgain(t *testing.T) {
	first, second := startProcessor(t, t.TempDir()), startProcessor(t, t.TempDir())
	first.do(t, edited, "publish", "-", "--wait").wants(t, exitDone, "11 events of 1 thread", "")
	for format, publish := range map[string][]string{
		"openai":      {"--format", "openai", "--thread", "t1"},
		"anthropic":   {"--format", "anthropic", "--thread", "t2"},
		"responses":   {"--format", "openai", "--thread", "t3"},
		"claude-code": {"--format", "auto"},
	} {
		thread := "t"
		if len(publish) > 2 {
			thread = publish[3]
		}
		exported := first.do(t, "", "export", "t", "--format", format)
		second.do(t, exported.stdout, append([]string{"publish", "-", "--wait"}, publish...)...).wants(t, exitDone, "1 thread", "")
		again := second.do(t, "", "export", thread, "--format", format)
		if again.status != exitDone || again.stdout != exported.stdout {
			t.Errorf("%s: exported again\n%s%s\ninstead of\n%s", format, again.stdout, again.stderr, exported.stdout)
		}
	}
}
