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
	n := messageFrame
	switch {
	case u.text != "":
		n += count(u.text)
	case len(u.calls) == 0:
		n += count(noText) // what Anthropic is given for an empty text
	}
	for _, c := range u.calls {
		n += callFrame + count(c.Name) + count(string(c.Arguments))
		n += resultCost(&c, count)
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
