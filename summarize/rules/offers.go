package rules

// choice is a fragment that is shown: text[start:end] of a line.
type choice struct {
	line, start, end int
}

// offer is a fragment (or, for further identifiers, an identifier by its number) with the gain per
// character it would bring when last looked at.
type offer struct {
	choice
	rate float64
}

// offers is a heap: the best rate first, the earlier line where rates are equal. It is container/heap's
// algorithm without its interfaces, which took a third of the time of a large file.
type offers []offer

func (o offers) better(i, j int) bool {
	if o[i].rate != o[j].rate {
		return o[i].rate > o[j].rate
	}
	return o[i].line < o[j].line
}

// init makes a heap of what is there.
func (o offers) init() {
	for i := len(o)/2 - 1; i >= 0; i-- {
		o.down(i)
	}
}

func (o offers) down(i int) {
	for {
		best := 2*i + 1
		if best >= len(o) {
			return
		}
		if r := best + 1; r < len(o) && o.better(r, best) {
			best = r
		}
		if !o.better(best, i) {
			return
		}
		o[i], o[best] = o[best], o[i]
		i = best
	}
}

func (o *offers) push(x offer) {
	*o = append(*o, x)
	h := *o
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
func (o *offers) pop() {
	h := *o
	last := len(h) - 1
	h[0] = h[last]
	*o = h[:last]
	o.down(0)
}

// lower sets the best one's rate to what it is now.
func (o offers) lower(x offer) {
	o[0] = x
	o.down(0)
}
