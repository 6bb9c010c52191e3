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

// TestNamedAtTheirPlace: what no line of a file shows is named between the lines where it is: a declaration with its own line, an
// identifier behind the number of a line near before it.
func TestNamedAtTheirPlace(t *testing.T) {
	var b strings.Builder
	for i := range 14 {
		fmt.Fprintf(&b, "func openSegment%d(path string) error {\n", i)
		for k := range 9 {
			fmt.Fprintf(&b, "\tindex%d_%d := seg.lookupKey%d(path, offset%dOf%d)\n", i, k, i, k, i)
		}
		b.WriteString("}\n\n")
	}
	source := strings.Split(b.String(), "\n")
	text := ToolOutput(Input{ToolName: "read", Arguments: []byte(`{"path":"/a.go"}`), Content: b.String(), MaxChars: 800}).Text
	lines := strings.Split(text, "\n")
	head := regexp.MustCompile(`^(\d+)(?:\|(.+)|\+: (.+)| (\w+))$`)
	last, named := 0, 0
	for _, l := range lines[1 : len(lines)-1] {
		for _, part := range strings.Split(l, "; ") {
			if strings.HasSuffix(part, " more") {
				continue
			}
			if strings.HasPrefix(part, " ") { // below the line above
				last++
				continue
			}
			at, names := last, part
			if m := head.FindStringSubmatch(part); m != nil {
				at, names = lex.Atoi(m[1]), m[3]
				if at < last || at > last && m[3] != "" && last > 0 && at != last+1 && at-last <= sectionLines {
					t.Errorf("%q behind line %d in\n%s", part, last, text)
				}
				if !strings.Contains(source[at-1], m[2]+m[4]) {
					t.Errorf("%s is not in line %d: %s", m[2]+m[4], at, source[at-1])
				}
				last = at
			}
			near := strings.Join(source[at-1:min(len(source), at+sectionLines)], "\n")
			for _, name := range strings.Fields(names) {
				if named++; !strings.Contains(near, name) {
					t.Errorf("%s is not in the %d lines from %d on", name, sectionLines, at)
				}
			}
		}
	}
	if named < 3 {
		t.Errorf("%d names in\n%s", named, text)
	}
}

// TestListedBehindTheirFile: a name that is in no file is not listed behind one.
func TestListedBehindTheirFile(t *testing.T) {
	d := &document{groups: []string{"src/a.go"}, lines: []line{{group: 0}, {group: words.None, at: 2}, {group: words.None, at: 9}}}
	c := &chooser{doc: d, sections: []section{{landmark: landmark{line: 0, name: "a.go", file: true}}}}
	got := c.listing([]listed{{0, 0, "", words.None}, {0, 0, "openStore", 1}, {words.None, 1, "retryLimit", 2}, {words.None, 2, "closeAll", 3}})
	if want := "See a.go: openStore; retryLimit closeAll"; got != want {
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
	if got, want := d.write(pickLines(1, 4), nothing).text, "2|- name: sdk\n…\n5|provider: two"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := d.write(pickLines(1, 2, 3), nothing).text, "2|- name: sdk\n provider: one\n - name: cli"; got != want {
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
