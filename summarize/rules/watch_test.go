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
	text := ToolOutput(Input{MessageID: "m1", ToolName: "bash", Arguments: []byte(`{"command":"gh run watch 2775004513"}`), Content: out.String(), MaxChars: 800}).Text
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

// TestLoopsAreNotWatched: rounds and hosts of a loop are different things, of which none replaces another.
func TestLoopsAreNotWatched(t *testing.T) {
	for name, command := range map[string]string{
		"a loop":          "for h in oak elm ash yew; do ssh $h systemctl status tides; done",
		"a loop of runs":  "for r in 11 12 13 14; do gh run watch $r; done",
		"runs one by one": "gh run watch 11; gh run watch 12; gh run watch 13; gh run watch 14",
		"a list of runs":  "cat runs | xargs -n1 gh run watch",
		"a script":        "./probe.sh",
	} {
		var out strings.Builder
		for host := range 4 {
			out.WriteString("tides.service - Tide gauge of the harbour\n   Loaded: loaded (/etc/systemd/system/tides.service; enabled)\n")
			if host == 1 {
				out.WriteString("   Active: failed (Result: exit-code)\n")
			} else {
				out.WriteString("   Active: active (running)\n")
			}
			for i := range 10 {
				fmt.Fprintf(&out, "   gauge %d reads the level of its basin twice an hour\n", i)
			}
		}
		text := ToolOutput(Input{MessageID: "m1", ToolName: "bash", Arguments: fmt.Appendf(nil, `{"command":%q}`, command), Content: out.String(), MaxChars: 800, PreserveErrors: true}).Text
		if !strings.Contains(text, "Active: failed") {
			t.Errorf("%s: the failed state is hidden in\n%s", name, text)
		}
	}
}
