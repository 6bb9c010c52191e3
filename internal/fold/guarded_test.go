package fold

import (
	"strings"
	"testing"

	"precis/events"
	"precis/summarize/rules"
)

// TestRulesThatPanic: the output is cut instead, for the fold and for a job alike.
func TestRulesThatPanic(t *testing.T) {
	in := rules.Input{MessageID: "m1", ToolName: "bash", Content: strings.Repeat("step of the build\n", 100), MaxChars: 200}
	out, method, why := guarded(in, func(rules.Input) rules.Output { panic("index out of range") })
	if method != events.MethodTruncation || why == nil || *why != "rules_panicked" {
		t.Errorf("method %s, reason %v", method, why)
	}
	if n := len(out.Text); n == 0 || n > 200+len("…")*4 || out.Tool.ToolName != "bash" || out.Tool.KeyFacts == nil || out.Tool.Metadata == nil {
		t.Errorf("%d bytes of text, %+v", n, out.Tool)
	}
}
