package prompt

// Framing in tokens: what a provider adds to the texts. OpenAI's cookbook ("How to count tokens with tiktoken") counts 3
// a message, 1 for its role and 3 for the reply that the prompt primes; a call takes its JSON around name and arguments,
// a result the call's id. Other providers don't publish theirs, and are taken to add as much.
const (
	messageFrame = 4
	callFrame    = 12
	promptFrame  = 3
)

// costOf is what a unit takes.
func costOf(u *unit, count func(string) int) int {
	n := messageFrame + u.unread
	switch {
	case len(raws(u.blocks)) > 0:
		n += weightOf(u.blocks)
	case u.text != "" && u.blocks == nil:
		n += count(u.text)
	case len(u.calls) == 0:
		n += count(noText) // what Anthropic is given for an empty text
	}
	for i := range u.calls {
		c := &u.calls[i]
		n += callFrame + count(c.Name) + count(string(c.Arguments)) + c.beside
		n += resultCost(c, count)
	}
	for _, t := range u.beside() {
		n += t.cost()
	}
	return n
}

// resultCost is what a call's result takes of its unit's cost.
func resultCost(c *call, count func(string) int) int { return messageFrame + callFrame + c.size(count) }

// cost is what a tail takes of its unit's cost.
func (t *tail) cost() int { return messageFrame + t.tokens }

// size is what a call's result takes.
func (c *call) size(count func(string) int) int {
	switch {
	case !c.verbatim():
		return count(visible(c.shown))
	case c.blocks != nil:
		return weightOf(c.blocks) + c.unread
	}
	return count(visible(c.shown)) + c.unread
}

func weightOf(blocks []block) (n int) {
	for _, b := range blocks {
		n += b.tokens
	}
	return n
}

// compactionCost is what the compaction takes; 0 where there is none.
func compactionCost(text string, count func(string) int) int {
	if text == "" {
		return 0
	}
	return messageFrame + count(text)
}
