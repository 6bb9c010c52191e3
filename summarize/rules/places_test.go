package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"precis/summarize/rules/call"
	"precis/summarize/rules/clean"
)

// TestPlacesOfManyMessages: of a compiler's messages that don't fit, the places are listed, and no line is only a place.
func TestPlacesOfManyMessages(t *testing.T) {
	var b strings.Builder
	for i := range 24 {
		fmt.Fprintf(&b, "packages/ledger/posting_%c.ts(%d,7): error TS2345: Argument of type 'string' is not assignable to a parameter of type 'Amount'.\n", 'a'+i%6, 10+i)
	}
	one := 1
	text := ToolOutput(Input{ToolName: "bash", Arguments: []byte(`{"command":"npx tsc --noEmit"}`), Content: b.String(), ExitCode: &one, MaxChars: 800, PreserveErrors: true}).Text
	named := 0
	for i := range 24 {
		if strings.Contains(text, fmt.Sprintf("posting_%c.ts:%d", 'a'+i%6, 10+i)) || strings.Contains(text, fmt.Sprintf("posting_%c.ts(%d,7)", 'a'+i%6, 10+i)) {
			named++
		}
	}
	if named < 14 || !strings.Contains(text, "error TS2345: Argument") {
		t.Errorf("%d places\n%s", named, text)
	}
}

// TestPlaceIn: what is in front of a message.
func TestPlaceIn(t *testing.T) {
	for text, want := range map[string]string{
		"src/a.go:12:3: undefined: x":                     "a.go:12",
		"../tui/test/chat.ts(28,2): error TS2739: Type":   "chat.ts:28",
		`src\Orders\Order.cs(14,9): warning CS8618: none`: "Order.cs:14",
		"store_test.go:7: got 3":                          "store_test.go:7",
		"12:30:01: the clock":                             "",
		"at src/a.go:12:3: text":                          "",
		"read https://example.com:8080: refused":          "",
		"":                                                "",
	} {
		if got := placeIn(text); got != want {
			t.Errorf("%q: %q, not %q", text, got, want)
		}
	}
}

// TestRunningProcess: a command that goes on is named by the id under which it is asked for, if the shell says so and not the output.
func TestRunningProcess(t *testing.T) {
	body := strings.Repeat("building the image, layer by layer and slowly\n", 30)
	head := "Chunk ID: 1f\nWall time: 30.0 seconds\nProcess running with session ID 84145\nOutput:\n"
	in := Input{ToolName: "shell", Arguments: []byte(`{"command":"make image"}`), Content: head + body, MaxChars: 800}
	if text := ToolOutput(in).Text; !strings.Contains(text, "Running: session ID 84145") || strings.Contains(text, "Wall time") {
		t.Error(text)
	}
	in.Content = "one\n" + head + body
	if text := ToolOutput(in).Text; strings.Contains(text, "Running: ") {
		t.Error(text)
	}
}

// TestBlankNumberedLines: the number of a blank line is not its text, also where nothing stands behind it.
func TestBlankNumberedLines(t *testing.T) {
	doc := newDocument("  41\n  42\tfunc open() error {\n  43\n  44\treturn nil\n  45\t}\n  46\t//\n  99\n", FileContent, nil)
	var got []string
	for _, l := range doc.lines {
		got = append(got, itoa(l.number)+"|"+l.text)
	}
	if want := "41| 42|func open() error { 43| 44|return nil 45|} 46|// 0|99"; strings.Join(got, " ") != want {
		t.Errorf("%s", got)
	}
}

// TestConclusions: the sentence below a heading, the heading that says it itself, and a report's last paragraph.
func TestConclusions(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"Intro of a few words that says nothing yet\n## Summary\n### 1. `a.go`\n- Moved the check into the one place that all calls pass\n## Other\nA last sentence that concludes nothing at all\n", "- Moved the check into the one place that all calls pass"},
		{"## Review\ntext\n### Verdict: request changes\n\n### Other\nA sentence of more than six words, elsewhere\n", "### Verdict: request changes"},
		{"## Findings\n\n## Method\nA sentence of more than six words, elsewhere\n## End\nIt is the cache, and not the disk, that is slow.\n", "It is the cache, and not the disk, that is slow."},
		{"First of all a sentence that opens the report.\n\nThe queue is at fault, so raise its limit to ten.\n\nok\n", "The queue is at fault, so raise its limit to ten."},
		{"ok\n", ""},
	} {
		doc := newDocument(test.text, Other, nil)
		got := ""
		for _, i := range doc.conclusions(true) {
			got = doc.lines[i].text
		}
		if got != test.want {
			t.Errorf("%q: %q", test.text, got)
		}
	}
}

// TestSeries: of names that differ in digits only, a few are listed.
func TestSeries(t *testing.T) {
	var b strings.Builder
	for i := range 60 {
		fmt.Fprintf(&b, "worker picked up shard_%03d from the queue and went on\n", i)
	}
	text := ToolOutput(Input{ToolName: "bash", Arguments: []byte(`{"command":"./drain"}`), Content: b.String(), MaxChars: 600}).Text
	_, list, _ := strings.Cut(text, "\nSee ")
	if n := strings.Count(list, "shard_"); n > mostOfSeries {
		t.Errorf("%d\n%s", n, text)
	}
}

// TestNumberedRecords: a numbered view of JSON lines is a table, equal rows once; not with a line that tells of an error.
func TestNumberedRecords(t *testing.T) {
	var b strings.Builder
	for i := range 40 {
		fmt.Fprintf(&b, "%6d→{\"level\":\"info\",\"event\":\"%s\",\"queue\":\"mail\"}\n", i+1, []string{"taken", "sent", "sent", "sent"}[i%4])
	}
	in := Input{ToolName: "Read", Arguments: []byte(`{"file_path":"a.log"}`), Content: b.String() + "    41→\n", MaxChars: 800}
	text := ToolOutput(in).Text
	for _, want := range []string{"40 records: level=info, queue=mail", "\nsent [… ×30]", "\ntaken [… ×10]"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if n := strings.Count(text, "\nsent"); n != 1 {
		t.Errorf("%d equal rows\n%s", n, text)
	}
	in.Content += "    42→panic: queue is closed\n"
	if text := ToolOutput(in).Text; strings.Contains(text, "records: ") {
		t.Error(text)
	}
}

// TestInteractiveDiff: hunks that git asks about are counted.
func TestInteractiveDiff(t *testing.T) {
	diff := "diff --git a/src/tide.go b/src/tide.go\n--- a/src/tide.go\n+++ b/src/tide.go\n@@ -1,2 +1,3 @@\n a\n+b\n c\n" +
		"(1/2) Stage this hunk [y,n,q,a,d,j,J,g,/,e,?]? @@ -9,2 +10,2 @@ func open()\n-d\n+e\n f\n(2/2) Stage this hunk [y,n,q,a,d,K,g,/,e,?]? \n"
	doc := newDocument(diff, CommandOutput, nil)
	if len(doc.changes) != 1 || doc.changes[0] != (change{added: 2, removed: 1}) {
		t.Errorf("%+v", doc.changes)
	}
}

// TestDrawnHeadings: a linter's heading with its place is no progress bar.
func TestDrawnHeadings(t *testing.T) {
	bar := strings.Repeat("━", 40)
	if doc := newDocument("src/App.tsx:12:1 lint/suspicious/noConsole "+bar, CommandOutput, nil); len(doc.lines) != 1 {
		t.Error("the heading of a finding is noise")
	}
	if !clean.IsNoise("extracting layers " + bar) {
		t.Error("a bar is no noise")
	}
}

// TestPageInTabs: a browser's page is named by its root and not by the heading above its tabs, and its links are
// elements.
func TestPageInTabs(t *testing.T) {
	address := "https://shop.example.com/catalog/" + strings.Repeat("part=a1b2c3d4e5f6%26next%3D", 14)
	var b strings.Builder
	fmt.Fprintf(&b, "#### Open Tabs\n\n- Tab 0 (active)\n  - Title: Kayaks | Shop\n  - URL: %s\n\n#### Page\nRootWebArea 'Kayaks', url='%s'\n", address, address)
	for i := range 30 {
		fmt.Fprintf(&b, "\t[a%d] link 'Kayak %d', url='%s'\n\t[b%d] button 'Add %d'\n", i, i, address, i, i)
	}
	text := ToolOutput(Input{ToolName: "browser", Content: b.String(), MaxChars: 800}).Text
	head, _, _ := strings.Cut(text, "\n")
	for _, want := range []string{"Title: Kayaks", "Links: 30"} {
		if !strings.Contains(head, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestLinesNamed: a file is read for the line that its call asks for or that the talk names; the bounds of a shell's range are no such lines.
func TestLinesNamed(t *testing.T) {
	for name, c := range map[string]struct {
		tool, args string
		earlier    []string
		want       []int
	}{
		"an argument":        {"goto_definition", `{"path":"a.py","line":88}`, nil, []int{88}},
		"the tool's command": {"open", `{"command":"open src/a.py 1474"}`, nil, []int{1474}},
		"a range":            {"edit", `{"command":"edit 88:90\nreturn 7\nend_of_edit"}`, nil, []int{88, 90}},
		"a shell's":          {"bash", `{"command":"sed -n 40,90p a.py"}`, nil, nil},
		"the talk":           {"read", `{"path":"a.py"}`, []string{"line 7", "The rounding near line 1474 is wrong."}, []int{1474}},
		"an older message":   {"read", `{"path":"a.py"}`, []string{"It fails in line 12.", "I read it."}, nil},
		"too many":           {"read", `{"path":"a.py"}`, []string{"line 1, line 2, line 3, line 4, line 5"}, nil},
		"no number":          {"read", `{"path":"a.py"}`, []string{"line by line, 7 lines"}, nil},
	} {
		found := linesNamed(c.tool, c.earlier, call.ParseArguments([]byte(c.args)))
		if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, not %v", name, got, c.want)
		}
	}
	var b strings.Builder
	b.WriteString("[File: /src/a.py (300 lines total)]\n(100 more lines above)\n")
	for i := range 100 {
		fmt.Fprintf(&b, "%d:    total_%d = self.measure(%d) + offset_%d\n", 101+i, i, i, i)
	}
	in := Input{ToolName: "set_cursors", Arguments: []byte(`{"command":"set_cursors 160 160"}`), Content: b.String(), MaxChars: 800}
	if text := ToolOutput(in).Text; !strings.Contains(text, "160|total_59 = self.measure(59) + offset_59") {
		t.Error(text)
	}
}
