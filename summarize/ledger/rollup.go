package ledger

// Leaf makes the summary of a span by rules: its text of at most maxChars code points, and its ledger,
// trimmed to the default limits.
func Leaf(messages []Message, maxChars int) (string, Ledger) {
	l, write := Condense(Collect(messages), nil)
	return write(maxChars), l
}

// RollUp makes one summary of adjoining spans' ledgers, older first, with kept behind it (see [Renderer]).
// Its ledger may stand for the leaves from now on; it does not depend on kept.
func RollUp(leaves []Ledger, kept []Message, maxChars int) (string, Ledger) {
	l, write := Condense(Merge(leaves...), kept)
	return write(maxChars), l
}

// Condense trims a ledger to the default limits, and gives what writes that with kept behind it: the same as
// Trim and then Renderer, but that the identifiers are looked for once.
func Condense(l Ledger, kept []Message) (Ledger, func(maxChars int) string) {
	var c Condenser
	c.m.of(l.Words)
	return c.condense(l, kept)
}

// Condenser condenses ledgers one after the other. What only the work needs, and is most of what it needs, it
// has once.
type Condenser struct {
	m merger
	w weigher
}

// Merged condenses the Merge of ledgers. What it returns for writing holds until it is called again.
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

// Join makes one ledger of adjoining spans', older first, trimmed to the default limits.
func Join(leaves []Ledger) Ledger {
	return Merge(leaves...).Trim(DefaultLimits())
}
