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

// TestNamedWithoutANumber: names of lines that are in no file, around a numbered one, stand behind no number; those of a second file behind its own.
func TestNamedWithoutANumber(t *testing.T) {
	var d document
	var list []listed
	for i, n := range []int{0, 0, 1, 2, 90, 1, 3, 0} {
		d.lines = append(d.lines, line{number: n, at: n, group: words.None, starts: true})
		list = append(list, listed{words.None, i, string(rune('a' + i)), 0})
	}
	c := &chooser{doc: &d}
	if got, want := c.between(nil, list)(0, len(d.lines)), "a b; 1+: c d; 90+: e; 1+: f g; h"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	file := ""
	for i := range 60 {
		file += fmt.Sprintf(`%6d\tkeyOf%d := lookup%d(path, offset%d)\n`, i+1, i, i*7919%1000, i*31%97)
	}
	in := Input{ToolName: "str_replace_editor", MaxChars: 600,
		Content: `[{"type":"text","text":"The file /web/src/total.ts has been updated. Here is the result of running cat -n:\n` + file + `"}]`}
	if text := ToolOutput(in).Text; !strings.Contains(text, "total.ts") || strings.Contains(text, "0+: ") {
		t.Errorf("the file is named in\n%s", text)
	}
	in = Input{ToolName: "bash", Arguments: []byte(`{"command":"npm test; cat -n a.go"}`), MaxChars: 600, Content: "runsCheckoutTests\n" + strings.ReplaceAll(strings.ReplaceAll(file, `\t`, "\t"), `\n`, "\n")}
	if text := ToolOutput(in).Text; strings.Contains(text, "\n keyOf0 ") {
		t.Errorf("the first line of the file has no number in\n%s", text)
	}
}

// TestGapsAreCounted: how many declarations a gap does not name is told as it is, also when one is shown for what it opens, and a chosen line is left out.
func TestGapsAreCounted(t *testing.T) {
	d := document{placed: true, lines: make([]line, 20), above: make([]int32, 20)}
	c := &chooser{doc: &d}
	for i := range d.lines {
		d.lines[i] = line{number: i + 1, at: i + 1, group: words.None, starts: true}
		d.above[i] = words.None
		c.sections = append(c.sections, section{landmark: landmark{line: i, name: "f" + itoa(i+1)}, shown: i == 12})
	}
	d.above[10] = 4
	named := c.between([]pick{{choice: choice{line: 10}}}, []listed{{section: 1, line: 1, id: words.None}})
	if got, want := named(0, 4), "2 f2"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := named(4, 10), "+5 more"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := named(10, 20), "+9 more"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	d.partly = true
	if got := c.between(nil, nil)(0, 20); got != "" {
		t.Errorf("%q of which not all are known", got)
	}
}

// TestUnnamedEndsALabel: a name is not told behind a declaration if it is below another one, which is not named.
func TestUnnamedEndsALabel(t *testing.T) {
	name := func(section int32, line int, id int32, text string) listed { return listed{section, line, text, id} }
	for what, test := range map[string]struct {
		landmarks []int // lines
		list      []listed
		want      string
	}{
		"directly below":    {[]int{2}, []listed{name(0, 2, words.None, ""), name(words.None, 5, 1, "a")}, "3 f3: a"},
		"below the next":    {[]int{2, 4}, []listed{name(0, 2, words.None, ""), name(words.None, 5, 1, "a"), name(words.None, 6, 2, "b")}, "3 f3; a b"},
		"after a name":      {[]int{2, 4}, []listed{name(0, 2, words.None, ""), name(words.None, 3, 1, "a"), name(words.None, 6, 2, "b")}, "3 f3: a; b"},
		"after the block":   {[]int{2}, []listed{name(0, 2, words.None, ""), name(words.None, 3, 1, "a"), name(words.None, 8, 2, "b"), name(words.None, 9, 3, "c")}, "3 f3: a; b c"},
		"behind a number":   {[]int{4}, []listed{name(words.None, 3, 1, "a"), name(words.None, 6, 2, "b")}, "4+: a b"},
		"two with a name":   {[]int{2, 4}, []listed{name(0, 2, words.None, ""), name(1, 4, words.None, ""), name(words.None, 6, 2, "b")}, "3 f3; 5 f5: b"},
		"nothing but names": {nil, []listed{name(words.None, 3, 1, "a"), name(words.None, 6, 2, "b")}, "4+: a b"},
	} {
		t.Run(what, func(t *testing.T) {
			d := document{placed: true, lines: make([]line, 20)}
			for i := range d.lines {
				d.lines[i] = line{number: i + 1, at: i + 1, group: words.None, starts: true, indent: 1}
			}
			d.lines[8].indent = 0
			c := &chooser{doc: &d}
			for _, i := range test.landmarks {
				d.lines[i].indent = 0
				c.sections = append(c.sections, section{landmark: landmark{line: i, name: "f" + itoa(i+1)}})
			}
			if got := c.between(nil, test.list)(0, 20); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// TestNumberBehindNames: a line behind names has its number, though it follows on the line above them.
func TestNumberBehindNames(t *testing.T) {
	d := newDocument("open the store\nread the segment\nclose the store\n", FileContent, call.ParseArguments([]byte(`{"file_path":"a.txt","offset":1}`)))
	var picks []pick
	for i := range d.lines {
		picks = append(picks, pick{choice: choice{line: i, end: len(d.lines[i].text)}})
	}
	got := d.write(picks, func(_, below int) string { return strings.Repeat("1+: segmentPath", below/2%2) }).text
	if want := "1|open the store\n read the segment\n1+: segmentPath\n3|close the store\n1+: segmentPath"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestListedBehindTheirFile: a name or a declaration that is in no file is not listed behind one.
func TestListedBehindTheirFile(t *testing.T) {
	d := &document{groups: []string{"src/a.go"}, lines: []line{{group: 0}, {group: words.None, at: 2}, {group: words.None, at: 9}}}
	c := &chooser{doc: d, sections: []section{{landmark: landmark{line: 0, name: "a.go", file: true}}, {landmark: landmark{line: 2, name: "Close"}}}}
	got := c.listing([]listed{{0, 0, "", words.None}, {0, 0, "openStore", 1}, {1, 2, "", words.None}, {words.None, 1, "retryLimit", 2}, {words.None, 2, "closeAll", 3}})
	if want := "See 9 Close; retryLimit closeAll; a.go: openStore"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestUnlistedFiles: a list of a search that leaves files out says how many; one that has all does not, and neither does that of a file.
func TestUnlistedFiles(t *testing.T) {
	const few = words.None - 1
	one, two := listed{0, 0, "", words.None}, listed{1, 1, "", words.None}
	for name, test := range map[string]struct {
		shape shape
		shown int
		list  []listed
		want  string
	}{
		"not all are known": {shapeMatches, few, []listed{one}, "See a.go; …"},
		"all":               {shapeMatches, words.None, []listed{one, two, {2, 2, "", words.None}}, "See a.go; b.go; c.go"},
		"one left out":      {shapeMatches, words.None, []listed{one, two}, "See a.go; b.go; +1 file"},
		"two left out":      {shapeMatches, words.None, []listed{two}, "See b.go; +2 files"},
		"one is shown":      {shapeMatches, 2, []listed{two}, "See b.go; +1 file"},
		"no search":         {shapePlain, words.None, []listed{two}, "See b.go"},
		"nothing":           {shapeMatches, words.None, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := &document{shape: test.shape, partly: test.shown == few, groups: []string{"a.go", "b.go", "c.go"}, lines: []line{{group: 0}, {group: 1}, {group: 2}}}
			c := &chooser{doc: d}
			for i, name := range d.groups {
				c.sections = append(c.sections, section{landmark: landmark{line: i, name: name, file: true}, shown: i == test.shown})
			}
			if got := c.listing(test.list); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
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
