package rules

import (
	"strings"
	"testing"
)

// TestInnerParts: a part from within a line is told from a whole line, also by a reader of files whose lines begin with `12→`.
func TestInnerParts(t *testing.T) {
	const text = "claims the job and closes the queue"
	at := strings.Index(text, "closes")
	for name, test := range map[string]struct {
		number  int
		counted bool
		picks   []choice
		want    string
	}{
		"of a numbered line":  {12, false, []choice{{0, at, len(text)}}, "• 12|closes the queue"},
		"a numbered line":     {12, false, []choice{{0, 0, len(text)}}, "12|" + text},
		"of a counted line":   {12, true, []choice{{0, at, len(text)}}, "12:…closes the queue"},
		"without a number":    {0, false, []choice{{0, at, len(text)}}, "• closes the queue"},
		"behind its own line": {0, false, []choice{{0, 0, 10}, {0, at, len(text)}}, "claims the… closes the queue"},
		"behind another line": {0, false, []choice{{1, 0, 4}, {2, 0, 4}}, "next\nlast"},
		"below another line":  {0, false, []choice{{0, 0, len(text)}, {1, 1, 4}}, text + "\n• ext"},
	} {
		t.Run(name, func(t *testing.T) {
			d := document{counted: test.counted}
			for i, s := range []string{text, "next", "last"} {
				number := test.number
				if number > 0 {
					number += i
				}
				d.lines = append(d.lines, line{text: s, number: number, at: number, starts: true, group: -1})
			}
			var picks []pick
			for _, c := range test.picks {
				picks = append(picks, pick{choice: c})
			}
			if got := d.write(picks, nothing).text; got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}
