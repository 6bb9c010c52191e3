package savings

import (
	"time"

	"precis/summarize/pricing"
)

// Turn is one call of a thread's model, with the prompt as it stood before the call. Weights are tokens by the policy's tokenizer.
type Turn struct {
	At    time.Time
	Model string // empty: unknown

	Held int64 // the compacted prompt
	// HeldKept is how much of Held stood at the same place at the turn before; HeldSame how much would have without what
	// precis changed.
	HeldKept, HeldSame int64
	Whole, WholeKept   int64 // the same for all messages of the thread
	// Window is the context window of the thread's policy; 0 if it has none.
	Window int64

	Reported Usage // zero if no provider has reported anything
	// Fits is which of both prompts the agent sent, by what the provider reported; empty if that can't be told.
	Fits string
}

// Usage is what a provider reported of a prompt.
type Usage struct {
	Input  int64 // what came from a cache included
	Cached int64
}

// What agents send to their models.
const (
	SentPrecis  = "precis"  // the prompts of precis
	SentOwn     = "own"     // all messages, or prompts of their own
	SentMixed   = "mixed"   // now one, now the other
	SentUnknown = "unknown" // no usage is reported, or both weigh the same
)

// priced are the amounts of a turn in micro-dollars.
type priced struct {
	held, whole int64
	prefix      int64 // of held, because precis changed what stood before
}

// price prices a turn; false if its model has no price on its day.
func (t *Turn) price(table *pricing.Table, cached bool) (p priced, known bool) {
	if table == nil || t.Model == "" {
		return p, false
	}
	cost := func(input, kept int64) int64 {
		tokens := pricing.Tokens{Input: input}
		if cached {
			tokens.CachedInput, tokens.CacheWrite = kept, input-kept
		}
		amount := table.Cost(tokens, t.At, t.Model)
		if known = amount != nil; !known {
			return 0
		}
		return *amount
	}
	p.whole = cost(t.Whole, t.WholeKept)
	p.held = cost(t.Held, t.HeldKept)
	p.prefix = p.held - cost(t.Held, t.HeldSame)
	return p, known
}

// votes says which prompt a provider saw, from the growth of the reported prompt and of both prompts since the last report: what
// precis does not see, such as the definitions of tools, weighs the same in both reports. Growths that differ by less than half
// of the larger one say nothing, since tokenizers differ by up to a third, and neither does a growth that is near to none of them.
func votes(reported, held, whole int64) string {
	if gap := abs(held - whole); gap < minGap || 2*gap < max(abs(held), abs(whole)) {
		return ""
	}
	switch gap := abs(held - whole); { // what is near to neither is another prompt
	case 2*abs(reported-held) < gap:
		return SentPrecis
	case 2*abs(reported-whole) < gap:
		return SentOwn
	}
	return ""
}

// minGap is the least difference in tokens between both growths that says something.
const minGap = 100

func abs(n int64) int64 { return max(n, -n) }
