package rules

import (
	"strings"
	"testing"
)

// TestPlacesOfParts: what is told of the lines of files that a command prints one after another: `number:text`, below the name of its file if there are
// several. Where it is not certain, there are none.
func TestPlacesOfParts(t *testing.T) {
	body := func(name string, from, n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString("\topen" + name + itoa(from+i) + " := lookup" + name + "(path, offset" + itoa(from+i) + ")\n")
		}
		return b.String()
	}
	for _, test := range []struct {
		name, command, content string
		has, hasNot            []string
	}{
		{"all that is asked for", "sed -n 40,90p a.go", body("A", 40, 51), []string{"40:openA40"}, nil},
		{"fewer lines", "sed -n 40,90p a.go", body("A", 40, 30), []string{"40:openA40"}, nil},
		{"more lines than are asked for", "sed -n 40,90p a.go", "a stray line in front of the file\n" + body("A", 40, 51), nil, []string{"40|", "41|", "2|openA", "40:", "Part: ", "first "}},
		{"more lines than the first ones", "head -n 40 a.go", "a stray line in front of the file\n" + body("A", 1, 40), nil, []string{"|open", ":open", "first "}},
	} {
		text := ToolOutput(Input{ToolName: "bash", Arguments: []byte(`{"command":"` + test.command + `"}`), Content: test.content, MaxChars: 700}).Text
		for _, want := range test.has {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", test.name, want, text)
			}
		}
		for _, not := range test.hasNot {
			if strings.Contains(text, not) {
				t.Errorf("%s: %q in\n%s", test.name, not, text)
			}
		}
	}
}
