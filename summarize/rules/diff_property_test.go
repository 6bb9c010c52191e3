package rules

import (
	"fmt"
	"math/rand"
	"regexp"
	"strings"
	"testing"

	"precis/internal/race"
	"precis/summarize/rules/call"
)

// generatedDiff returns a diff of several files in one of the forms that tools write. Each of its lines names its file: `in_f3`.
func generatedDiff(r *rand.Rand, form string, files []string) string {
	var b strings.Builder
	line := func(sign, file string) string {
		return fmt.Sprintf("%s\tcall%d(in_%s, %d)\n", sign, r.Intn(1e6), file, r.Intn(100))
	}
	if form == "patch" {
		b.WriteString("*** Begin Patch\n")
	}
	for n, f := range files {
		path := "src/" + f + ".go"
		if form == "log" && r.Intn(2) == 0 {
			fmt.Fprintf(&b, "commit %040x\nAuthor: A <a@example.com>\n\n    Change %d\n\n", r.Int63(), n)
		}
		switch form {
		case "git", "log", "numbered", "cut":
			fmt.Fprintf(&b, "diff --git a/%s b/%s\nindex 1..2 100644\n--- a/%s\n+++ b/%s\n", path, path, path, path)
		case "no prefix":
			fmt.Fprintf(&b, "diff --git %s %s\nindex 1..2 100644\n--- %s\n+++ %s\n", path, path, path, path)
		case "diff -ru":
			fmt.Fprintf(&b, "diff -ru old/%s %s\n--- old/%s\t2026-01-01 10:00:00 +0000\n+++ %s\t2026-01-01 10:00:00 +0000\n", path, path, path, path)
		case "pairs", "signs alone":
			fmt.Fprintf(&b, "--- %s.orig\n+++ %s\n", path, path)
		case "merge":
			fmt.Fprintf(&b, "diff --cc %s\nindex 1,2..3\n--- a/%s\n+++ b/%s\n", path, path, path)
		case "patch":
			fmt.Fprintf(&b, "*** Update File: %s\n", path)
		case "classic":
			fmt.Fprintf(&b, "diff -r old/%s %s\n", path, path)
		}
		for range 1 + r.Intn(3) {
			old, now, body, signs := 0, 0, "", []string{" ", "-", "+"}
			if form == "merge" {
				signs = []string{"  ", "- ", "++"}
			} else if form == "classic" {
				signs = []string{"<", "<", ">"}
			}
			for range 2 + r.Intn(9) {
				k := r.Intn(3)
				body += line(signs[k], f)
				if k < 2 {
					old++
				}
				if k != 1 {
					now++
				}
			}
			switch form {
			case "signs alone":
			case "patch":
				b.WriteString("@@\n")
			case "classic":
				b.WriteString("3,4c3,5\n")
			case "merge":
				other := strings.Count("\n"+body, "\n  ") // of the second parent: a line that only the first lost was not in it
				fmt.Fprintf(&b, "@@@ -3,%d -3,%d +3,%d @@@ func in_%s()\n", old, other, now, f)
			default:
				fmt.Fprintf(&b, "@@ -3,%d +3,%d @@ func in_%s()\n", old, now, f)
			}
			b.WriteString(body)
		}
	}
	text := b.String()
	switch form {
	case "numbered":
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		for i := range lines {
			lines[i] = fmt.Sprintf("%6d\t%s", i+1, lines[i])
		}
		text = strings.Join(lines, "\n") + "\n"
	case "cut": // the middle is left out, in a line of its own or within one
		from := len(text)/4 + r.Intn(len(text)/8)
		to := from + r.Intn(len(text)/2)
		mark := "…120 tokens truncated…"
		if r.Intn(2) == 0 {
			mark = "\n[40 lines left out]\n"
		}
		text = text[:from] + mark + text[to:]
	}
	return text
}

var ofFile = regexp.MustCompile(`\bin_(f\d+)`)

// TestDiffLinesUnderTheirFile: a shown line of a diff of several files stands below the name of its own, or below none where the output does not
// tell which it is.
func TestDiffLinesUnderTheirFile(t *testing.T) {
	files := []string{"f0", "f1", "f2", "f3", "f4", "f5"}
	calls := map[string]Input{
		"numbered": {ToolName: "Read", Arguments: []byte(`{"file_path":"/a/change.patch"}`)},
		"patch":    {ToolName: "agent", Arguments: []byte(`{"prompt":"write the patch"}`)},
		"pairs":    {ToolName: "edit_files", Arguments: []byte(`{"description":"two edits"}`)},
	}
	for _, form := range []string{"git", "log", "numbered", "cut", "no prefix", "diff -ru", "pairs", "signs alone", "merge", "patch", "classic"} {
		shown, none := 0, 0
		for seed := range int64(60) {
			r := rand.New(rand.NewSource(seed))
			in, ok := calls[form]
			if !ok {
				in = Input{ToolName: "Bash", Arguments: []byte(`{"command":"show changes"}`)}
			}
			in.Content, in.MaxChars = generatedDiff(r, form, files), 300+r.Intn(1200)
			under := ""
			for i, line := range strings.Split(ToolOutput(in).Text, "\n") {
				if name, rest, ok := strings.Cut(line, ".go"); ok && strings.HasPrefix(name, "src/f") && (rest == "" || rest[0] == ' ') {
					under = strings.TrimPrefix(name, "src/")
				}
				m := ofFile.FindStringSubmatch(line)
				switch {
				case i == 0 || m == nil || strings.HasPrefix(line, "See "):
				case under == "":
					none++
				case m[1] != under:
					t.Fatalf("%s, seed %d: %q under %s in\n%s\nof\n%s", form, seed, line, under, ToolOutput(in).Text, in.Content)
				default:
					shown++
				}
			}
		}
		if shown < 100 || none > 0 && form != "cut" {
			t.Errorf("%s: %d lines below their file, %d below none", form, shown, none)
		}
	}
}

// TestTranscriptsDiffs: so do those of all git diffs in the transcripts, as read by a simpler reader.
func TestTranscriptsDiffs(t *testing.T) {
	race.Slow(t)
	t.Setenv("PRECIS_RULES_SET", "dev dev2")
	diffs, shown := 0, 0
	plain := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	for _, th := range transcripts(t) {
		for at, e := range th.events {
			if e.Type != "tool.result" || len(th.contents[at]) <= over || strings.Count("\n"+th.contents[at], "\ndiff --git ") < 2 {
				continue
			}
			in := inputOf(&th, at, window{})
			in = in.opened(call.ParseArguments(in.Arguments))
			of, file := map[string][]string{}, ""
			for line := range strings.Lines(in.Content) {
				line = plain(strings.TrimRight(line, "\n"))
				if rest, ok := strings.CutPrefix(line, "diff --git "); ok {
					_, file, _ = strings.Cut(rest, " b/")
				}
				of[file] = append(of[file], line)
			}
			diffs++
			under := ""
			_, text, _ := strings.Cut(ToolOutput(in).Text, "\n")
			for line := range strings.Lines(text) {
				line = strings.TrimRight(line, "\n")
				if name, _, _ := strings.Cut(line, " +"); of[name] != nil || of[line] != nil {
					under = name
					continue
				}
				bare, _, _ := strings.Cut(strings.TrimSuffix(line, "…"), " [… ×")
				if bare = plain(bare); under == "" || len(bare) < 12 || strings.IndexByte("+- @", line[0]) < 0 {
					continue
				}
				own, others := false, false
				for f, lines := range of {
					for _, l := range lines {
						if strings.HasPrefix(l, bare) {
							own, others = own || f == under, others || f != under
						}
					}
				}
				if shown++; others && !own {
					t.Errorf("%s/%s: %q stands under %s", th.id, e.MessageID, line, under)
				}
			}
		}
	}
	t.Logf("%d lines of %d diffs", shown, diffs)
}
