package rules

import (
	"strings"
	"testing"

	"precis/summarize/rules/call"
)

// Lines that would be read as one, although others stand between them in the source, are parted; those that stand for themselves are not.
func TestLinesThatRunOn(t *testing.T) {
	const hunks = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,4 +1,2 @@\n-old one\n same\n-old two\n same too\n@@ -9,3 +9,1 @@\n-old three\n-\told four\n same"
	for name, test := range map[string]struct {
		category     Category
		lines        string
		above, below string
		parted       bool
	}{
		"a block's body":              {FileContent, "if full {\n\treturn errFull\n}\ncount += 1", "if full {", "count += 1", true},
		"the block's first line":      {FileContent, "if full {\n\treturn errFull\n}\ncount += 1", "if full {", "return errFull", false},
		"only a blank between":        {FileContent, "if full {\n\n\treturn errFull\n}", "if full {", "return errFull", false},
		"statements":                  {FileContent, "count += 1\nlog()\nsave()", "count += 1", "save()", false},
		"an object's members":         {FileContent, "{\n\"a\": 1,\n\"b\": 2,\n\"c\": 3\n}", `"a": 1,`, `"c": 3`, false},
		"an object's value":           {FileContent, "{\n\"a\": [\n1\n],\n\"c\": 3\n}", `"a": [`, `"c": 3`, true},
		"an old text and another's":   {CommandOutput, "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n-old one\n+new one\n-old two\n+new two", "-old one", "+new two", true},
		"an old text and its new":     {CommandOutput, "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n-old one\n+new one\n-old two\n+new two", "-old one", "+new one", false},
		"another hunk's, indented":    {CommandOutput, hunks, "-old one", "-\told four", true},
		"another hunk's, at margin":   {CommandOutput, hunks, "-old one", "-old three", true},
		"another hunk below its head": {CommandOutput, hunks, "-old one", "@@ -9,3 +9,1 @@", false},
		"a hunk below its head":       {CommandOutput, hunks, "@@ -9,3 +9,1 @@", "-old three", false},
		"a line below another head":   {CommandOutput, hunks, "@@ -1,4 +1,2 @@", "-old three", true},
		"a hunk's last lines":         {CommandOutput, hunks, "-old one", "-old two", false},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDocument(test.lines, test.category, call.Arguments{})
			find := func(text string) int {
				for i := range d.lines {
					if strings.TrimSpace(d.lines[i].text) == text {
						return i
					}
				}
				t.Fatalf("no line %q", text)
				return 0
			}
			a, b := find(test.above), find(test.below)
			choose := func(i int) choice { return choice{line: i, end: len(d.lines[i].text)} }
			if got := d.runsOn(choose(a), choose(b)); got != test.parted {
				t.Errorf("parted: %t, want %t", got, test.parted)
			}
		})
	}
	prose := document{prose: true, lines: []line{
		{text: "Setup belongs in the provider's files, and", starts: true}, {text: "what a runner keeps in its own.", starts: true},
		{text: "A second paragraph is whole.", starts: true}, {text: "Third.", starts: true}, {text: "target-specific state.", starts: true}, {text: "End.", starts: true},
	}}
	whole := func(i int) choice { return choice{line: i, end: len(prose.lines[i].text)} }
	for _, test := range []struct {
		above, below int
		parted       bool
	}{{0, 2, true}, {0, 4, true}, {0, 1, false}, {1, 3, false}, {2, 4, true}, {1, 5, false}} {
		if got := prose.runsOn(whole(test.above), whole(test.below)); got != test.parted {
			t.Errorf("prose, lines %d and %d: parted: %t", test.above, test.below, got)
		}
	}
}
