package rules

import (
	"fmt"
	"strings"
	"testing"

	"precis/summarize/rules/call"
	"precis/summarize/rules/words"
)

// TestGovernedLines: a statement of a file of code has the condition above it that it is under, and the values of a list of settings the heads of
// their item and of the outermost one.
func TestGovernedLines(t *testing.T) {
	for _, c := range []struct{ path, text, line, want, item string }{
		{"a.go", "lookup := p.CheckpointID\nif lookup == \"\" {\n\tlookup = p.ID\n}\nuse(lookup)\nmore()\n", "lookup = p.ID", `if lookup == "" {`, ""},
		{"a.go", "if lookup == \"\" {\n\tlookup = p.ID\n} else {\n\tlookup = p.Other\n}\nuse(lookup)\n", "lookup = p.Other", "} else {", ""},
		{"a.go", "if lookup == \"\" {\n\tlookup = p.ID\n}\nuse(lookup)\nmore()\n", "use(lookup)", "", ""},
		{"a.rb", "def moor\n  unless berth.free?\n    raise Full\n  end\nend\n", "raise Full", "", ""}, // which says that it leaves
		{"a.rb", "def moor\n  unless berth.free?\n    berth = other\n  end\nend\n", "berth = other", "unless berth.free?", ""},
		{"a.py", "try:\n    open_gate()\nexcept TideError:\n    close_gate()\n", "close_gate()", "except TideError:", ""},
		{"a.ts", "switch (kind) {\n  case 'tug':\n    assign(3)\n    break\n}\n", "assign(3)", "case 'tug':", ""},
		{"a.go", "if ready {\n\ta()\n\tb()\n\tc()\n\td()\n\te()\n}\n", "e()", "", ""}, // far below
		{"a.go", "for {\n\ta()\n}\nfunction := 1\nx()\n", "a()", "for {", ""},
		{"a.go", "ifs := list {\n\ta()\n}\nx()\ny()\n", "a()", "", ""},
		{"a.yaml", "tests:\n  - id: gate\n    asserts:\n      - name: safety\n        type: grader\n        prompt: check.md\n  - id: other\n    asserts:\n      - name: safety\n        prompt: strict.md\n", "prompt: strict.md", "- name: safety", "- id: other"},
	} {
		var numbered strings.Builder
		for i, line := range strings.Split(strings.TrimSuffix(c.text, "\n"), "\n") {
			fmt.Fprintf(&numbered, "%6d→%s\n", i+1, line)
		}
		doc := read(Input{}, numbered.String(), FileContent, call.ParseArguments([]byte(`{"file_path":"`+c.path+`"}`)))
		for i := range doc.lines {
			if doc.lines[i].text != c.line {
				continue
			}
			got := [2]string{}
			for k, at := range doc.openers(i) {
				if at != words.None {
					got[k] = doc.lines[at].text
				}
			}
			if want := [2]string{c.item, c.want}; got != want {
				t.Errorf("%s: %q is below %q, want %q", c.path, c.line, got, want)
			}
		}
	}
}

// TestDeletedFile: of a file that is deleted its declarations are shown, and a body does not run on into the next one.
func TestDeletedFile(t *testing.T) {
	testDeletedFile(t, "harbour.go", true)
	testDeletedFile(t, "harbour.md", false) // which declares nothing
}

func testDeletedFile(t *testing.T, file string, declares bool) {
	t.Helper()
	var b strings.Builder
	names := []string{"moorVessel", "countBerths", "openTideGate", "closeTideGate"}
	b.WriteString("diff --git a/" + file + " b/" + file + "\ndeleted file mode 100644\nindex 1..0\n--- a/" + file + "\n+++ /dev/null\n@@ -1,80 +0,0 @@\n")
	for n, name := range names {
		fmt.Fprintf(&b, "-func %s(ctx context.Context) error {\n", name)
		for k := range 18 {
			fmt.Fprintf(&b, "-\tvalue%d%c := registry%c.LookupBerth%d(ctx)\n", n, 'a'+k, 'A'+k, n*20+k)
		}
		b.WriteString("-}\n")
	}
	in := Input{MessageID: "m", ToolName: "bash", Arguments: []byte(`{"command":"git diff HEAD"}`), Content: b.String(), MaxChars: 800, PreserveErrors: true}
	checkOutput(t, in)
	text := strings.ReplaceAll(ToolOutput(in).Text, "\t", " ")
	last := ""
	for _, line := range strings.Split(text, "\n") {
		var n int
		if _, err := fmt.Sscanf(line, "- value%d", &n); err == nil && last != "" && !strings.Contains(last, names[n]) && !strings.HasPrefix(last, fmt.Sprintf("- value%d", n)) {
			t.Errorf("%q stands below %q in\n%s", line, last, text)
		}
		if last = line; line == "…" {
			last = ""
		}
	}
	for _, name := range names {
		if declares && !strings.Contains(text, "-func "+name) {
			t.Errorf("no %s in\n%s", name, text)
		}
	}
}
