package fold

import (
	"strings"
	"testing"

	"precis/summarize"
)

func TestBudget(t *testing.T) {
	words := func(text string) int { return len(strings.Fields(text)) }
	long := func(chars int) string { return strings.Repeat("word ", chars/5) }
	for _, c := range []struct {
		name   string
		policy summarize.Compaction
		before int64
		want   Budget
		text   string // how it begins, where it is not a text within the budget
	}{
		{"its own limit", summarize.Compaction{ContextWindow: 200_000, MaxSummaryTokens: 500}, 90_000, Budget{Tokens: 500, Chars: 2000}, ""},
		{"a tenth of the window", summarize.Compaction{ContextWindow: 4000, MaxSummaryTokens: 500}, 90_000, Budget{Tokens: 400, Chars: 1600}, ""},
		{"half of what it stands for", summarize.Compaction{ContextWindow: 200_000, MaxSummaryTokens: 500}, 300, Budget{Tokens: 150, Chars: 600}, ""},
		{"characters", summarize.Compaction{ContextWindow: 200_000, MaxSummaryTokens: 500, MaxSummaryChars: 700}, 90_000, Budget{Tokens: 500, Chars: 700}, ""},
		{"a window for 50 tokens", summarize.Compaction{ContextWindow: 500, MaxSummaryTokens: 500}, 90_000, Budget{Tokens: 50, Chars: 200}, ""},
		{"and for fewer", summarize.Compaction{ContextWindow: 499, MaxSummaryTokens: 500}, 90_000, Budget{Tokens: 49, Chars: 196, omit: true}, "[Summary omitted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := NewBudget(c.policy, c.before)
			if b != c.want {
				t.Fatalf("got %+v, want %+v", b, c.want)
			}
			text := b.Fit(long, words)
			if !strings.HasPrefix(text, c.text) || c.text == "" && (words(text) > b.Tokens || len(text) > b.Chars || text == "") {
				t.Errorf("%d words, %d characters: %.60s", words(text), len(text), text)
			}
		})
	}
}
