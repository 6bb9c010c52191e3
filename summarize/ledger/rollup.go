package ledger

// Leaf computes the rule summary of a span: its text of at most maxChars code points, and its ledger,
// trimmed to the default limits.
func Leaf(messages []Message, maxChars int) (string, Ledger) {
	l, write := Condense(Collect(messages), nil)
	return write(maxChars), l
}

// RollUp computes one summary from adjoining spans' ledgers, older first, for use before kept (see [Renderer]).
// Its ledger may replace the leaves; it does not depend on kept.
func RollUp(leaves []Ledger, kept []Message, maxChars int) (string, Ledger) {
	l, write := Condense(Merge(leaves...), kept)
	return write(maxChars), l
}

// Condense trims a ledger to the default limits, and returns a function that writes it for use before kept: equivalent
// to Trim followed by Renderer, but it looks up the identifiers once.
func Condense(l Ledger, kept []Message) (Ledger, func(maxChars int) string) {
	var c Condenser
	c.m.of(l.Words)
	return c.condense(l, kept)
}

// Condenser condenses ledgers one after another. It reuses its working memory, which is most of the memory
// needed.
type Condenser struct {
	m merger
	w weigher
}

// Merged condenses the Merge of ledgers. The returned function is valid until the next call.
func (c *Condenser) Merged(spans []Ledger, kept []Message) (Ledger, func(maxChars int) string) {
	return c.condense(c.m.merge(spans), kept)
}

func (c *Condenser) condense(l Ledger, kept []Message) (Ledger, func(maxChars int) string) {
	w := &c.w
	l = l.trim(DefaultLimits(), &c.m.at, w)
	if len(kept) > 0 {
		w.weigh(l, hintOf(kept))
	}
	return l, func(maxChars int) string { return render(l, w, "", maxChars) }
}

// Join merges adjoining spans' ledgers into one, older first, trimmed to the default limits.
func Join(leaves []Ledger) Ledger {
	return Merge(leaves...).Trim(DefaultLimits())
}
