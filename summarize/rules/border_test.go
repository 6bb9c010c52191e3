package rules

import (
	"fmt"
	"strings"
	"testing"
)

// TestBorders: what is of another document is not read as of the one above it, and parts of one line stand in one line.
func TestBorders(t *testing.T) {
	var objects strings.Builder
	for _, name := range []string{"plugin", "cli"} {
		fmt.Fprintf(&objects, "{\n  \"name\": \"@harbour/%s\",\n  \"version\": \"1.2.3\",\n  \"dependencies\": {\n", name)
		for i := range 12 {
			fmt.Fprintf(&objects, "    \"@harbour/%s-part-%c\": \"%d.1.0\",\n", name, 'a'+i, i)
		}
		objects.WriteString("    \"last\": \"1\"\n  }\n}\n")
	}
	bits := strings.Repeat("0110011001101100011000010110", 40) + "1110///DONE:0:DONE///"
	for _, c := range []struct{ name, tool, args, content, want, not string }{
		{"objects", "Bash", `{"command":"cat a.json; cat b.json"}`, objects.String(), "…\n\"name\": \"@harbour/cli\"", ""},
		{"one line has no number", "Read", `{"file_path":"bits.bin","offset":1}`, bits, "\n0110", "1|"},
	} {
		in := Input{MessageID: "m", ToolName: c.tool, Arguments: []byte(c.args), Content: c.content, MaxChars: 900}
		checkOutput(t, in)
		text := ToolOutput(in).Text
		if !strings.Contains(text, c.want) || c.not != "" && strings.Contains(text, c.not) {
			t.Errorf("%s: want %q, not %q in\n%s", c.name, c.want, c.not, text)
		}
	}
	doc := read(Input{}, bits+"\n"+strings.Repeat("hull and mast, ", 30), CommandOutput, nil)
	var picks []pick
	for i := range doc.lines {
		picks = append(picks, pick{choice: choice{line: i, end: len(doc.lines[i].text)}})
	}
	if got, want := doc.write(picks, nothing).text, doc.source; got != strings.TrimSpace(want) {
		t.Errorf("parts of lines are put together to %q, want %q", got, want)
	}
}
