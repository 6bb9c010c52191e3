package rules

import "math"

// choice is a fragment that is shown: text[start:end] of a line.
type choice struct {
	line, start, end int
}

// offer is a fragment with its gain per character.
type offer struct {
	choice
	rate float64
}

// bid is a line (or, for further identifiers, an identifier by number) with its gain per character when last computed,
// packed into one number: the greater comes first. The high bits are those of the rate, which order as
// positive floats do, without the last ones (a ten-billionth of it); the low bits are the line, greater for earlier ones.
type bid uint64

// mostBids bounds the lines that are offered: a bid's low bits hold its line. Only megabytes of data have more.
const (
	mostBids  = 1 << 20
	bidNumber = mostBids - 1
)

func newBid(of int, rate float64) bid {
	return bid(math.Float64bits(rate))<<1&^bidNumber | bid(^of)&bidNumber
}

func (b bid) of() int32 { return int32(^b & bidNumber) }

// bids is a heap with the first bid on top. It is container/heap's algorithm without its interfaces, which took a third
// of the time of a large file, and with four children per node, which are adjacent in memory.
type bids []bid

const fan = 4

// init establishes the heap order.
func (b bids) init() {
	for i := (len(b) - 2) / fan; i >= 0; i-- {
		b.down(i)
	}
}

// down moves a bid below those that precede it.
func (b bids) down(i int) {
	if i >= len(b) {
		return
	}
	moved := b[i]
	for {
		at := i*fan + 1
		if at+fan > len(b) {
			b.downLast(i, moved)
			return
		}
		// No branches that depend on the bids: they would be unpredictable.
		below := b[at : at+fan : at+fan]
		left, right := 0, 2
		if below[1] > below[0] {
			left = 1
		}
		if below[3] > below[2] {
			right = 3
		}
		if below[right&3] > below[left&3] {
			left = right
		}
		first := below[left&3]
		if first < moved {
			b[i] = moved
			return
		}
		b[i] = first
		i = at + left
	}
}

// downLast moves a bid below the last children, which are fewer than four.
func (b bids) downLast(i int, moved bid) {
	at := i*fan + 1
	for k := at + 1; k < len(b); k++ {
		if b[k] > b[at] {
			at = k
		}
	}
	if at < len(b) && b[at] > moved {
		b[i] = b[at]
		i = at
	}
	b[i] = moved
}

func (b *bids) push(x bid) {
	*b = append(*b, x)
	h := *b
	i := len(h) - 1
	for i > 0 && x > h[(i-1)/fan] {
		h[i] = h[(i-1)/fan]
		i = (i - 1) / fan
	}
	h[i] = x
}

// pop removes the first bid.
func (b *bids) pop() {
	h := *b
	last := len(h) - 1
	h[0] = h[last]
	*b = h[:last]
	b.down(0)
}

// lower updates the first bid to its current gain.
func (b bids) lower(now bid) {
	b[0] = now
	b.down(0)
}
