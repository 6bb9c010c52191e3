package rules

import (
	"fmt"
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
