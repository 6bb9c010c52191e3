package tokens

import "strings"

// claude scales o200k_base, since Anthropic publishes no vocabulary.
type claude struct{ base *bpe }

func (claude) Name() string { return Claude }

func (c claude) Count(text string) int {
	return charged(max(0, 2*c.base.Count(text)-numberedLines(text)))
}

// charged is what Claude 4.5 and 4.6 charge for a text of that many half tokens of o200k_base,
// rounded up. Fitted on what providers reported (see doc.go for how well):
//
//   - a text costs 1.25 times its o200k_base tokens by least absolute deviations, for each of four
//     models between 1.24 and 1.28; slope is the highest of these, so that the error is to the
//     safe side;
//   - every message brings about 110 tokens of framing (the call that asked for it, ids, roles),
//     which a text too short to be worth summarizing must not be charged in full: hence a share
//     of the text up to a bound.
func charged(halves int) int {
	framing := min(halves*framingShare, framingMax*2000)
	return (halves*slope + framing + 1999) / 2000
}

const (
	slope        = 1280 // Claude's tokens per 1,000 of o200k_base
	framingShare = 180  // per 1,000
	framingMax   = 150  // tokens
)

// numberedLines counts lines as `cat -n` and coding agents' read tools number them ("12→"). Their
// numbers are about half a token of o200k_base less on Claude.
func numberedLines(text string) int {
	const arrow = "→"
	n := 0
	for {
		i := strings.Index(text, arrow)
		if i < 0 {
			return n
		}
		if i > 0 && text[i-1] >= '0' && text[i-1] <= '9' {
			n++
		}
		text = text[i+len(arrow):]
	}
}
