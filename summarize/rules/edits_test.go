package rules

import (
	"fmt"
	"strings"
	"testing"
)

// TestRefusedEdit: what an editor refused stays below its heading, with its indentation, and that nothing was applied stands first.
func TestRefusedEdit(t *testing.T) {
	rule := strings.Repeat("-", 40) + "\n"
	version := func(changed string) string {
		var b strings.Builder
		b.WriteString("[File: /app/src/fields.py (300 lines total)]\n(100 more lines above)\n")
		for n := 101; n < 120; n++ {
			text := fmt.Sprintf("        value_%d = self.compute(%d)", n, n)
			switch {
			case n == 110:
				text = changed
			case n%4 == 0:
				text = ""
			case n%4 == 1:
				text = fmt.Sprintf("    def value_%d(self):", n)
			}
			fmt.Fprintf(&b, "%d:%s\n", n, text)
		}
		return b.String() + "(181 more lines below)\n" + rule
	}
	in := Input{ToolName: "edit", MessageID: "m1", MaxChars: 800, PreserveErrors: true, Arguments: []byte(`{"command":"edit 110:110\nreturn 7\nend_of_edit"}`),
		Content: "Your proposed edit has introduced new syntax error(s).\n\nERRORS:\n- E999 IndentationError: unexpected indent\n\nThis is how your edit would have looked if applied\n" + rule + version("return 7") +
			"\nThis is the original code before your edit\n" + rule + version("        return 8") + "Your changes have NOT been applied. Please fix your edit command and try again.\nDO NOT re-run the same failed edit command.\n"}
	text := ToolOutput(in).Text
	for _, want := range []string{"[❌ edit: File: …/fields.py | ", "Your changes have NOT been applied", "\nThis is how your edit would have looked if applied\n", "\n110:return 7", "\nThis is the original code before your edit\n", "\n110:        return 8"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "112:\n") || strings.Contains(text, "\nSee ") || strings.Contains(text, "more lines") {
		t.Errorf("empty lines, what both versions declare, or an editor's notes:\n%s", text)
	}
	proposed, original := strings.Index(text, "would have looked"), strings.Index(text, "the original code")
	if at := strings.Index(text, "\n110:return 7"); at < proposed || at > original {
		t.Errorf("the refused line is not below its heading:\n%s", text)
	}
}

// TestChangedLines: of a file that an editor shows after its edit, the lines that the call put in are shown.
func TestChangedLines(t *testing.T) {
	var b strings.Builder
	b.WriteString("[File: /app/src/fields.py (300 lines total)]\n")
	for n := 101; n < 200; n++ {
		text := fmt.Sprintf("        value_%d = self.compute(%d)", n, n)
		switch n {
		case 160:
			text = "        return int(round(total))"
		case 161:
			b.WriteString("<<<<< START CURSOR >>>>>\n")
		}
		fmt.Fprintf(&b, "%d:%s\n", n, text)
	}
	b.WriteString("File updated.\n")
	in := Input{ToolName: "edit", MessageID: "m1", MaxChars: 500, PreserveErrors: true, Content: b.String(), Arguments: []byte(`{"command":"edit 160:160\n        return int(round(total))\nend_of_edit"}`)}
	text := ToolOutput(in).Text
	if !strings.Contains(text, "160|return int(round(total))") || strings.Contains(text, "CURSOR") || !strings.Contains(text, "/fields.py") {
		t.Error(text)
	}
}

// TestGoesOn: a part of a file is not headed like the whole of it.
func TestGoesOn(t *testing.T) {
	lines := strings.Repeat("package main // with a comment\n", 40)
	for note, want := range map[string]string{
		"": "| Lines: 40",
		"\n(File has more lines. Use 'offset' parameter to read beyond line 40)\n</file>": "| Part: 1-40 of more",
		"\n... (702 more lines not shown. Use offset=41 to continue reading)":             "| Part: 1-40, 702 more",
		"\n[Showing lines 1-40 of 802. Use offset=41 to continue.]":                       "| Part: 1-40 of 802",
	} {
		in := Input{ToolName: "read", MessageID: "m1", MaxChars: 500, Content: lines + note, Arguments: []byte(`{"path":"cmd/a.go"}`)}
		if text := ToolOutput(in).Text; !strings.Contains(text, want+" |") && !strings.Contains(text, want+"]") {
			t.Errorf("%q: no %q in %s", note, want, text)
		}
	}
	in := Input{ToolName: "read", MessageID: "m1", MaxChars: 500, Content: lines, Arguments: []byte(`{"path":"cmd/a.go","limit":40}`)}
	if text := ToolOutput(in).Text; !strings.Contains(text, "Lines: first 40") {
		t.Error(text)
	}
}

// TestHeaderNames: a header is not without the name of its file, the part of it, the arguments or the end of a path.
func TestHeaderNames(t *testing.T) {
	long := strings.Repeat("a line of the text that is there\n", 400)
	for want, in := range map[string]Input{
		"/summary-formatter.ts | Part: ":               {ToolName: "bash", Content: strings.Repeat("a line of the text that is there\n", 65), Arguments: []byte(`{"command":"sed -n '70,100p;160,178p;360,374p' packages/reporter/src/formatters/summary-formatter.ts"}`)},
		"/file-reference-detector.ts | Lines: ":        {ToolName: "read", Content: long, Arguments: []byte(`{"path":"/home/user/code/src/shared/file-reference-detector.ts"}`)},
		"…/package.json":                               {ToolName: "bash", Content: long, Arguments: []byte(`{"command":"gh api repos/an-owner/a-repository/contents/packages/with/a/long/path/package.json --jq .content"}`)},
		"date=2024-05-24, destination=PHL, origin=ATL": {ToolName: "search_flights", Content: "[" + strings.Repeat(`{"flight":1,"at":"12:00"},`, 80) + `{"flight":2,"at":"13:00"}]`, Arguments: []byte(`{"origin":"ATL","destination":"PHL","date":"2024-05-24"}`)},
	} {
		in.MaxChars, in.MessageID = 800, "m1"
		header, _, _ := strings.Cut(ToolOutput(in).Text, "\n")
		if !strings.Contains(header, want) {
			t.Errorf("no %q in %s", want, header)
		}
	}
}
