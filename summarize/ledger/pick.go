package ledger

import "slices"

// picker takes excerpts by what they add per character, and remembers what is said already.
type picker struct {
	of     *weigher
	number int             // which of the weigher's
	opened map[string]bool // places that excerpts stand under already
	listed map[string]bool // places that are named anyway

	found []mention // of the line that was looked at last
	seen  []*name
}

// stretch is where an identifier stands in a line.
type stretch struct {
	start, end int
	name       *name
}

func newPicker(w *weigher) *picker {
	w.pickers++
	return &picker{of: w, number: w.pickers, opened: map[string]bool{}}
}

// stretches are the ledger's identifiers in each of its lines; nothing is gained by others.
func (w *weigher) stretches(lines []Line) [][]stretch {
	if w.lines != nil {
		return w.lines
	}
	w.lines = make([][]stretch, len(lines))
	all := make([]stretch, 0, 8*len(lines))
	for i := range lines {
		text, from := lines[i].Text, len(all)
		eachWordAt(text, func(start, end int) {
			if n := w.names[text[start:end]]; n != nil {
				all = append(all, stretch{start, end, n})
			}
		})
		w.lines[i] = all[from:len(all):len(all)]
	}
	return w.lines
}

// say notes that a text is in the summary, and that nothing is gained by saying it again.
func (p *picker) say(text string) {
	eachWord(text, func(w string) {
		if n := p.of.names[w]; n != nil {
			n.said = p.number
		}
	})
}

func (p *picker) said(n *name) bool { return n.said == p.number }

// heading is what naming a line's place costs where that was not named yet.
func (p *picker) heading(l Line) int {
	switch {
	case l.In == "" || p.opened[l.In]:
		return 0
	case p.listed[l.In]:
		return len("\n  : ") - len(", ")
	}
	return len(l.In) + len(": ")
}

// choice is an excerpt of a line of a list.
type choice struct {
	index int
	excerpt
}

// choose takes the best excerpts of the ledger's lines for room characters, and gives them in their order.
func (p *picker) choose(list []Line, room int) []choice {
	h := make(choiceHeap, 0, len(list))
	words := p.of.stretches(list) // a line is looked at again each time that another one was taken
	for i, l := range list {
		if e := p.best(l, words[i]); e.rate > 0 {
			h = append(h, choice{i, e})
		}
	}
	h.order()
	var taken []choice
	for len(h) > 0 && room > minLine {
		top := h[0]
		l := list[top.index]
		if now := p.best(l, words[top.index]); now != top.excerpt {
			h.settle(now)
			continue
		}
		h.pop()
		if cost := runes(l.Text[top.start:top.end]) + overhead + p.heading(l); cost <= room {
			room -= cost
			taken = append(taken, top)
			p.take(l.In, top.excerpt, words[top.index])
		}
	}
	slices.SortFunc(taken, func(a, b choice) int { return a.index - b.index })
	return taken
}

// take notes that an excerpt is in the summary, under its place.
func (p *picker) take(in string, e excerpt, words []stretch) {
	for _, w := range words {
		if w.start >= e.start && w.end <= e.end {
			w.name.said = p.number
		}
	}
	if !p.opened[in] {
		p.opened[in] = true
		p.say(in)
	}
}

// choiceHeap has the best choice on top; of equals the newest. It is asked for its top for each line of each
// text, and only ever sinks it: container/heap takes twice as long.
type choiceHeap []choice

func (h choiceHeap) before(i, j int) bool {
	if h[i].rate != h[j].rate {
		return h[i].rate > h[j].rate
	}
	return h[i].index > h[j].index
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
func (h *choiceHeap) settle(now excerpt) {
	if now.rate <= 0 {
		h.pop()
		return
	}
	(*h)[0].excerpt = now
	h.sink(0)
}
