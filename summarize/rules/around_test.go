package rules

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestAroundNeedsChange: what is around a change never stands in a hunk none of whose changes is shown.
func TestAroundNeedsChange(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		var b strings.Builder
		for file := range 1 + r.IntN(3) {
			fmt.Fprintf(&b, "diff --git a/f%d.go b/f%d.go\n--- a/f%d.go\n+++ b/f%d.go\n", file, file, file, file)
			for range 1 + r.IntN(4) {
				hunkOfTest(&b, r, file)
			}
		}
		text := ToolOutput(Input{ToolName: "bash", MessageID: "m1", MaxChars: 150 + r.IntN(900), Arguments: []byte(`{"command":"git diff main"}`), Content: b.String()}).Text
		around, changed := map[string]bool{}, map[string]bool{}
		for line := range strings.Lines(text) {
			for h := range strings.FieldsFuncSeq(line, func(c rune) bool { return (c < 'a' || c > 'z') && (c < '0' || c > '9') }) {
				if !strings.HasPrefix(h, "hunk") {
					continue
				}
				switch line[0] {
				case '+', '-':
					changed[h] = true
				case ' ':
					around[h] = true
				}
			}
		}
		for h := range around {
			if !changed[h] {
				t.Fatalf("seed %d: around %s, of which no change is shown:\n%s", seed, h, text)
			}
		}
	}
}

// hunkOfTest writes a hunk whose lines say which one they are of.
func hunkOfTest(b *strings.Builder, r *rand.Rand, file int) {
	id := fmt.Sprintf("hunk%dx%d", file, b.Len())
	before, added := 1+r.IntN(6), 1+r.IntN(3)
	fmt.Fprintf(b, "@@ -%d,%d +%d,%d @@\n", b.Len(), before, b.Len(), before+added)
	for i := range before {
		fmt.Fprintf(b, " 	keep.Around%d(%s, \"%s\")\n", i, id, strings.Repeat("p", r.IntN(30)))
	}
	for i := range added {
		if r.IntN(2) == 0 {
			fmt.Fprintf(b, "+ %s\n", id)
		} else {
			fmt.Fprintf(b, "+	now.Changed%d(%s, \"%s\")\n", i, id, strings.Repeat("q", r.IntN(90)))
		}
	}
}

// TestFirstWhereChanged: an identifier that is around a change first may be listed, since a line further down changed it.
func TestFirstWhereChanged(t *testing.T) {
	doc := newDocument("diff --git a/a.go b/a.go\n--- a/a.go\n+++ b/a.go\n@@ -1,2 +1,3 @@ func openSegment()\n 	segmentPath := join(rootDirectory)\n+	store.Open(segmentPath)\n 	return nil\n", CommandOutput, nil)
	v := newVocabulary(&doc, nil)
	defer v.release()
	for name, around := range map[string]bool{"segmentPath": false, "rootDirectory": true} {
		if id := v.find(name); id < 0 || doc.lines[v.words[id].first].around != around {
			t.Errorf("%s: %d, around not %v", name, id, around)
		}
	}
}

// TestHunkWithoutFile: also a hunk of which nothing tells the file has what is around its changes behind them.
func TestHunkWithoutFile(t *testing.T) {
	doc := newDocument("diff --git a/a.go b/a.go\n--- a/a.go\n+++ b/a.go\n@@ -1,1 +1,2 @@\n 	x := openSegment()\n+	y := 1\n…12 lines truncated…\n@@ -90,1 +91,2 @@\n 	telemetry := readSettings()\n+	store.OpenWith(telemetry)\n", CommandOutput, nil)
	v := newVocabulary(&doc, nil)
	defer v.release()
	c := newChooser(&doc, v)
	for i := range doc.lines {
		if l := &doc.lines[i]; strings.Contains(l.text, "OpenWith") {
			if l.group >= 0 || l.piece == 0 {
				t.Fatalf("group %d, hunk %d", l.group, l.piece)
			}
			c.admit(i)
			if c.unasked(i - 1) {
				t.Error("what is around it may not be shown")
			}
			return
		}
	}
	t.Fatal("no change")
}
