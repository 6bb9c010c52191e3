package rules

// choice is a fragment that is shown: text[start:end] of a line.
type choice struct {
	line, start, end int
}

// offer is a fragment with the gain per character that it brings.
type offer struct {
	choice
	rate float64
}

// bid is a line (or, for further identifiers, an identifier by its number) with the gain per character that
// it would bring when last looked at.
type bid struct {
	of   int32
	rate float64
}

// before tells which of two bids comes first: the one with the better rate, or the earlier line.
func (b bid) before(other bid) bool {
	return b.rate > other.rate || b.rate == other.rate && b.of < other.of
}

// bids is a heap, the first one on top. It is container/heap's algorithm without its interfaces, which took a third
// of the time of a large file, and with four below each, which lie in one line of the processor's cache.
type bids []bid

const fan = 4

// init makes a heap of what is there.
func (b bids) init() {
	for i := (len(b) - 2) / fan; i >= 0; i-- {
		b.down(i)
	}
}

// down moves a bid below those that come before it.
func (b bids) down(i int) {
	if i >= len(b) {
		return
	}
	moved := b[i]
	for i*fan+1 < len(b) {
		first := i*fan + 1
		for k := first + 1; k < min(i*fan+1+fan, len(b)); k++ {
			if b[k].before(b[first]) {
				first = k
			}
		}
		if !b[first].before(moved) {
			break
		}
		b[i] = b[first]
		i = first
	}
	b[i] = moved
}

func (b *bids) push(x bid) {
	*b = append(*b, x)
	h := *b
	i := len(h) - 1
	for i > 0 && x.before(h[(i-1)/fan]) {
		h[i] = h[(i-1)/fan]
		i = (i - 1) / fan
	}
	h[i] = x
}

// pop drops the first.
func (b *bids) pop() {
	h := *b
	last := len(h) - 1
	h[0] = h[last]
	*b = h[:last]
	b.down(0)
}

// lower sets the first one's rate to what it is now.
func (b bids) lower(rate float64) {
	b[0].rate = rate
	b.down(0)
}
