package rules

import "testing"

// TestSettingsOfOtherKeys: a value in JSON without line numbers does not stand directly below what is of another key.
func TestSettingsOfOtherKeys(t *testing.T) {
	text := `{
  "signals": {
    "green": [
      {
        "kind": "command",
        "shell": "exec lantern raise --lamp green"
      }
    ],
    "red": [
      {
        "kind": "command",
        "shell": "exec lantern raise --lamp red"
      }
    ]
  },
  "version": 1
}
---
lantern.json
`
	doc := newDocument(text, CommandOutput, nil)
	at := func(line int) choice { return choice{line: line, end: len(doc.lines[line].text)} }
	for _, c := range []struct {
		above, line int
		want        bool
	}{{5, 11, true}, {5, 9, false}, {4, 5, false}, {5, 8, false}, {5, 15, false}, {10, 11, false}} {
		if c.line >= len(doc.lines) {
			t.Fatal(len(doc.lines))
		}
		if got := doc.runsOn(at(c.above), at(c.line)); got != c.want {
			t.Errorf("%q below %q: %v", doc.lines[c.line].text, doc.lines[c.above].text, got)
		}
	}
}
