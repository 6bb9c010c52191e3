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

// bids is a heap: the best rate first, the earlier line where rates are equal. It is container/heap's
// algorithm without its interfaces, which took a third of the time of a large file.
type bids []bid

func (b bids) better(i, j int) bool {
	if b[i].rate != b[j].rate {
		return b[i].rate > b[j].rate
	}
	return b[i].of < b[j].of
}

// init makes a heap of what is there.
func (b bids) init() {
	for i := len(b)/2 - 1; i >= 0; i-- {
		b.down(i)
	}
}

func (b bids) down(i int) {
	for {
		best := 2*i + 1
		if best >= len(b) {
			return
		}
		if r := best + 1; r < len(b) && b.better(r, best) {
			best = r
		}
		if !b.better(best, i) {
			return
		}
		b[i], b[best] = b[best], b[i]
		i = best
	}
}

func (b *bids) push(x bid) {
	*b = append(*b, x)
	h := *b
	for i := len(h) - 1; i > 0; {
		parent := (i - 1) / 2
		if !h.better(i, parent) {
			return
		}
		h[i], h[parent] = h[parent], h[i]
		i = parent
	}
}

// pop drops the best.
func (b *bids) pop() {
	h := *b
	last := len(h) - 1
	h[0] = h[last]
	*b = h[:last]
	b.down(0)
}

// lower sets the best one's rate to what it is now.
func (b bids) lower(rate float64) {
	b[0].rate = rate
	b.down(0)
}
