package ledger

import (
	"container/heap"
	"slices"
)

// picker takes excerpts by what they add per character, and remembers what is said already.
type picker struct {
	chances map[string]float64
	names   map[string]*name
	opened  map[string]bool // places that excerpts stand under already
	listed  map[string]bool // places that are named anyway

	found []mention // of the line that was looked at last
	seen  []*name
}

// name is an identifier of a line, or of what is said.
type name struct {
	chance float64
	said   bool
}

// stretch is where an identifier stands in a line.
type stretch struct {
	start, end int
	name       *name
}

func newPicker(w weigher) *picker {
	return &picker{chances: w.chances, names: map[string]*name{}, opened: map[string]bool{}}
}

func (p *picker) name(w string) *name {
	n := p.names[w]
	if n == nil {
		n = &name{chance: p.chances[w]}
		p.names[w] = n
	}
	return n
}

// stretches are the identifiers of a line.
func (p *picker) stretches(line string) (list []stretch) {
	eachWordAt(line, func(start, end int) { list = append(list, stretch{start, end, p.name(line[start:end])}) })
	return list
}

// say notes that a text is in the summary, and that nothing is gained by saying it again.
func (p *picker) say(text string) {
	eachWord(text, func(w string) { p.name(w).said = true })
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

// choice is an excerpt of a line of a list.
type choice struct {
	index int
	excerpt
}

// choose takes the best excerpts for room characters, and gives them in the order of the list.
func (p *picker) choose(list []Line, room int) []choice {
	h := make(choiceHeap, 0, len(list))
	words := make([][]stretch, len(list)) // a line is looked at again each time that another one was taken
	for i, l := range list {
		words[i] = p.stretches(l.Text)
		if e := p.best(l, words[i]); e.rate > 0 {
			h = append(h, choice{i, e})
		}
	}
	heap.Init(&h)
	var taken []choice
	for len(h) > 0 && room > minLine {
		top := h[0]
		l := list[top.index]
		if now := p.best(l, words[top.index]); now != top.excerpt {
			h.settle(now)
			continue
		}
		heap.Pop(&h)
		if cost := runes(l.Text[top.start:top.end]) + overhead + p.heading(l); cost <= room {
			room -= cost
			taken = append(taken, top)
			p.opened[l.In] = true
			p.say(l.Text[top.start:top.end] + " " + l.In)
		}
	}
	slices.SortFunc(taken, func(a, b choice) int { return a.index - b.index })
	return taken
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
