package rules

import (
	"cmp"
	"slices"
	"strings"
)

// listed is a name in the list: an identifier, or a landmark that no chosen line shows.
type listed struct {
	line int
	text string
	id   int32 // none: it is not weighed
}

// further is the list of identifiers that no chosen line contains, and the gain of the list and the lines.
type further struct {
	list []listed
	gain float64
	rate float64 // of the last one taken
}

const furtherHead = "See "

// further lists identifiers to follow the given lines. A whole includes its parts.
func (c *chooser) further(picks []pick, room int) further {
	c.uncover()
	for _, p := range picks {
		c.coverFragment(p.choice)
	}
	f := further{gain: c.shownWorth()}
	c.left = append(c.left[:0], c.list...)
	queue := c.left
	room -= len(furtherHead) + 2
	marks := c.unshown(picks)
	for len(queue) > 0 && room > shortestSubword {
		id := queue[0].of()
		word := &c.words.words[id]
		rate := c.furtherRate(id)
		if len(marks) > 0 && c.markRate(marks[0]) >= rate {
			room -= c.listMark(&f, marks[0], room)
			marks = marks[1:]
			continue
		}
		if rate <= 0 || c.sizeOf(word) > room {
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
		f.list = slices.DeleteFunc(f.list, func(other listed) bool {
			if other.id == none || !slices.Contains(c.words.partsOf(word), other.id) {
				return false
			}
			room += c.listedSize(other.line, other.text)
			return true
		})
		f.list = append(f.list, listed{int(word.first), word.text, id})
		room -= c.sizeOf(word)
	}
	for _, m := range marks {
		room -= c.listMark(&f, m, room)
	}
	return f
}

// unshown returns the landmarks that no chosen line shows, those worth most per character first.
func (c *chooser) unshown(picks []pick) []landmark {
	if len(c.landmarks) == 0 {
		return nil
	}
	left := slices.DeleteFunc(slices.Clone(c.landmarks), func(m landmark) bool {
		return slices.ContainsFunc(picks, func(p pick) bool {
			return p.line == m.line || m.file && c.doc.lines[p.line].group == c.doc.lines[m.line].group
		})
	})
	slices.SortStableFunc(left, func(a, b landmark) int { return cmp.Compare(c.markRate(b), c.markRate(a)) })
	return left
}

func (c *chooser) markRate(m landmark) float64 {
	return c.markWorth(m) / float64(c.listedSize(m.line, m.name))
}

// markWorth is the worth of naming a landmark.
func (c *chooser) markWorth(m landmark) float64 {
	if id := c.words.find(m.name); id != none {
		return m.worth + c.gain(id)
	}
	return m.worth
}

// listMark adds a landmark to the list if it fits, and returns its size.
func (c *chooser) listMark(f *further, m landmark, room int) int {
	size := c.listedSize(m.line, m.name)
	if size > room {
		return 0
	}
	f.gain += c.markWorth(m)
	if id := c.words.find(m.name); id != none {
		c.coverWord(id)
	}
	f.list = append(f.list, listed{m.line, m.name, none})
	return size
}

// listing formats names by the lines where they are first: `See 12 openStore, 88 segmentPath, write_entry`.
func (c *chooser) listing(list []listed) string {
	if len(list) == 0 {
		return ""
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b listed) int { return a.line - b.line })
	var b strings.Builder
	b.WriteString(furtherHead)
	last := 0
	for i, x := range list {
		if i > 0 {
			b.WriteString(", ")
		}
		if n := c.doc.lines[x.line].at; n > 0 && n != last {
			b.WriteString(itoa(n))
			b.WriteByte(' ')
			last = n
		}
		b.WriteString(x.text)
	}
	return b.String()
}

// listedSize is what a name takes in the list, in characters.
func (c *chooser) listedSize(line int, text string) int {
	n := len(text) + 2
	if at := c.doc.lines[line].at; at > 0 {
		n += digits(at) + 1
	}
	return n
}

func (c *chooser) sizeOf(w *word) int { return c.listedSize(int(w.first), w.text) }

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
	return c.gain(id) / float64(c.sizeOf(&c.words.words[id]))
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
