package rules

import (
	"slices"
	"strings"
	"testing"
)

// TestCounts: how many matches and entries an output has is what its tool found, not how many lines it took to say so.
func TestCounts(t *testing.T) {
	for _, c := range []struct{ tool, args, content, want, not string }{
		{"Grep", `{"pattern":"berth","output_mode":"files_with_matches"}`, "Found 3 files\nsrc/a.py\nsrc/b.py\nsrc/c.py\n", "Files: 3", "Matches: "},
		{"Grep", `{"pattern":"berth","output_mode":"count"}`, "src/a.py:3\nsrc/b.py:12\n\nFound 15 total occurrences across 2 files.\n", "Matches: 15", ""},
		{"Bash", `{"command":"grep -c berth src/a.py src/b.py src/c.py"}`, "src/a.py:3\nsrc/b.py:12\nsrc/c.py:0\n", "Files: 2", ""},
		{"Bash", `{"command":"grep -c berth src/a.py"}`, "15\n", "Matches: 15", ""},
		{"Bash", `{"command":"rg --count berth"}`, "src/a.py:3\nsrc/b.py:12\n", "Matches: 15", ""},
		{"Bash", `{"command":"grep -rn berth src | wc -l"}`, "31\n", "Matches: 31", ""},
		{"Bash", `{"command":"grep -rl berth src | wc -l"}`, "31\n", "Output: 1 line", "Matches: "},
		{"Bash", `{"command":"grep -c berth a.py; grep -c crane a.py"}`, "3\n12\n", "Output: 2 lines", "Matches: "},
		{"Bash", `{"command":"rg -n berth a.py && sed -n '1,4p' b.py"}`, "2:berth = 1\nimport os\nimport sys\n\nmain()\n", "Output: 5 lines", "Matches: "},
		{"Bash", `{"command":"cd src && rg -n berth | head -40"}`, "a.py:2:berth = 1\nb.py:9:berth()\n", "Matches: 2", ""},
		{"Bash", `{"command":"rg -n berth src; git log --oneline -2"}`, "src/a.py:2:berth = 1\n1f2e3d4 fix: a\n5f2e3d4 fix: b\n", "Output: 3 lines", "Matches: "},
		{"Bash", `{"command":"rg -n berth --stats"}`, "src/a.py:2:berth = 1\nsrc/b.py:9:berth()\n\n2 matches\n2 matched lines\n2 files contained matches\n31 files searched\n", "Matches: 2", ""},
		{"Bash", `{"command":"grep -rn berth src"}`, "src/a.py:2:berth = 12\nsrc/b.py:9:berth:15\n", "Matches: 2", ""},
		{"Bash", `{"command":"grep -rn '^$' src"}`, "src/a.go:12:\nsrc/a.go:14:\nsrc/b.go:3:\n", "Matches: 3", ""}, // empty lines
		{"Bash", `{"command":"find . -type f | wc -l"}`, "312\n", "Entries: 312", ""},
		{"Bash", `{"command":"ls -R src"}`, "src:\na.py\nlib\n\nsrc/lib:\nb.py\nc.py\n", "Entries: 4", ""},
		{"Bash", `{"command":"ls src tests"}`, "src:\na.py\nb.py\n\ntests:\nt.py\n", "Entries: 3", ""},
	} {
		got := ToolOutput(Input{ToolName: c.tool, Arguments: []byte(c.args), Content: c.content, IncludeMetadata: true}).Tool.KeyFacts
		if !slices.Contains(got, c.want) || c.not != "" && slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, c.not) }) {
			t.Errorf("%s: %q, want %q", c.args, got, c.want)
		}
	}
}
