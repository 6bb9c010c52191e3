package ledger

// Leaf makes the summary of a span by rules: its text of at most maxChars code points, and its ledger,
// trimmed to the default limits.
func Leaf(messages []Message, maxChars int) (string, Ledger) {
	l := Collect(messages).Trim(DefaultLimits())
	return Render(l, "", maxChars), l
}

// RollUp makes one summary of adjoining spans' ledgers, older first, with kept behind it (see [Renderer]).
// Its ledger may stand for the leaves from now on; it does not depend on kept.
func RollUp(leaves []Ledger, kept []Message, maxChars int) (string, Ledger) {
	l := Join(leaves)
	return Renderer(l, kept)(maxChars), l
}

// Join makes one ledger of adjoining spans', older first, trimmed to the default limits.
func Join(leaves []Ledger) Ledger {
	var l Ledger
	for _, leaf := range leaves {
		l = Merge(l, leaf)
	}
	return l.Trim(DefaultLimits())
}
