package rules

import (
	"slices"
	"strings"
)

// further is the list of identifiers that no chosen line has, and what is gained by it and the lines.
type further struct {
	text string
	gain float64
	rate float64 // of the last one taken
}

const furtherHead = "Also: "

// further lists identifiers behind the given lines: `Also: a b c`. A whole brings its parts with it.
func (c *chooser) further(picks []pick, room int) further {
	clear(c.covered)
	for _, p := range picks {
		c.cover(p.choice)
	}
	f := further{gain: c.shownWorth()}
	queue := slices.Clone(c.list)
	queue.init()
	var list []int32
	for room -= len(furtherHead) + 1; len(queue) > 0; {
		now := queue[0]
		now.rate = c.furtherRate(int32(now.line))
		word := &c.words.words[now.line]
		if now.rate <= 0 || len(word.text)+1 > room {
			queue.pop()
			continue
		}
		if now.rate < queue[0].rate {
			queue.lower(now)
			continue
		}
		queue.pop()
		f.gain += c.gain(int32(now.line))
		f.rate = now.rate
		c.coverWord(int32(now.line))
		list = slices.DeleteFunc(list, func(id int32) bool {
			if !slices.Contains(word.parts, id) {
				return false
			}
			room += len(c.words.words[id].text) + 1
			return true
		})
		list = append(list, int32(now.line))
		room -= len(word.text) + 1
	}
	for _, id := range list {
		f.text += " " + c.words.words[id].text
	}
	if f.text != "" {
		f.text = furtherHead + f.text[1:]
	}
	return f
}

// shownWorth is the worth of what is covered.
func (c *chooser) shownWorth() float64 {
	sum := 0.0
	for id, ok := range c.covered {
		if ok {
			sum += c.words.words[id].worth
		}
	}
	return sum
}

// mostListed bounds the identifiers that are considered for the list: a multiple of what it has room for.
const mostListed = 400

// listed are the identifiers that bring most per character where nothing else is shown.
func (c *chooser) listed() offers {
	var all offers
	for id := range c.words.words {
		w := &c.words.words[id]
		if w.seen && w.how&isName == 0 || !c.listable(w) {
			continue
		}
		if r := c.furtherRate(int32(id)); r > 0 {
			all = append(all, offer{choice: choice{line: id}, rate: r})
		}
	}
	if len(all) <= mostListed {
		return all
	}
	all.init()
	best := make(offers, 0, mostListed)
	for len(best) < mostListed {
		best = append(best, all[0])
		all.pop()
	}
	return best
}

func (c *chooser) furtherRate(id int32) float64 {
	return c.gain(id) / float64(len(c.words.words[id].text)+1)
}

// gain is what showing an identifier, and so its parts, adds.
func (c *chooser) gain(id int32) float64 {
	gain := 0.0
	if !c.covered[id] {
		gain = c.words.words[id].worth
	}
	for _, p := range c.words.words[id].parts {
		if !c.covered[p] {
			gain += c.words.words[p].worth
		}
	}
	return gain
}

func (c *chooser) coverWord(id int32) {
	c.covered[id] = true
	for _, p := range c.words.words[id].parts {
		c.covered[p] = true
	}
}

// listable tells what says something outside its line: a number, a time or a date does so in data only, the rest of an
// escape ("\nError" gives nError) nowhere.
func (c *chooser) listable(w *word) bool {
	if w.how&(isEscaped|isStem) != 0 {
		return false
	}
	if c.doc.listing && strings.IndexByte(w.text, '/') >= 0 {
		return false // whole paths are lines
	}
	var x vector
	form(w.text, &x)
	if c.doc.shape == shapeJSON {
		return x[fDate] == 0 || len(w.text) >= len("00:00:00") // "12T09" is a piece of a time
	}
	return x[fDigits] == 0 && x[fDate] == 0
}
