package rules

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"precis/summarize/rules/call"
)

// numbered is a text as tools print files, with its numbers.
func numbered(text string) string {
	var b strings.Builder
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		fmt.Fprintf(&b, "%6d→%s\n", i+1, line)
	}
	return b.String()
}

// TestOpenedLine: what a chosen line of code opens has a worth of its own, which a comment, a lone bracket and a line behind a statement don't have.
func TestOpenedLine(t *testing.T) {
	for _, c := range []struct {
		above, below string
		want         bool
	}{
		{"limits := []int{", "10, 20, 30,", true},
		{"call(", "1, 2, 3,", true},
		{"limits := 10", "10 + 20 + 30", false},
		{"limits := []int{", "// 10 and 20", false},
		{"limits := []int{", "}", false},
	} {
		in := Input{}
		doc := read(in, numbered("package tide\n"+c.above+"\n"+c.below+"\nmore()\n"), FileContent, call.ParseArguments([]byte(`{"file_path":"tide.go"}`)))
		v := newVocabulary(&doc, nil)
		v.weigh(&doc, in)
		chooser := newChooser(&doc, v)
		chooser.open()
		if before := chooser.offer(2).rate; before != 0 {
			t.Fatalf("%q has a rate of %v by itself", c.below, before)
		}
		chooser.choose(choice{line: 1, end: len(c.above)})
		if got := chooser.offer(2).rate > 0; got != c.want {
			t.Errorf("%q below %q: offered %v, want %v", c.below, c.above, got, c.want)
		}
		v.release()
	}
}

// TestAskedAroundMatches: of the lines around matches, those that have what the newest message names are shown.
func TestAskedAroundMatches(t *testing.T) {
	var out strings.Builder
	for i := range 90 {
		switch i {
		case 10, 40:
			fmt.Fprintf(&out, "%d:\t\treturn rows.map(toVessel)\n", 100+i)
		case 66:
			fmt.Fprintf(&out, "%d-\t\t\tif moored_at == nil {\n", 100+i)
		default:
			fmt.Fprintf(&out, "%d-\t\t\tberthCount%c%c: row.berth_%c_count%d,\n", 100+i, 'A'+i%26, 'a'+i/26, 'a'+i%7, i)
		}
	}
	in := Input{MessageID: "m1", ToolName: "Grep", Arguments: []byte(`{"pattern":"toVessel","path":"src/vessels.ts","output_mode":"content","-C":40}`), Content: out.String(), MaxChars: 800,
		Earlier: []string{"The query does not select moored_at. Does toVessel map it?"}}
	if text := ToolOutput(in).Text; !strings.Contains(text, "166-if moored_at == nil") {
		t.Errorf("the line with what is asked for is missing:\n%s", text)
	}
}

// TestAroundNamed: the statements next to a line that the call names are shown with it.
func TestAroundNamed(t *testing.T) {
	var text strings.Builder
	for i := range 120 {
		if i == 60 {
			text.WriteString("    if v is None:\n        return 0\n    n = 1\n    return n / 2\n    if n:\n        n = 3\n    n += 4\n")
		}
		fmt.Fprintf(&text, "    self.berth_%c%c = openGate%d(\"tide-%d\", lock_%d)\n", 'a'+i%26, 'a'+i/26, i, i, i)
	}
	in := Input{MessageID: "m1", ToolName: "open", Arguments: []byte(`{"path":"tide.py","line":64}`), Content: numbered(text.String()), MaxChars: 800}
	got := ToolOutput(in).Text
	for _, want := range []string{"if v is None:", "return 0", "n = 1", "return n / 2", "if n:", "n = 3", "n += 4"} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("%q is missing next to line 64:\n%s", want, got)
		}
	}
}

// TestNewLineOfPair: the new line for a chosen old one has a worth of its own, also if it has the same identifiers.
func TestNewLineOfPair(t *testing.T) {
	in := Input{}
	doc := read(in, "diff --git a/tide.go b/tide.go\n--- a/tide.go\n+++ b/tide.go\n@@ -1,3 +1,3 @@\n func moor() {\n-\tberth.Open(harbour)\n+\tharbour.Open(berth)\n }\n", CommandOutput, call.ParseArguments([]byte(`{"command":"git diff"}`)))
	v := newVocabulary(&doc, nil)
	defer v.release()
	v.weigh(&doc, in)
	c := newChooser(&doc, v)
	c.open()
	old := slices.IndexFunc(doc.lines, func(l line) bool { return strings.HasPrefix(l.text, "-\tberth") })
	if old < 0 {
		t.Fatalf("no old line in %+v", doc.lines)
	}
	if got := c.openedWorth(old + 1); got != 0 {
		t.Errorf("the new line has a worth of %v before the old one is chosen", got)
	}
	c.choose(choice{line: old, end: len(doc.lines[old].text)})
	if got, behind := c.openedWorth(old+1), c.openedWorth(old+2); got != pairWorth || behind != 0 {
		t.Errorf("the new line has a worth of %v, the one behind it of %v", got, behind)
	}
}
