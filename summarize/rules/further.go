package rules

import (
	"slices"
	"strings"

	"precis/summarize/lex"
)

// listed is a name in the list: an identifier, or (if it has none) the landmark of its section.
type listed struct {
	section int32
	line    int
	text    string
	id      int32
}

// further is the list of names that no chosen line contains, in the order in which they were chosen, and the gain of the
// list and the lines.
type further struct {
	list []listed
	gain float64
	rate float64 // of the last identifier taken
}

const furtherHead = "See "

// further lists names to follow the given lines: landmarks that they don't show, and identifiers, each under the landmark
// it belongs to. A whole includes its parts.
func (c *chooser) further(picks []pick, room int) further {
	c.uncover()
	for _, p := range picks {
		c.coverFragment(p.choice)
	}
	c.show(picks)
	f := further{gain: c.shownWorth()}
	c.left = append(c.left[:0], c.list...)
	queue := c.left
	room -= len(furtherHead)
	marks := c.unshown()
	for len(queue) > 0 && room > shortestSubword {
		id := queue[0].of()
		rate, size := c.furtherRate(id)
		if rate <= 0 || size > room {
			queue.pop()
			continue
		}
		if now := newBid(int(id), rate); now < queue[0] {
			queue.lower(now)
			continue
		}
		for len(marks) > 0 && c.sections[marks[0]].open {
			marks = marks[1:]
		}
		if len(marks) > 0 && c.markRate(marks[0]) >= rate {
			room -= c.listMark(&f, marks[0], room)
			marks = marks[1:]
			continue
		}
		queue.pop()
		room -= size + c.listWord(&f, id)
		f.rate = rate
	}
	for _, m := range marks {
		if !c.sections[m].open {
			room -= c.listMark(&f, m, room)
		}
	}
	return f
}

// listWord adds an identifier to the list, below its landmark, and removes its parts; it returns what that changes in the
// list's size, beside the identifier's own.
func (c *chooser) listWord(f *further, id int32) (size int) {
	word := &c.words.words[id]
	at := c.place[id]
	if !c.sections[at].open {
		c.openSection(f, at)
	}
	f.gain += c.gain(id)
	c.coverWord(id)
	f.list = slices.DeleteFunc(f.list, func(other listed) bool {
		if other.id == none || !slices.Contains(c.words.partsOf(word), other.id) {
			return false
		}
		size -= lex.Runes(other.text) + 1
		return true
	})
	f.list = append(f.list, listed{at, int(word.first), c.label(word), id})
	return size
}

// label is what the list says of an identifier: of an element of a page that a user can act on also its name.
func (c *chooser) label(w *word) string {
	if c.doc.shape != shapeSnapshot || c.doc.lines[w.first].favour != actWorth {
		return w.text
	}
	const longestName = 12
	e, _ := elementIn(c.doc.lines[w.first].text)
	return w.text + " " + lex.Clip(e.name, longestName)
}

// listMark adds a landmark to the list if it fits, and returns its size.
func (c *chooser) listMark(f *further, m int32, room int) int {
	size := c.headSize(m)
	if size > room {
		return 0
	}
	c.openSection(f, m)
	return size
}

// furtherRate returns the gain of listing an identifier, for each character that it takes with its landmark, if that is
// not in the list yet.
func (c *chooser) furtherRate(id int32) (rate float64, size int) {
	gain := c.gain(id)
	if gain <= 0 {
		return 0, 0
	}
	word := &c.words.words[id]
	size = lex.Runes(c.label(word)) + 1
	if c.doc.shape == shapeSnapshot && c.doc.lines[word.first].favour == actWorth {
		gain *= actWorth
	}
	if at := c.place[id]; !c.sections[at].open {
		size += c.headSize(at) + 1
		gain += c.markWorth(at)
	}
	return gain / float64(size), size
}

// shownWorth returns the worth of everything that is covered, and of the landmarks that lines show.
func (c *chooser) shownWorth() float64 {
	slices.Sort(c.shown) // a sum of floats depends on the order
	sum := 0.0
	for _, id := range c.shown {
		sum += c.words.words[id].worth
	}
	for i := range c.sections {
		if s := &c.sections[i]; s.shown && s.name != "" {
			sum += s.worth
		}
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
		if r := c.gain(int32(id)) / float64(len(w.text)+1); r > 0 {
			all = append(roomy(all), newBid(id, r))
		}
	}
	all.init()
	best := make(bids, 0, min(len(all), mostListed))
	series := map[uint64]int{}
	for len(all) > 0 && len(best) < mostListed {
		if text := c.words.words[all[0].of()].text; digitAt(text) < 0 || c.doc.shape == shapeJSON || c.doc.shape == shapeSnapshot || c.doc.listing {
			best = append(best, all[0])
		} else if kind := maskedHash(text); series[kind] < mostOfSeries {
			series[kind]++
			best = append(best, all[0])
		}
		all.pop()
	}
	return best
}

// mostOfSeries is how many identifiers that differ in digits only are listed: more of them tell nothing.
const mostOfSeries = 4

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
	if c.doc.shape == shapeSnapshot {
		l := &c.doc.lines[w.first]
		e, _ := elementIn(l.text)
		return !l.dull() && e.name != "" && (strings.HasPrefix(l.text, "["+w.text+"] ") || strings.Contains(l.text, "[ref="+w.text+"]"))
	}
	if c.doc.listing && strings.IndexByte(w.text, '/') >= 0 {
		return false // whole paths are lines
	}
	if c.doc.shape == shapeJSON {
		return w.look&isDate == 0 || len(w.text) >= len("00:00:00") // "12T09" is part of a time
	}
	return w.look&(isDigits|isDate) == 0
}

func digitAt(s string) int { return strings.IndexAny(s, "0123456789") }
