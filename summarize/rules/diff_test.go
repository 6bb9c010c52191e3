package rules

import (
	"strings"
	"testing"
)

// TestDiffByFile: lines stand under their file with what changed in it, also below commits, and git's own lines are left out.
func TestDiffByFile(t *testing.T) {
	text := "commit 5f0c1d2\n\n    store: keep the index\n\ndiff --git a/src/store.go b/src/store.go\nindex 1..2 100644\n--- a/src/store.go\n+++ b/src/store.go\n@@ -1,2 +1,3 @@ func Open()\n open()\n+keepIndex()\n-dropIndex()\n" +
		"diff --git a/old.md b/new.md\nsimilarity index 100%\nrename from old.md\nrename to new.md\ndiff --git a/docs/new.md b/docs/new.md\n@@ -1 +1 @@\n-a\ncommit 77aa88b\n\n    docs: say so\n"
	doc := newDocument(text, CommandOutput, nil)
	doc.findLandmarks(CommandOutput)
	var names, lines []string
	for _, m := range doc.landmarks {
		names = append(names, m.name+m.count)
	}
	for i := range doc.lines {
		if l := &doc.lines[i]; l.group >= 0 {
			lines = append(lines, doc.groupName(l.group)+": "+l.text)
		}
		if text := doc.lines[i].text; strings.HasPrefix(text, "index ") || strings.HasPrefix(text, "+++") || strings.HasPrefix(text, "diff") || strings.HasPrefix(text, "commit 77") && doc.lines[i].group >= 0 {
			t.Errorf("line %q in group %d", text, doc.lines[i].group)
		}
	}
	if got, want := strings.Join(names, "; "), "store.go +1 -1; new.md; docs/new.md +0 -1"; got != want {
		t.Errorf("files %s, want %s", got, want)
	}
	if got := strings.Join(lines, "\n"); !strings.Contains(got, "src/store.go +1 -1: +keepIndex()") || !strings.Contains(got, "new.md: rename from old.md") {
		t.Errorf("lines:\n%s", got)
	}
}

// TestChangedIn: git's lines about changed files, without the bars of --stat.
func TestChangedIn(t *testing.T) {
	for line, want := range map[string]string{
		"src/store.go | 12 ++++--":         "src/store.go|src/store.go | 12",
		".../web/page.tsx | 3 -":           ".../web/page.tsx|.../web/page.tsx | 3",
		"logo.png | Bin 0 -> 120 bytes":    "logo.png|logo.png | Bin 0 -> 120 bytes",
		"modified: src/store.go":           "src/store.go|modified: src/store.go",
		"new file: docs/a.md":              "docs/a.md|new file: docs/a.md",
		"2 files changed, 3 insertions(+)": "",
		"a.go | 12 lines":                  "",
		"name | 12":                        "",
	} {
		path, end := changedIn(line)
		got := ""
		if end > 0 {
			got = path + "|" + line[:end]
		}
		if got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

// TestMatchesBelowNames: matches below the name of their file stand under it, with their numbers where they have no columns.
func TestMatchesBelowNames(t *testing.T) {
	for name, text := range map[string]string{
		"numbers": "src/a.go\n12:openStore()\n14-next()\n\nsrc/b.go\n3:openStore()\n",
		"words":   "Found 3 matches\n/home/u/src/a.go:\n  Line 12: openStore()\n  Line 14: next()\n\n/home/u/src/b.go:\n  Line 3: openStore()\n",
		"columns": "src/a.go:\n  Line 12, Char 3: openStore()\n  Line 14, Char 3: next()\n\nsrc/b.go:\n  Line 3, Char 1: openStore()\n",
	} {
		doc := newDocument(text, SearchResults, nil)
		found := 0
		for _, l := range doc.lines {
			if l.group >= 0 && strings.HasSuffix(l.text, "openStore()") && (l.number > 0) == (name != "columns") {
				found++
			}
		}
		if len(doc.groups) != 2 || found != 2 {
			t.Errorf("%s: files %v, %d matches in %+v", name, doc.groups, found, doc.lines)
		}
	}
	if looksHeaded("src/a.go:12:openStore()\nsrc/b.go:3:openStore()\n") || looksHeaded("12:a\n13:b\n14:c\n") {
		t.Error("matches that name their files themselves")
	}
}

// TestMatchesLikeNames: a match that is one word with a slash or a dot is no file's name.
func TestMatchesLikeNames(t *testing.T) {
	doc := newDocument(".gitignore\n1:dist/\n2:build/out\n3:# comment\n\n2024-notes.md\n12:os.path\n13-./utils/a.js\n", SearchResults, nil)
	var lines []string
	for _, l := range doc.lines {
		if l.group >= 0 {
			lines = append(lines, doc.groups[l.group]+":"+itoa(l.number)+":"+l.text)
		}
	}
	want := ".gitignore:1:dist/ .gitignore:2:build/out .gitignore:3:# comment 2024-notes.md:12:os.path 2024-notes.md:13:./utils/a.js"
	if got := strings.Join(lines, " "); got != want || len(doc.groups) != 2 {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if looksHeaded("12:os.path\n13:os.getcwd\n14:os.sep\n") {
		t.Error("a search in one file has no names")
	}
}

// TestDiffByLengths: what belongs to a file, and is counted as its change, follows from the lengths of its hunks.
func TestDiffByLengths(t *testing.T) {
	text := "diff --git a/a.sql b/a.sql\n--- a/a.sql\n+++ b/a.sql\n@@ -1,4 +1,4 @@\n a\n--- drop the index\n+++ x\n\n z\n\\ No newline at end of file\n" +
		"- a list\n+ of the next command\n at its end\n"
	doc := newDocument(text, CommandOutput, nil)
	var in, out []string
	for _, l := range doc.lines {
		if l.group >= 0 {
			in = append(in, l.text)
		} else {
			out = append(out, l.text)
		}
	}
	if got, want := strings.Join(in, "|"), "@@ -1,4 +1,4 @@| a|--- drop the index|+++ x|| z|\\ No newline at end of file"; got != want {
		t.Errorf("of the file: %s\nwant %s", got, want)
	}
	if got, want := strings.Join(out, "|"), "- a list|+ of the next command|at its end"; got != want {
		t.Errorf("of no file: %s\nwant %s", got, want)
	}
	if got := doc.groupName(0); got != "a.sql +1 -1" {
		t.Errorf("name %q", got)
	}
}

// TestFilesBehindTheMiddle: lines behind the skipped middle of a long output stand under their own file, and a diff's counts
// are those of the whole.
func TestFilesBehindTheMiddle(t *testing.T) {
	n := maxLines
	diff := func(file string) string {
		return "diff --git a/" + file + " b/" + file + "\n@@ -0,0 +1," + itoa(n) + " @@\n" + strings.Repeat("+line\n", n)
	}
	matches := func(file string) string {
		var b strings.Builder
		b.WriteString(file + "\n")
		for i := range n {
			b.WriteString(itoa(i+1) + ":call()\n")
		}
		return b.String()
	}
	for name, c := range map[string]struct {
		text     string
		category Category
		last     string
	}{
		"diff":   {diff("a.go") + diff("b.go"), CommandOutput, "b.go +30000 -0"},
		"search": {matches("src/a.go") + matches("src/b.go"), SearchResults, "src/b.go"},
	} {
		doc := newDocument(c.text, c.category, nil)
		if g := doc.lines[len(doc.lines)-1].group; g < 0 || doc.groupName(g) != c.last {
			t.Errorf("%s: the last line is in %d of %v, want in %s", name, g, doc.groups, c.last)
		}
		if c.category == CommandOutput && doc.groupName(0) != "a.go +30000 -0" {
			t.Errorf("%s: %s", name, doc.groupName(0))
		}
	}
}
