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

// choice is an excerpt of a line of a list.
type choice struct {
	index int
	excerpt
}

// choose takes the best excerpts for room characters, and gives them in the order of the list.
func (p *picker) choose(list []Line, room int) []choice {
	h := make(choiceHeap, 0, len(list))
	for i, l := range list {
		if e := p.best(l); e.rate > 0 {
			h = append(h, choice{i, e})
		}
	}
	heap.Init(&h)
	var taken []choice
	for len(h) > 0 && room > minLine {
		top := h[0]
		l := list[top.index]
		if now := p.best(l); now != top.excerpt {
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
