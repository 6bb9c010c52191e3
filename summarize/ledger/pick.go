package ledger

import "slices"

// picker takes excerpts by what they add per character, and remembers what is said already.
type picker struct {
	of     *weigher
	number int32           // which of the weigher's
	listed map[string]bool // places that are named anyway
	cost   []int           // what naming a place costs now
	opened []int32         // when the first excerpt came to stand under it; 0 where none does
	now    int32           // how many excerpts were taken

	found []mention // of the line that was looked at last
	seen  []int32
	best  []excerpt // of each line, as it was when it was looked at last
	as    []int32   // and when that was
	heap  choiceHeap
	taken []choice
}

// stretch is where an identifier stands in a line, and where the text between two spaces that it is in.
type stretch struct {
	start, end, name, from, to int32
	alone                      struct{ from, to int32 } // what is quoted for it alone; zero where nobody has asked yet
}

// reach is a line's part of a list of stretches, and its place.
type reach struct{ from, to, place int32 }

// newPicker begins a text: nothing is said in it yet. The one before it is over then.
func newPicker(w *weigher) *picker {
	p := &w.pick
	p.of, p.listed, p.now = w, nil, 0
	p.number++
	return p
}

// look finds the ledger's identifiers in each of its lines; nothing is gained by others.
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

// say notes that a text is in the summary, and that nothing is gained by saying it again.
func (p *picker) say(text string) {
	eachCandidate(text, func(start, end int) {
		if n := p.of.at.find(text[start:end]); n >= 0 {
			p.note(int32(n))
		}
	})
}

// note notes that an identifier is said from now on.
func (p *picker) note(n int32) {
	p.of.all[n].said, p.of.all[n].when = p.number, p.now
}

func (p *picker) said(n *name) bool { return n.said == p.number }

// headings reckons what naming each place of the lines costs: nothing is opened yet.
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

// choice is a line of a list, and what its excerpt is worth.
type choice struct {
	rate float64
	line int32
}

// choose takes the best excerpts of the ledger's lines for room characters, and gives them in their order. They
// hold until it chooses again.
func (p *picker) choose(list []Line, room int) []choice {
	w := p.of
	w.look(list) // a line is looked at again each time that another one was taken
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

// changed says that something in a line was said, or its place named, since it was looked at.
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

// take notes that an excerpt is in the summary, under its place.
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

// choiceHeap has the best choice on top; of equals the newest. It is asked for its top for each line of each
// text, and only ever sinks it: container/heap takes twice as long.
type choiceHeap []choice

func (h choiceHeap) before(i, j int) bool {
	if h[i].rate != h[j].rate {
		return h[i].rate > h[j].rate
	}
	return h[i].line > h[j].line
}

// order makes a heap of choices in any order.
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

// pop takes the top away.
func (h *choiceHeap) pop() {
	last := len(*h) - 1
	(*h)[0] = (*h)[last]
	*h = (*h)[:last]
	h.sink(0)
}

// settle gives the top what it is worth by now; a line that adds nothing any more goes.
func (h *choiceHeap) settle(rate float64) {
	if rate <= 0 {
		h.pop()
		return
	}
	(*h)[0].rate = rate
	h.sink(0)
}
