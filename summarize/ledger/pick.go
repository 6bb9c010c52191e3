package ledger

import (
	"container/heap"
	"slices"
)

// picker takes excerpts by what they add per character, and remembers what is said already.
type picker struct {
	chance map[string]float64
	said   map[string]bool
	opened map[string]bool // places that excerpts stand under already
	listed map[string]bool // places that are named anyway
	words  map[string][]stretch
}

// stretch is where an identifier stands in a line.
type stretch struct{ start, end int }

// wordsOf are the identifiers of a line: it is looked at again each time that another one was taken.
func (p *picker) wordsOf(line string) []stretch {
	if list, ok := p.words[line]; ok {
		return list
	}
	var list []stretch
	eachWordAt(line, func(start, end int) { list = append(list, stretch{start, end}) })
	p.words[line] = list
	return list
}

func newPicker(w weigher) *picker {
	return &picker{chance: w.chances, said: map[string]bool{}, opened: map[string]bool{}, words: map[string][]stretch{}}
}

// say notes that a text is in the summary, and that nothing is gained by saying it again.
func (p *picker) say(text string) {
	eachWord(text, func(w string) { p.said[w] = true })
}

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

// minName is the shortest identifier, with what parts it from its neighbour.
const minName = 4 + overhead

// choice is an excerpt of a line of a list.
type choice struct {
	index int
	excerpt
}

// An identifier alone, to be listed under its place, as declared there or not, or without one among those of no
// place. No ledger holds such lines.
const (
	kindName    = "n"
	kindDefined = "d"
)

func (l Line) name() bool { return l.Kind == kindName || l.Kind == kindDefined }

func (l Line) nowhere() bool { return l.Kind == kindName && l.In == "" }

// room is how many characters there are yet, and how many of them names of no place may have.
type room struct{ all, nowhere int }

// take takes what a line costs; it is false where there is not as much.
func (r *room) take(l Line, cost int) bool {
	if cost > r.all || l.nowhere() && cost > r.nowhere {
		return false
	}
	r.all -= cost
	if l.nowhere() {
		r.nowhere -= cost
	}
	return true
}

// choose takes the best excerpts that there is room for, and gives them in the order of the list.
func (p *picker) choose(list []Line, r *room) []choice {
	h := make(choiceHeap, 0, len(list))
	for i, l := range list {
		if e := p.best(l); e.rate > 0 {
			h = append(h, choice{i, e})
		}
	}
	heap.Init(&h)
	var taken []choice
	for len(h) > 0 && r.all > minName {
		top := h[0]
		l := list[top.index]
		if now := p.best(l); now != top.excerpt || now.rate <= 0 {
			h.settle(now)
			continue
		}
		heap.Pop(&h)
		if r.take(l, runes(l.Text[top.start:top.end])+overhead+p.heading(l)) {
			taken = append(taken, top)
			p.say(l.Text[top.start:top.end] + " " + l.In)
			p.open(l.In, list, h)
		}
	}
	slices.SortFunc(taken, func(a, b choice) int { return a.index - b.index })
	return taken
}

// open notes that something stands under a place: from now on the rest of it is to be had without its name.
func (p *picker) open(in string, list []Line, h choiceHeap) {
	if in == "" || p.opened[in] {
		return
	}
	p.opened[in] = true
	for i, c := range h {
		if list[c.index].In == in {
			h[i].excerpt = p.best(list[c.index])
		}
	}
	heap.Init(&h)
}

// choiceHeap has the best choice on top; of equals the newest.
type choiceHeap []choice

func (h choiceHeap) Len() int { return len(h) }
func (h choiceHeap) Less(i, j int) bool {
	if h[i].rate != h[j].rate {
		return h[i].rate > h[j].rate
	}
	return h[i].index > h[j].index
}
func (h choiceHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *choiceHeap) Push(x any)   { *h = append(*h, x.(choice)) }
func (h *choiceHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// settle gives the top what it is worth by now; a line that adds nothing any more goes.
func (h *choiceHeap) settle(now excerpt) {
	if now.rate <= 0 {
		heap.Pop(h)
		return
	}
	(*h)[0].excerpt = now
	heap.Fix(h, 0)
}
