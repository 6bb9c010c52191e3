package ledger

import "slices"

// picker selects excerpts by their gain per character, and tracks what is already mentioned.
type picker struct {
	of     *weigher
	number int32           // this picker's number at the weigher
	listed map[string]bool // places that are named anyway
	cost   []int           // the current cost of naming a place
	opened []int32         // when its first excerpt was added; 0: none yet
	now    int32           // the number of excerpts taken

	found []mention // of the line examined last
	seen  []int32
	best  []excerpt // of each line, when it was examined last
	as    []int32   // and when that was
	heap  choiceHeap
	taken []choice
}

// stretch is the position of an identifier in a line, and that of the space-delimited text around it.
type stretch struct {
	start, end, name, from, to int32
	alone                      struct{ from, to int32 } // the quote for it alone; zero if not computed yet
}

// reach is a line's range in a list of stretches, and its place.
type reach struct{ from, to, place int32 }

// newPicker begins a text in which nothing is mentioned yet. It invalidates the previous picker.
func newPicker(w *weigher) *picker {
	p := &w.pick
	p.of, p.listed, p.now = w, nil, 0
	p.number++
	return p
}

// look finds the ledger's identifiers in each of its lines; only those bring a gain.
func (w *weigher) look(lines []Line) {
	if w.lines != nil {
		return
	}
	w.lines, w.found = make([]reach, len(lines)), w.found[:0]
	w.places.reset(len(lines))
	for i := range lines {
		from := int32(len(w.found))
		w.lookAt(lines[i].Text)
		place, _ := w.places.add(lines[i].In)
		w.lines[i] = reach{from, int32(len(w.found)), int32(place)}
	}
}

// lookAt finds the ledger's identifiers in a line.
func (w *weigher) lookAt(text string) {
	var room [16]extent
	from, to := 0, spaceAfter(text, 0)
	for i := 0; i < len(text); {
		list := room[:0]
		list, i = candidates(list, text, i)
		for _, c := range list {
			n := w.at.find(text[c.start:c.end])
			if n < 0 {
				continue
			}
			if c.start > to {
				from, to = spaceBefore(text, c.start), spaceAfter(text, c.end)
			}
			w.found = append(w.found, stretch{
				start: int32(c.start), end: int32(c.end), name: int32(n), from: int32(from), to: int32(to),
			})
		}
	}
}

// say records that a text is in the summary, and that repeating it gains nothing.
func (p *picker) say(text string) {
	eachCandidate(text, func(start, end int) {
		if n := p.of.at.find(text[start:end]); n >= 0 {
			p.note(int32(n))
		}
	})
}

// note marks an identifier as mentioned.
func (p *picker) note(n int32) {
	p.of.all[n].said, p.of.all[n].when = p.number, p.now
}

func (p *picker) said(n *name) bool { return n.said == p.number }

// headings computes the cost of naming each place of the lines, none of which is open yet.
func (p *picker) headings() {
	n := len(p.of.places.names)
	p.cost, p.opened = grown(p.cost, n), grown(p.opened, n)[:n]
	clear(p.opened)
	for _, in := range p.of.places.names {
		cost := len(in) + len(": ")
		switch {
		case in == "":
			cost = 0
		case p.listed[in]:
			cost = len("\n  : ") - len(", ")
		}
		p.cost = append(p.cost, cost)
	}
}

// choice is a line of a list, and the rate of its excerpt.
type choice struct {
	rate float64
	line int32
}

// choose returns the best excerpts of the ledger's lines for room characters, in line order. They are valid
// until the next call.
func (p *picker) choose(list []Line, room int) []choice {
	w := p.of
	w.look(list) // a line is examined again each time another one was taken
	p.headings()
	p.best, p.as = grown(p.best, len(list))[:len(list)], grown(p.as, len(list))[:len(list)]
	clear(p.as)
	h := choiceHeap(grown(p.heap, len(list)))
	for i := range list {
		if p.best[i] = p.excerpt(&list[i], w.lines[i]); p.best[i].rate > 0 {
			h = append(h, choice{p.best[i].rate, int32(i)})
		}
	}
	p.heap = h
	h.order()
	taken := p.taken[:0]
	for len(h) > 0 && room > minLine {
		top := h[0]
		l, at := &list[top.line], w.lines[top.line]
		if p.changed(at, p.as[top.line]) {
			now := p.excerpt(l, at)
			p.as[top.line] = p.now
			if now != p.best[top.line] {
				p.best[top.line] = now
				h.settle(now.rate)
				continue
			}
		}
		h.pop()
		e := p.best[top.line]
		if cost := runes(l.Text[e.start:e.end]) + overhead + p.cost[at.place]; cost <= room {
			room -= cost
			taken = append(taken, top)
			p.now++
			p.take(e, at)
		}
	}
	p.taken = taken
	slices.SortFunc(taken, func(a, b choice) int { return int(a.line - b.line) })
	return taken
}

// changed reports whether something in a line was mentioned, or its place named, since it was examined.
func (p *picker) changed(at reach, since int32) bool {
	if p.opened[at.place] > since {
		return true
	}
	for i := at.from; i < at.to; i++ {
		if n := &p.of.all[p.of.found[i].name]; p.said(n) && n.when > since {
			return true
		}
	}
	return false
}

// take records that an excerpt is in the summary, under its place.
func (p *picker) take(e excerpt, at reach) {
	for _, s := range p.of.found[at.from:at.to] {
		if int(s.start) >= e.start && int(s.end) <= e.end {
			p.note(s.name)
		}
	}
	if p.opened[at.place] == 0 {
		p.opened[at.place], p.cost[at.place] = p.now, 0
		p.say(p.of.places.names[at.place])
	}
}

// choiceHeap has the best choice on top; of equals the newest. Its top is read for each line of each
// text, and only ever moved down: container/heap takes twice as long.
type choiceHeap []choice

func (h choiceHeap) before(i, j int) bool {
	if h[i].rate != h[j].rate {
		return h[i].rate > h[j].rate
	}
	return h[i].line > h[j].line
}

// order builds a heap from choices in any order.
func (h choiceHeap) order() {
	for i := len(h)/2 - 1; i >= 0; i-- {
		h.sink(i)
	}
}

func (h choiceHeap) sink(i int) {
	for {
		next := 2*i + 1
		if next+1 < len(h) && h.before(next+1, next) {
			next++
		}
		if next >= len(h) || !h.before(next, i) {
			return
		}
		h[i], h[next] = h[next], h[i]
		i = next
	}
}

// pop removes the top.
func (h *choiceHeap) pop() {
	last := len(*h) - 1
	(*h)[0] = (*h)[last]
	*h = (*h)[:last]
	h.sink(0)
}

// settle updates the top's rate; it removes a line that adds nothing any more.
func (h *choiceHeap) settle(rate float64) {
	if rate <= 0 {
		h.pop()
		return
	}
	(*h)[0].rate = rate
	h.sink(0)
}
