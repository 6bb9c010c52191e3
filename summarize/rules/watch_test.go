package rules

import (
	"fmt"
	"strings"
	"testing"
)

// TestWatchedState: of what a program prints again and again, the last state is shown, and none that it has replaced.
func TestWatchedState(t *testing.T) {
	var out strings.Builder
	jobs := []string{"build hull", "paint deck", "rig sails", "check ropes", "load ballast", "test pumps"}
	for round := range 4 {
		out.WriteString("Refreshing the state of the yard every 10 seconds.\n\n* harbour/main Launch · 2775004513\n\nJOBS\n")
		for i, job := range jobs {
			state := "*"
			if i <= round {
				state = "✓"
			}
			fmt.Fprintf(&out, "%s %s (ID %d)\n  ✓ Set up %s\n  ✓ Run tools/berth-%d\n", state, job, 8209794+i, job, i)
		}
		out.WriteString("\nANNOTATIONS\n! Yard tools of 2020 are replaced: https://yard.example/changelog/2026\n\n")
	}
	text := ToolOutput(Input{MessageID: "m1", ToolName: "bash", Arguments: []byte(`{"command":"yard watch 2775004513"}`), Content: out.String(), MaxChars: 800}).Text
	for i, job := range jobs {
		is, was := "✓ ", "* "
		if i > 3 {
			is, was = was, is
		}
		if strings.Contains(text, "\n"+was+job) || i < 4 && !strings.Contains(text, "\n"+is+job) {
			t.Errorf("%s is not told as %s in\n%s", job, is, text)
		}
	}
}
