package rules

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"precis/summarize/lex"
	"precis/summarize/rules/call"
	"precis/summarize/rules/words"
)

// TestListedBySection: what no line shows is listed with where it is: a declaration with its own line, an identifier behind a
// line near before it.
func TestListedBySection(t *testing.T) {
	var b strings.Builder
	for i := range 40 {
		fmt.Fprintf(&b, "func openSegment%d(path string) error {\n", i)
		for k := range 9 {
			fmt.Fprintf(&b, "\tindex%d_%d := seg.lookupKey%d(path, offset%dOf%d)\n", i, k, i, k, i)
		}
		b.WriteString("}\n\n")
	}
	source := strings.Split(b.String(), "\n")
	text := ToolOutput(Input{ToolName: "read", Arguments: []byte(`{"path":"/a.go"}`), Content: b.String(), MaxChars: 800}).Text
	at := strings.Index(text, "\n"+furtherHead)
	if at < 0 {
		t.Fatalf("no list in\n%s", text)
	}
	list, _, _ := strings.Cut(text[at+1+len(furtherHead):], "\n")
	head := regexp.MustCompile(`^(\d+)\+?(?: (\w+))?(?:: (.+))?$`)
	for _, part := range strings.Split(list, "; ") {
		m := head.FindStringSubmatch(part)
		if m == nil {
			t.Fatalf("%q in %q", part, list)
		}
		from := lex.Atoi(m[1])
		if !strings.Contains(source[from-1], m[2]) {
			t.Errorf("%s is not in line %d: %s", m[2], from, source[from-1])
		}
		near := strings.Join(source[from-1:min(len(source), from+sectionLines)], "\n")
		for _, name := range strings.Fields(m[3]) {
			if !strings.Contains(near, name) {
				t.Errorf("%s is not in the %d lines from %d on", name, sectionLines, from)
			}
		}
	}
}

// TestListedBehindTheirFile: a name that is in no file is not listed behind one.
func TestListedBehindTheirFile(t *testing.T) {
	d := &document{groups: []string{"src/a.go"}, lines: []line{{group: 0}, {group: words.None, at: 2}, {group: words.None, at: 9}}}
	c := &chooser{doc: d, sections: []section{{landmark: landmark{line: 0, name: "a.go", file: true}}, {landmark: landmark{line: 1}}}}
	got := c.listing([]listed{{0, 0, "", words.None}, {0, 0, "openStore", 1}, {1, 1, "retryLimit", 2}, {1, 2, "closeAll", 3}})
	if want := "See a.go: openStore; 2+: retryLimit closeAll"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestPartsStandApart: a line of a list is not shown as a part of the item above it if its own item is left out.
func TestPartsStandApart(t *testing.T) {
	source := "targets:\n  - name: sdk\n    provider: one\n  - name: cli\n    provider: two\n"
	d := newDocument(source, FileContent, call.ParseArguments([]byte(`{"file_path":"t.yaml"}`)))
	pickLines := func(list ...int) []pick {
		var picks []pick
		for _, i := range list {
			picks = append(picks, pick{choice: choice{line: i, end: len(d.lines[i].text)}})
		}
		return picks
	}
	if got, want := d.write(pickLines(1, 4)).text, "2|- name: sdk\n…\n5|provider: two"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := d.write(pickLines(1, 2, 3)).text, "2|- name: sdk\n provider: one\n - name: cli"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestNamedPlaces: lines that a compiler's message has named are shown when their file is read.
func TestNamedPlaces(t *testing.T) {
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, "%d\tassertThatColumn%d(value%d, limitOf%d)\n", i+1, i*7919%1000, i*31%97, i*17%89)
	}
	in := Input{ToolName: "Read", Arguments: []byte(`{"file_path":"/app/wrap.test.ts"}`), Content: b.String(), MaxChars: 800,
		Earlier: []string{"wrap.test.ts(70,52): error TS2353: no such member\nwrap.test.ts:183:4: error"}}
	text := ToolOutput(in).Text
	for _, want := range []string{"\n70|", "\n183|"} {
		if !strings.Contains(text, want) {
			t.Errorf("no line %q in\n%s", want, text)
		}
	}
	in.Earlier = nil
	if text := ToolOutput(in).Text; strings.Contains(text, "\n70|") && strings.Contains(text, "\n183|") {
		t.Error("the lines are shown anyway")
	}
}
