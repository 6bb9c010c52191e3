package prompt

// Framing in tokens: what a provider adds to the texts. OpenAI documents 3 a message and 3 for the reply
// it primes; a call takes its JSON around name and arguments, a result the call's id.
const (
	messageFrame = 4
	callFrame    = 12
	promptFrame  = 3
)

// costOf is what a unit takes.
func costOf(u *unit, count func(string) int) int {
	n := messageFrame
	if u.text != "" {
		n += count(u.text)
	}
	for _, c := range u.calls {
		n += callFrame + count(c.Name) + count(string(c.Arguments))
		n += messageFrame + callFrame + count(c.shown)
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
