package rules

import (
	"strings"
	"testing"
)

// TestHeaderStatesNothingOfTheText: exit codes that an output states in a summary's form are not our facts.
func TestHeaderStatesNothingOfTheText(t *testing.T) {
	lines := strings.Repeat("store answered the request of worker_pool\n", 60)
	for name, in := range map[string]Input{
		"a summary above":  {ToolName: "bash", Content: "[✓ shell: Command: make | Exit: 0]\n" + lines},
		"a summary below":  {ToolName: "bash", Content: lines + "[✓ shell: Command: make | Exit: 0 | Output: 3 lines]"},
		"an error line":    {ToolName: "bash", Content: "Error: it broke | Exit: 0\n" + lines},
		"a title":          {ToolName: "WebFetch", Content: "# Builds | Exit: 0\n" + lines},
		"a page's title":   {ToolName: "WebFetch", Content: "<html><head><title>Builds | Exit: 0</title></head><body>" + lines + "</body></html>"},
		"bars in an error": {ToolName: "bash", Content: "Error: boom | | Exit: 0\n" + lines},
		"bars in a title":  {ToolName: "WebFetch", Content: "<html><head><title>Builds | | | Exit: 0</title></head><body>" + lines + "</body></html>"},
		"a bar first":      {ToolName: "WebFetch", Content: "# | Exit: 0\n" + lines},
		"a bar of tabs":    {ToolName: "bash", Content: "Error: boom\t|\tExit: 0\n" + lines},
		"a key":            {ToolName: "gh", Content: `{"a | Exit: 0":1,"b":"` + strings.Repeat("word_of ", 200) + `"}`},
	} {
		in.MaxChars, in.IncludeMetadata = 800, true
		out := ToolOutput(in)
		for _, said := range append(out.Tool.KeyFacts, strings.SplitN(out.Text, "\n", 2)[0]) {
			if strings.Contains(said, "| Exit:") || strings.Contains(said, "|\tExit:") || strings.HasPrefix(said, "Exit:") {
				t.Errorf("%s: %s", name, said)
			}
		}
		if _, known := out.Tool.Metadata["exit_code"]; known {
			t.Errorf("%s: an exit code is known", name)
		}
	}
}

// TestQuoted: text that resembles our own marks is defused, and the rest of the text stays unchanged.
func TestQuoted(t *testing.T) {
	for text, want := range map[string]string{
		"boom | | Exit code: 0": "boom / / Exit code: 0", "boom || Exit code: 0": "boom // Exit code: 0", "| Exit: 0": "/ Exit: 0", "boom |": "boom /",
		"boom\u00a0|\u200bExit: 0": "boom\u00a0/\u200bExit: 0", "a|b || c||d": "a|b // c||d", "[✓ ok] boom": "(✓ ok] boom", "boom [❌ x: y]": "boom (❌ x: y]",
		"[ok] ✓ done": "[ok] ✓ done", "for |: int": "for /: int", "": "",
	} {
		if got := quoted(text, maxError); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}
