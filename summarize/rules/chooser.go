package rules

import (
	"math"
	"slices"

	"precis/summarize/lex"
)

// chooser selects fragments by the worth of the identifiers they add, per character of cost: greedy
// weighted cover, with lazy evaluation, since a fragment's gain only falls as others are chosen.
type chooser struct {
	doc     *document
	words   *vocabulary
	covered []bool  // by identifier: a chosen fragment shows it
	shown   []int32 // the covered ones
	chosen  []bool  // by line
	groups  []bool  // files of matches with a chosen line
	opened  []bool  // by line: it is shown above a chosen one
	changed []bool  // by hunk: a change of it is chosen
	queue   bids
	opening bids      // the offers of open: upper bounds for every line
	lowered int       // how often the queue's first was out of date
	value   []float64 // by identifier: its worth in a line
	alone   []float64 // by identifier: its gain if nothing else is shown
	list    bids      // the identifiers that are worth listing
	left    bids      // those of them that are not listed yet
	remarks []float64 // by line: its worth apart from its identifiers

	shortNames elementNames // of a page
	sections   []section    // of the list
	dir        string       // of the last file that was added to it
	place      []int32      // by identifier: its section; none: it is named where it is
	above      []int        // the lines that are shown, in order
	named      []bool       // by gap between them: the list names something in it

	gains        [mostMentions]float64 // of the line being offered: the gain of each mention
	before, most [mostMentions + 1]float64
}

func newChooser(doc *document, words *vocabulary) *chooser {
	n := len(words.words)
	c := &chooser{
		doc: doc, words: words, covered: words.flags.Take(n), chosen: words.flags.Take(len(doc.lines)), opened: words.flags.Take(len(doc.lines)), changed: make([]bool, doc.pieces+1), groups: make([]bool, len(doc.groups)),
		value: words.floats.Take(n), alone: words.floats.Take(n),
	}
	for id := range words.words {
		c.value[id] = words.words[id].worth
		c.alone[id] = c.gain(int32(id))
	}
	if doc.shape == shapeSnapshot {
		c.shortNames = doc.namesOf()
	}
	c.list = c.listed()
	c.remarks = doc.remarks()
	c.divide()
	return c
}

// open offers every line. Between two openings identifiers only lose worth, so the offers of the first serve the second,
// unless most lines have the same words: then all offers would be out of date.
func (c *chooser) open() {
	c.uncover()
	clear(c.chosen)
	clear(c.opened)
	clear(c.changed)
	clear(c.groups)
	if c.opening == nil || c.lowered > len(c.opening)/4 {
		c.offerAll()
	}
	c.queue = append(c.queue[:0], c.opening...)
}

func (c *chooser) offerAll() {
	c.opening = slices.Grow(c.opening[:0], len(c.doc.lines))
	for i := range min(len(c.doc.lines), mostBids) {
		if o := c.offer(i); o.rate > 0 {
			c.opening = append(c.opening, newBid(i, o.rate))
		}
	}
	c.opening.init()
}

// pick is a chosen fragment and its size in the summary in characters, including its number and newline.
type pick struct {
	choice
	size int
}

// picks chooses the best fragments, one after another, for at most room characters.
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

// next returns the best remaining fragment that costs at most room; ok is false if none has a gain.
func (c *chooser) next(room int) (best choice, ok bool) {
	tooLong := 0
	for len(c.queue) > 0 && room > countedLine && tooLong < mostTooLong && (tooLong == 0 || !c.doc.commits) {
		now := c.offer(int(c.queue[0].of()))
		bid := newBid(now.line, now.rate)
		switch {
		case now.rate <= 0:
			c.queue.pop()
		case bid < c.queue[0]:
			c.queue.lower(bid)
			c.lowered++
		case c.cost(now.choice) > room:
			tooLong++
			c.queue.pop()
		default:
			c.queue.pop()
			return now.choice, true
		}
	}
	return choice{}, false
}

// mostTooLong is the number of fragments that don't fit after which the search stops.
const mostTooLong = 100

// choose takes a fragment. Its neighbours become cheaper (they need no number), so they are offered again.
func (c *chooser) choose(p choice) {
	c.coverFragment(p)
	c.chosen[p.line] = true
	c.openAbove(p.line)
	if g := c.doc.lines[p.line].group; g >= 0 {
		c.groups[g] = true
	}
	c.admit(p.line)
	for _, i := range []int{p.line - 1, p.line + 1} {
		if i < 0 || i >= min(len(c.doc.lines), mostBids) {
			continue
		}
		if o := c.offer(i); o.rate > 0 {
			c.queue.push(newBid(i, o.rate))
		}
	}
}

// openAbove notes that what opens a line's block is shown with it.
func (c *chooser) openAbove(line int) {
	for _, at := range c.doc.openers(line) {
		if at >= 0 {
			c.opened[at] = true
		}
	}
}

// unasked reports whether a line is around changes of which none is chosen.
func (c *chooser) unasked(i int) bool {
	return c.doc.lines[i].around && !c.changed[c.doc.lines[i].piece]
}

// admit offers what is around a chosen change: the lines of its hunk, and the one with the hunk's place.
func (c *chooser) admit(line int) {
	piece := c.doc.lines[line].piece
	if piece == 0 || c.doc.lines[line].around || c.changed[piece] {
		return
	}
	c.changed[piece] = true
	from, to := line, line+1
	for from > 0 && c.near(from-1, piece) {
		from--
	}
	for to < min(len(c.doc.lines), mostBids) && c.near(to, piece) {
		to++
	}
	for i := from; i < to; i++ {
		if !c.doc.lines[i].around || c.doc.lines[i].piece != piece {
			continue
		}
		if o := c.offer(i); o.rate > 0 {
			c.queue.push(newBid(i, o.rate))
		}
	}
}

// near reports whether a line may stand in a hunk: it is of that one, or of none, such as a remark on the end of the file.
func (c *chooser) near(i int, piece int32) bool {
	return c.doc.lines[i].piece == piece || c.doc.lines[i].piece == 0
}

// changesOf reads again of which hunks a change is shown: picks may be fewer than were chosen.
func (c *chooser) changesOf(picks []pick) {
	clear(c.changed)
	for _, p := range picks {
		if l := &c.doc.lines[p.line]; !l.around {
			c.changed[l.piece] = true
		}
	}
	c.changed[0] = false
}

// coverFragment marks a fragment's identifiers as shown.
func (c *chooser) coverFragment(p choice) {
	for _, m := range c.words.of(p.line) {
		if int(m.start) >= p.start && int(m.end) <= p.end {
			c.cover(m.id)
		}
	}
}

func (c *chooser) cover(id int32) {
	if !c.covered[id] {
		c.covered[id] = true
		c.shown = append(c.shown, id)
	}
}

// uncover marks nothing as shown.
func (c *chooser) uncover() {
	for _, id := range c.shown {
		c.covered[id] = false
	}
	c.shown = c.shown[:0]
}

// cost returns a fragment's size in the summary, in characters.
func (c *chooser) cost(p choice) int {
	l := &c.doc.lines[p.line]
	n := lex.Runes(l.text[p.start:p.end]) + c.overhead(p.line)
	if c.doc.clipped(p, false) {
		n += lex.Runes(lex.ClipMark)
	}
	if l.number == 0 && c.doc.within(p) {
		n += lex.Runes(innerMark)
	}
	if l.repeat > 0 {
		n += lex.Runes(lex.RepeatMark(l.repeat))
	}
	return n
}

// overhead returns what a summary line needs beside its text: a newline, a number, a line for its file.
func (c *chooser) overhead(i int) int {
	l := &c.doc.lines[i]
	n := 1
	if l.group >= 0 && !c.groups[l.group] {
		n += lex.Runes(c.doc.groupName(l.group)) + 1
		if l.group < len(c.doc.hits) && c.doc.hits[l.group] > 1 {
			n += lex.Runes(hitsMark(c.doc.hits[l.group]))
		}
	}
	for _, at := range c.doc.openers(i) {
		if at >= 0 && !c.chosen[at] && !c.opened[at] {
			n += lex.Runes(c.doc.lines[at].text) + 1
			if number := c.doc.lines[at].number; number > 0 {
				n += digits(number) + 1
			}
		}
	}
	if l.number == 0 {
		return n
	}
	if i > 0 && c.chosen[i-1] && c.doc.follows(i) {
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

// discount caps an identifier's worth in a line at its cost in the list of further
// identifiers, at the list's current rate: lines are for what the list can't say cheaply.
func (c *chooser) discount(rate float64) {
	for id := range c.words.words {
		w := &c.words.words[id]
		if w.seen || c.alone[id] <= 0 {
			continue
		}
		share := rate * float64(len(w.text)+3) / c.alone[id]
		if share > 1.001 {
			continue // its power would be above 1 too
		}
		f := math.Pow(share, 0.8)
		if f >= 1 {
			continue
		}
		c.value[id] = min(c.value[id], w.worth*f)
		for _, p := range c.words.partsOf(w) {
			c.value[p] = min(c.value[p], c.words.words[p].worth*f)
		}
	}
}

// choice is a fragment that is shown: text[start:end] of a line.
type choice struct {
	line, start, end int
}

// offer is a fragment with its gain per character.
type offer struct {
	choice
	rate float64
}

// bid is a line (or, for further identifiers, an identifier by number) with its gain per character when last computed,
// packed into one number: the greater comes first. The high bits are those of the rate, which order as
// positive floats do, without the last ones (a ten-billionth of it); the low bits are the line, greater for earlier ones.
type bid uint64

// mostBids bounds the lines that are offered: a bid's low bits hold its line. Only megabytes of data have more.
const (
	mostBids  = 1 << 20
	bidNumber = mostBids - 1
)

func newBid(of int, rate float64) bid {
	return bid(math.Float64bits(rate))<<1&^bidNumber | bid(^of)&bidNumber
}

func (b bid) of() int32 { return int32(^b & bidNumber) }

// bids is a heap with the first bid on top: container/heap's algorithm without its interfaces, which took a third of the time of a large file.
type bids []bid

// init establishes the heap order.
func (b bids) init() {
	for i := len(b)/2 - 1; i >= 0; i-- {
		b.down(i)
	}
}

// down moves a bid below those that precede it.
func (b bids) down(i int) {
	for below := 2*i + 1; below < len(b); below = 2*i + 1 {
		if right := below + 1; right < len(b) && b[right] > b[below] {
			below = right
		}
		if b[below] <= b[i] {
			return
		}
		b[i], b[below] = b[below], b[i]
		i = below
	}
}

func (b *bids) push(x bid) {
	*b = append(*b, x)
	h := *b
	for i := len(h) - 1; i > 0 && h[i] > h[(i-1)/2]; i = (i - 1) / 2 {
		h[i], h[(i-1)/2] = h[(i-1)/2], h[i]
	}
}

// pop removes the first bid.
func (b *bids) pop() {
	h := *b
	last := len(h) - 1
	h[0] = h[last]
	*b = h[:last]
	b.down(0)
}

// lower updates the first bid to its current gain.
func (b bids) lower(now bid) {
	b[0] = now
	b.down(0)
}
