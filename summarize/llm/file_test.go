package llm

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"precis/events"
	"precis/summarize/lex"
)

func numbered(n int) string {
	var lines []string
	for i := range n {
		lines = append(lines, fmt.Sprintf("line %d of the file", i+1))
	}
	return strings.Join(lines, "\n")
}

func TestRelevantLines(t *testing.T) {
	for _, c := range []struct {
		lines    int
		r        *events.LineRange
		from, to int
	}{
		{9, nil, 3, 6}, {10, nil, 3, 7}, {1, nil, 0, 1}, {2, nil, 0, 2}, {100, nil, 33, 67},
		{100, &events.LineRange{Start: 10, End: 12}, 9, 12},
		{100, &events.LineRange{Start: 90, End: 500}, 89, 100},
		{100, &events.LineRange{Start: 101, End: 120}, 33, 67},
		{100, &events.LineRange{Start: 12, End: 10}, 33, 67},
		{100, &events.LineRange{}, 33, 67},
	} {
		if from, to := relevantLines(c.lines, c.r); from != c.from || to != c.to {
			t.Errorf("%d lines, %v: %d to %d, want %d to %d", c.lines, c.r, from, to, c.from, c.to)
		}
	}
}

func TestSections(t *testing.T) {
	content := numbered(5)
	f := newFile(content, &events.LineRange{Start: 3, End: 3}, limits{chars: 10, source: lex.Runes(content)})
	want := `=== MARK before (summarize), lines 1-2
line 1 of the file
line 2 of the file
=== MARK relevant (quote the lines that matter), lines 3-3
` + hashline(3, "line 3 of the file") + `
=== MARK after (summarize), lines 4-5
line 4 of the file
line 5 of the file`
	if got := f.sectioned("MARK"); got != want {
		t.Fatalf("got\n%s\nwant\n%s", got, want)
	}
}

// Few relevant lines stand in the summary as they are, and the model is given what room they leave.
func TestRelevantLinesStandAsTheyAre(t *testing.T) {
	content := numbered(200)
	l := limits{chars: 800, source: lex.Runes(content)}
	f := newFile(content, &events.LineRange{Start: 7, End: 8}, l)
	quote := hashline(7, "line 7 of the file") + "\n" + hashline(8, "line 8 of the file")
	if f.quote != quote || f.left(l).chars != 800-len(quote)-1 {
		t.Fatalf("quote %q, left %d", f.quote, f.left(l).chars)
	}
	said := "The file numbers its lines.\n" + hashline(7, "line 7 of the file")
	if got := f.with(f.quotes(said)); got != "The file numbers its lines.\n"+quote {
		t.Fatalf("got %q", got)
	}
	if f := newFile(content, &events.LineRange{Start: 1, End: 100}, l); f.quote != "" {
		t.Fatalf("a hundred lines in a summary of 800: %q", f.quote)
	}
}

func TestRestoredQuotes(t *testing.T) {
	source := []string{"package main", "func main() { run() }", "x"}
	whole := hashline(2, source[1])
	for _, c := range []struct{ name, said, want string }{
		{"as it stands", whole, whole},
		{"altered", "2:" + lineHash(source[1]) + "|func main() { stop() }", whole},
		{"shortened", "2:" + lineHash(source[1]) + "|func main()…", "2:" + lineHash(source[1]) + "|func main()…"},
		{"shortened to nothing", "2:" + lineHash(source[1]) + "|…", whole},
		{"made up", "before\n2:0000|func other()\nafter", "before\nafter"},
		{"beyond the file", "9:" + lineHash("") + "|", ""},
		{"no quote", "a|b at 12:34|5", "a|b at 12:34|5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := restored(c.said, source); got != c.want {
				t.Fatalf("got %q, want %q", got, c.want)
			}
		})
	}
}

// Whatever a model says, every quote that is left is of a line of the source, by number, hash and text.
func TestNoFalseQuoteIsLeft(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		source := rapid.SliceOfN(rapid.StringMatching(`[ab|:0-9 ]{0,12}`), 1, 6).Draw(t, "source")
		said := rapid.SliceOf(rapid.OneOf(
			rapid.StringMatching(`[0-9]{1,2}:[0-9a-f]{4}\|[ab]{0,9}…?`),
			rapid.Map(rapid.IntRange(0, len(source)-1), func(i int) string { return hashline(i+1, source[i]) }),
			rapid.Map(rapid.IntRange(0, len(source)-1), func(i int) string { return hashline(i+1, source[i]+"b") }),
			rapid.String(),
		)).Draw(t, "said")
		for _, line := range strings.Split(restored(strings.Join(said, "\n"), source), "\n") {
			n, hash, text, ok := parseHashline(line)
			if !ok {
				continue
			}
			text = strings.TrimSuffix(text, "…")
			if n > len(source) || lineHash(source[n-1]) != hash || !strings.HasPrefix(source[n-1], text) {
				t.Fatalf("false quote %q of %q", line, source)
			}
		}
	})
}

func TestSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"a", "é", "\n", "word ", "a longer line\n", "\xff"})).Draw(t, "text"), "")
		limit := rapid.IntRange(0, 30).Draw(t, "limit")
		parts := split(text, limit)
		if strings.Join(parts, "") != text {
			t.Fatalf("%q is not %q", parts, text)
		}
		for i, p := range parts {
			if limit > 0 && lex.Runes(p) > limit || (p == "" && text != "") {
				t.Fatalf("part %q of %d at limit %d", p, i, limit)
			}
		}
	})
}
