package rules

import (
	"strings"
	"testing"
)

// TestIntroduced: names of a document are not told below a shown line if another one introduces them; then they have their number.
func TestIntroduced(t *testing.T) {
	const text = "# Formats\n\nFiles on disk:\n- `eval.yaml`\n- `test_id`\n\nIn one place:\n- `fromYaml`\n- `toYaml`\n"
	for name, test := range map[string]struct {
		numbered bool
		above    int // a line
		named    []string
		want     string
	}{
		"of the shown line":  {true, 3, []string{"eval.yaml", "test_id"}, "… eval.yaml, test_id"},
		"of another":         {true, 3, []string{"fromYaml", "toYaml"}, "8+: fromYaml, toYaml"},
		"of both":            {true, 3, []string{"test_id", "fromYaml", "toYaml"}, "… test_id\n8+: fromYaml, toYaml"},
		"behind the other":   {true, 7, []string{"fromYaml"}, "… fromYaml"},
		"without any number": {false, 3, []string{"test_id", "fromYaml"}, "… test_id, fromYaml"},
	} {
		t.Run(name, func(t *testing.T) {
			var d document
			for i, s := range strings.Split(text, "\n") {
				l := line{text: s, starts: true}
				if test.numbered {
					l.number = i + 1
				}
				d.lines = append(d.lines, l)
			}
			lineOf := func(text string) int {
				for i := range d.lines {
					if strings.Contains(d.lines[i].text, text) {
						return i
					}
				}
				t.Fatalf("no line has %q", text)
				return 0
			}
			s := sketcher{chooser: &chooser{doc: &d, chosen: make([]bool, len(d.lines))}, above: make([]int32, len(d.lines))}
			for _, word := range test.named {
				s.named = append(s.named, mark{line: lineOf(word), text: word})
			}
			above := lineOf(strings.TrimSpace(strings.Split(text, "\n")[test.above-1]))
			if got := s.hidden(above, len(d.lines)); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}
