package rules

import (
	"fmt"
	"strings"
	"testing"

	"precis/summarize/lex"
)

func numberedLines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %03d of the text\n", i+1)
	}
	return b.String()
}

func TestHeadTail(t *testing.T) {
	text := numberedLines(100) // 21 characters per line
	got := HeadTail(text, FileContent, 400, Original("", "m1"))
	want := strings.Join([]string{
		"line 001 of the text", "line 002 of the text", "line 003 of the text", "line 004 of the text", "line 005 of the text",
		"line 006 of the text", "line 007 of the text", "line 008 of the text", "line 009 of the text", "line 010 of the text", "line 011 of the text",
		"[… 84 lines, 1,764 chars omitted; message m1]",
		"line 096 of the text", "line 097 of the text", "line 098 of the text", "line 099 of the text", "line 100 of the text\n",
	}, "\n")
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// TestHeadTailRatio: the beginning's share is its category's, to within a line.
func TestHeadTailRatio(t *testing.T) {
	text := numberedLines(2000)
	for _, c := range []Category{FileContent, SearchResults, DirectoryListing, CommandOutput, StructuredData, WebContent, WriteResult, Other} {
		got := HeadTail(text, c, 10000, "")
		head, tail, ok := strings.Cut(got, "[… ")
		if !ok {
			t.Fatalf("%s: no mark", c)
		}
		share := float64(lex.Runes(head)) / float64(lex.Runes(head)+lex.Runes(tail))
		if want := c.HeadRatio(); share < want-0.01 || share > want+0.01 {
			t.Errorf("%s: %.3f of it is head, want %.3f", c, share, want)
		}
	}
}

func TestHeadTailSmall(t *testing.T) {
	for _, c := range []struct {
		text string
		max  int
		want string
	}{
		{"short", 10, "short"}, {"", 5, ""}, {"anything", 0, ""}, {"anything", 1, "…"}, {"any thing", 5, "any…"},
		{"\xff\xfe", 5, "\uFFFD"}, {strings.Repeat("漢", 50), 10, "漢漢漢漢漢漢漢漢漢…"},
	} {
		if got := HeadTail(c.text, Other, c.max, Original("", "m")); got != c.want {
			t.Errorf("%q to %d: %q, want %q", c.text, c.max, got, c.want)
		}
	}
}

func TestOmission(t *testing.T) {
	for _, c := range []struct {
		lines, chars int
		id, want     string
	}{
		{212, 9410, "m17", "[… 212 lines, 9,410 chars omitted; message m17]"},
		{1, 1, "", "[… 1 line, 1 char omitted]"},
		{0, 1234567, "a b\n", "[… 1,234,567 chars omitted; message \"a b\\n\"]"}, // as it can be asked for
	} {
		if got := omission(c.lines, c.chars, Original("", c.id)); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}
