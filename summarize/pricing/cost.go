package pricing

import (
	"math"
	"math/bits"
)

// tokensPerPrice is the number of tokens that a listed price covers.
const tokensPerPrice = 1_000_000

// cost sums up a call and rounds it half up, once. It uses 128 bits, so that no count and no price overflows;
// a larger cost saturates, which a budget handles correctly.
func (r Rates) cost(t Tokens) MicroUSD {
	cached := max(0, min(t.CachedInput, t.Input))
	written := max(0, min(t.CacheWrite, t.Input-cached))
	var sum wide
	sum.add(t.Input-cached-written, *r.Input)
	sum.add(cached, *or(r.CachedInput, r.Input))
	sum.add(written, *or(r.CacheWrite, r.Input))
	sum.add(t.Output, *r.Output)
	return sum.perMillion()
}

func or(a, b *MicroUSD) *MicroUSD {
	if a != nil {
		return a
	}
	return b
}

type wide struct{ hi, lo uint64 }

func (w *wide) add(tokens int64, price MicroUSD) {
	if tokens <= 0 {
		return
	}
	hi, lo := bits.Mul64(uint64(tokens), uint64(price))
	var carry uint64
	w.lo, carry = bits.Add64(w.lo, lo, 0)
	w.hi, _ = bits.Add64(w.hi, hi, carry)
}

func (w wide) perMillion() MicroUSD {
	lo, carry := bits.Add64(w.lo, tokensPerPrice/2, 0)
	hi := w.hi + carry
	if hi >= tokensPerPrice {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, tokensPerPrice)
	return MicroUSD(min(q, math.MaxInt64))
}
