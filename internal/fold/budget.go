package fold

import "precis/summarize"

const (
	// charsPerToken is what a budget in tokens allows in characters at most, as seed 2 counts.
	charsPerToken = 4
	// windowShare is the part of a context window that a summary may take at most, and leastTokens is what
	// it must have to say anything (both seed 2): a summary is there to make room.
	windowShare = 10
	leastTokens = 50
)

// omitted stands where a window is too small for any summary.
const omitted = "[Summary omitted: the context window is too small for one; the messages are in the log]"

// Budget is how long a compaction may be.
type Budget struct {
	Tokens, Chars int
	omit          bool
}

// NewBudget is what a policy allows for a compaction of messages that hold so many tokens in a prompt: its
// own limit, a tenth of the window, and never more than half of what it stands for, since a summary that
// saves nothing is no progress.
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

// Fit renders a text of at most so many tokens and code points.
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
