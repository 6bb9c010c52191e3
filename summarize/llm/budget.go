package llm

import (
	"strconv"

	"precis/summarize/lex"
)

// limits are how long a job's text may be, in characters and in tokens; 0 is no limit of that kind.
type limits struct {
	chars, tokens int
	source        int // characters of the source: a summary is shorter
	count         func(string) int
}

// fits says whether a text may be adopted, as far as its size goes.
func (l limits) fits(text string) bool {
	n := lex.Runes(text)
	if n >= l.source || (l.chars > 0 && n > l.chars) {
		return false
	}
	return l.tokens <= 0 || l.count(text) <= l.tokens
}

// room is what a model is told that it has, in each way of saying it.
type room struct {
	chars, tokens int
	words         string
}

const (
	// A model is asked for four fifths of what there is: it can't count, and what it left out is to be
	// appended.
	askedFor, outOf = 4, 5
	// charsPerToken relates the two limits where only one is set: code and English, measured at 2.6 to
	// 4.2 characters a token.
	charsPerToken = 3
)

func (l limits) room() room {
	c, t := l.chars, l.tokens
	if c <= 0 || c >= l.source {
		c = l.source - 1
	}
	r := room{chars: max(1, c*askedFor/outOf)}
	if t > 0 {
		r.tokens = max(1, t*askedFor/outOf)
		r.words = strconv.Itoa(r.tokens) + " tokens"
		r.chars = min(r.chars, r.tokens*charsPerToken)
		return r
	}
	r.tokens = max(1, r.chars/charsPerToken)
	r.words = strconv.Itoa(r.chars) + " characters"
	return r
}

// maxTokens bounds the answer itself: generously, since an answer that is cut off is lost, and another
// tokenizer or script needs more tokens for the same text.
func (l limits) maxTokens() int {
	if l.tokens > 0 {
		return 2*l.tokens + 64
	}
	return l.room().chars + 64
}
