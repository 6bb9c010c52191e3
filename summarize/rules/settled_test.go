package rules

import (
	"strings"
	"testing"
)

// TestPlacesOfParts: what is told of the lines of files that a command prints one after another: `number:text`, below the name of its file if there are
// several. Where it is not certain, there are none.
func TestPlacesOfParts(t *testing.T) {
	view := func(name string, from, n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString("   " + itoa(from+i) + "\topen" + name + itoa(from+i) + " := lookup" + name + "(path)\n")
		}
		return b.String()
	}
	const loop = `for f in a.go b.go; do echo == $f; nl -ba $f; done`
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
		{"a cut middle", "sed -n 400,639p a.go", body("A", 400, 20) + "... [12,170 characters truncated] ...\n" + body("A", 600, 40), []string{"400:openA400", "Lines: 60 of more"}, []string{"Part: ", "420:", "421:"}},
		{"a cut middle of several files", "sed -n 1,50p a.go; sed -n 1,50p b.go", body("A", 1, 30) + "... [412 lines truncated] ...\n" + body("B", 1, 69), nil, []string{":openA", ":openB"}},
		{"numbered views", loop, "== a.go\n" + view("A", 1, 40) + "== b.go\n" + view("B", 1, 20), []string{"a.go\n1|openA", "b.go\n1|openB"}, nil},
		{"a numbered view of nothing", loop, "== a.go\n== b.go\n" + view("B", 1, 60), []string{"b.go\n1|openB"}, []string{"a.go\n"}},
		{"a numbered view of nothing, and signs alike", `for f in a.go b.go; do echo ---; nl -ba $f; done`, "---\n---\n" + view("B", 1, 60), []string{"b.go\n1|openB"}, []string{"a.go\n"}},
		{"a numbered view fails", `for f in a.go b.go; do echo == $f; git show v1:$f | nl -ba; done`, "== a.go\nfatal: path 'a.go' does not exist in 'v1'\n== b.go\n" + view("B", 1, 60), []string{"openB"}, []string{"\na.go\n", "\nb.go\n"}},
		{"numbered views without a sign between", `nl -ba a.go; nl -ba b.go`, view("A", 1, 40) + view("B", 1, 20), []string{"a.go\n1|openA", "b.go\n1|openB"}, nil},
		{"one of them is empty", `nl -ba a.go; nl -ba b.go`, view("B", 1, 60), []string{"openB"}, []string{"\na.go\n", "\nb.go\n"}},
		{"a numbered view and another", `nl -ba a.go | sed -n 1,40p; cat b.go`, view("A", 1, 40) + body("B", 1, 30), []string{"openA"}, []string{"\na.go\n", "\nb.go\n"}},
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

// TestIsMiddle: the notes that tools put in the place of what they leave out, and lines that only look alike.
func TestIsMiddle(t *testing.T) {
	for raw, want := range map[string]bool{
		"... [12170 characters truncated] ...": true, "... [12,170 characters truncated] ...": true, "... [412 lines truncated] ...": true,
		"[... omitted 120 of 376 lines ...]": true, "[... omitted 1,120 of 3,376 lines ...]": true, "[1,120 lines omitted]": true,
		"… [20 lines skipped]": true, "...": false, "[...rest, 12]": false, "the end of o…2,403 tokens truncated…ne line": true,
		"... 412 lines truncated ...": true, "[truncated 12 lines]": true, "<output truncated>": true,
		"var lines = [12, 13]": false, "12170 characters truncated": false, "[omitted]": false,
	} {
		if got := isMiddle(raw); got != want {
			t.Errorf("%q: %t", raw, got)
		}
	}
}
