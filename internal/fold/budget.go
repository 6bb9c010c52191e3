package fold

import "precis/summarize"

const (
	// charsPerToken is the most characters that a budget allows per token, as seed 2 counts.
	charsPerToken = 4
	// windowShare limits a summary to a tenth of the context window, since its purpose is to make room; leastTokens is what it
	// needs to say anything. Both are from seed 2.
	windowShare = 10
	leastTokens = 50
)

// omitted is the text if a window is too small for any summary.
const omitted = "[Summary omitted: the context window is too small for one; the messages are in the log]"

// Budget limits the length of a compaction.
type Budget struct {
	Tokens, Chars int
	omit          bool
}

// NewBudget returns what a policy allows for a compaction of messages that take before tokens in a prompt: its own limit, a
// tenth of the window, and at most half of what it stands for, since a summary that saves nothing is no progress.
func NewBudget(c summarize.Compaction, before int64) Budget {
	share := c.ContextWindow / windowShare
	b := Budget{omit: share < leastTokens}
	b.Tokens = int(min(int64(min(c.MaxSummaryTokens, share)), max(before/2, 1)))
	b.Chars = min(b.Tokens*charsPerToken, textChars)
	if c.MaxSummaryChars > 0 {
		b.Chars = min(b.Chars, c.MaxSummaryChars)
	}
	return b
}

// Fit renders a text within the budget.
func (b Budget) Fit(render func(chars int) string, count func(string) int) string {
	if b.omit {
		return omitted
	}
	for chars := b.Chars; chars > 0; {
		text := render(chars)
		n := count(text)
		if n <= b.Tokens {
			return text
		}
		chars = min(chars-1, chars*b.Tokens/n)
	}
	return ""
}
