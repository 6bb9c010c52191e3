package rules

import (
	"math"
)

// chooser picks fragments by the worth of the identifiers they add, per character they cost: greedy
// weighted cover, with lazy evaluation, since what a fragment adds only falls as others are chosen.
type chooser struct {
	doc     *document
	words   *vocabulary
	covered []bool // by identifier: a chosen fragment shows it
	chosen  map[int]choice
	groups  map[int]bool // files of matches that have a line chosen
	queue   offers
	value   []float64 // by identifier: what showing it in a line is worth
	list    offers    // the identifiers that are worth listing, in no order
	remarks []float64 // by line: what it is worth beside its identifiers
}

func newChooser(doc *document, words *vocabulary) *chooser {
	c := &chooser{doc: doc, words: words, covered: make([]bool, len(words.words)), chosen: map[int]choice{}, groups: map[int]bool{}}
	c.value = make([]float64, len(words.words))
	for id := range words.words {
		c.value[id] = words.words[id].worth
	}
	c.list = c.listed()
	c.remarks = doc.remarks()
	return c
}

// open offers every line.
func (c *chooser) open() {
	clear(c.covered)
	clear(c.chosen)
	clear(c.groups)
	c.queue = c.queue[:0]
	for i := range c.doc.lines {
		if o := c.offer(i); o.rate > 0 {
			c.queue = append(c.queue, o)
		}
	}
	c.queue.init()
}

// pick is a chosen fragment and the characters it takes in the summary, with its number and newline.
type pick struct {
	choice
	size int
}

// picks takes the best fragments, one after the other, for at most room characters.
func (c *chooser) picks(room int) []pick {
	var list []pick
	for room > 0 {
		next, ok := c.next(room)
		if !ok {
			break
		}
		p := pick{choice: next, size: c.cost(next)}
		room -= p.size
		list = append(list, p)
		c.choose(next)
	}
	return list
}

// next is the best fragment left that costs at most room; ok is false where none brings anything.
func (c *chooser) next(room int) (best choice, ok bool) {
	tooLong := 0
	for len(c.queue) > 0 && room > countedLine && tooLong < mostTooLong {
		now := c.offer(c.queue[0].line)
		switch {
		case now.rate <= 0:
			c.queue.pop()
		case c.cost(now.choice) > room:
			tooLong++
			c.queue.pop()
		case now.rate < c.queue[0].rate:
			c.queue.lower(now)
		default:
			c.queue.pop()
			return now.choice, true
		}
	}
	return choice{}, false
}

// mostTooLong is after how many fragments that do not fit no more are looked at.
const mostTooLong = 100

// choose takes a fragment. Its neighbours get cheaper by it (they need no number), so they are offered again.
func (c *chooser) choose(p choice) {
	c.cover(p)
	c.chosen[p.line] = p
	if g := c.doc.lines[p.line].group; g >= 0 {
		c.groups[g] = true
	}
	for _, i := range []int{p.line - 1, p.line + 1} {
		if i < 0 || i >= len(c.doc.lines) {
			continue
		}
		if o := c.offer(i); o.rate > 0 {
			c.queue.push(o)
		}
	}
}

// cover counts a fragment's identifiers as shown.
func (c *chooser) cover(p choice) {
	for _, m := range c.words.of(p.line) {
		if int(m.start) >= p.start && int(m.end) <= p.end {
			c.covered[m.id] = true
		}
	}
}

// cost is what a fragment takes in the summary, in characters.
func (c *chooser) cost(p choice) int {
	l := &c.doc.lines[p.line]
	n := runes(l.text[p.start:p.end]) + c.overhead(p.line)
	if c.doc.clipped(p, false) {
		n += runes(clipMark)
	}
	if l.number == 0 && c.doc.within(p) {
		n += runes(innerMark)
	}
	if l.repeat > 0 {
		n += runes(repeatMark(l.repeat))
	}
	return n
}

// overhead is what a line of the summary has beside its text: a newline, a number, its file's own line.
func (c *chooser) overhead(i int) int {
	l := &c.doc.lines[i]
	n := 1
	if l.group >= 0 && !c.groups[l.group] {
		n += runes(c.doc.groups[l.group]) + 1
	}
	if l.number == 0 {
		return n
	}
	if _, ok := c.chosen[i-1]; ok && c.doc.follows(i) {
		return n + 1
	}
	return n + digits(l.number) + 1
}

func digits(n int) int {
	d := 1
	for ; n >= 10; n /= 10 {
		d++
	}
	return d
}

// discount lowers what an identifier is worth in a line to what it would cost in the list of further
// identifiers, at the list's going rate: lines are for what the list can't say cheaply.
func (c *chooser) discount(rate float64) {
	for id := range c.words.words {
		c.value[id] = c.words.words[id].worth
	}
	clear(c.covered)
	for id := range c.words.words {
		w := &c.words.words[id]
		if w.seen {
			continue
		}
		gain := c.gain(int32(id))
		if gain <= 0 {
			continue
		}
		f := math.Pow(rate*float64(len(w.text)+1)/gain, 0.8)
		if f >= 1 {
			continue
		}
		c.value[id] = min(c.value[id], w.worth*f)
		for _, p := range w.parts {
			c.value[p] = min(c.value[p], c.words.words[p].worth*f)
		}
	}
}
