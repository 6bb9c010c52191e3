package rules

import (
	"slices"
	"strings"
)

// further is the list of identifiers that no chosen line contains, and the gain of the list and the lines.
type further struct {
	ids  []int32
	gain float64
	rate float64 // of the last one taken
}

const furtherHead = "Also: "

// further lists identifiers to follow the given lines. A whole includes its parts.
func (c *chooser) further(picks []pick, room int) further {
	c.uncover()
	for _, p := range picks {
		c.coverFragment(p.choice)
	}
	f := further{gain: c.shownWorth()}
	c.left = append(c.left[:0], c.list...)
	queue := c.left
	for room -= len(furtherHead) + 1; len(queue) > 0 && room > shortestSubword; {
		id := queue[0].of()
		word := &c.words.words[id]
		rate := c.furtherRate(id)
		if rate <= 0 || len(word.text)+1 > room {
			queue.pop()
			continue
		}
		if now := newBid(int(id), rate); now < queue[0] {
			queue.lower(now)
			continue
		}
		queue.pop()
		f.gain += c.gain(id)
		f.rate = rate
		c.coverWord(id)
		f.ids = slices.DeleteFunc(f.ids, func(other int32) bool {
			if !slices.Contains(c.words.partsOf(word), other) {
				return false
			}
			room += len(c.words.words[other].text) + 1
			return true
		})
		f.ids = append(f.ids, id)
		room -= len(word.text) + 1
	}
	return f
}

// listing formats identifiers: `Also: a b c`.
func (c *chooser) listing(ids []int32) string {
	if len(ids) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(furtherHead)
	for i, id := range ids {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(c.words.words[id].text)
	}
	return b.String()
}

// shownWorth returns the worth of everything that is covered.
func (c *chooser) shownWorth() float64 {
	slices.Sort(c.shown) // a sum of floats depends on the order
	sum := 0.0
	for _, id := range c.shown {
		sum += c.words.words[id].worth
	}
	return sum
}

// mostListed bounds the identifiers considered for the list: a multiple of what fits.
const mostListed = 400

// listed returns the identifiers with the highest gain per character if nothing else is shown.
func (c *chooser) listed() bids {
	all := make(bids, 0, min(len(c.words.words), 4*mostListed))
	for id := range c.words.words {
		w := &c.words.words[id]
		if w.seen && w.how&isName == 0 || !c.listable(w) {
			continue
		}
		if r := c.furtherRate(int32(id)); r > 0 {
			all = append(roomy(all), newBid(id, r))
		}
	}
	all.init()
	if len(all) <= mostListed {
		return all
	}
	best := make(bids, 0, mostListed)
	for len(best) < mostListed {
		best = append(best, all[0])
		all.pop()
	}
	return best
}

func (c *chooser) furtherRate(id int32) float64 {
	return c.gain(id) / float64(len(c.words.words[id].text)+1)
}

// gain returns the gain of showing an identifier, and with it its parts.
func (c *chooser) gain(id int32) float64 {
	gain := 0.0
	if !c.covered[id] {
		gain = c.words.words[id].worth
	}
	for _, p := range c.words.partsOf(&c.words.words[id]) {
		if !c.covered[p] {
			gain += c.words.words[p].worth
		}
	}
	return gain
}

func (c *chooser) coverWord(id int32) {
	c.cover(id)
	for _, p := range c.words.partsOf(&c.words.words[id]) {
		c.cover(p)
	}
}

// listable reports whether an identifier is useful outside its line: a number, a time or a date only in data, the rest of
// an escape ("\nError" gives nError) never.
func (c *chooser) listable(w *word) bool {
	if w.how&(isEscaped|isStem) != 0 {
		return false
	}
	if c.doc.listing && strings.IndexByte(w.text, '/') >= 0 {
		return false // whole paths are lines
	}
	if c.doc.shape == shapeJSON {
		return w.look&isDate == 0 || len(w.text) >= len("00:00:00") // "12T09" is part of a time
	}
	return w.look&(isDigits|isDate) == 0
}
