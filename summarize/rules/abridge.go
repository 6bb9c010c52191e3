package rules

import (
	"slices"
	"strings"

	"precis/summarize/lex"
)

// abridge writes the facts, the chosen lines, further identifiers, and the mark of what is missing.
func abridge(in Input, doc *document, f *facts, header string, limit int) string {
	vocabulary := newVocabulary(doc, in.Earlier)
	defer vocabulary.release()
	vocabulary.weigh(doc, in)
	return abridgeWith(in, doc, vocabulary, f, header, limit)
}

func abridgeWith(in Input, doc *document, words *vocabulary, f *facts, header string, limit int) string {
	room := limit - lex.Runes(header)
	reserved := lex.Runes(in.left(doc, doc.total, doc.chars)) + 1
	marked := reserved <= limit/3 && reserved <= room
	if marked {
		room -= reserved
	}
	if doc.shape != shapeSnapshot { // where the element that was acted on is looked for
		words.shown(header)
	}
	if doc.prose && len(doc.landmarks) > 0 && strings.Contains(header, "Title: "+doc.landmarks[0].name) { // it is told
		doc.landmarks = doc.landmarks[1:]
	}
	sketched := strings.Count(header, "\n")
	doc.countErrors(f.same)
	c := newChooser(doc, words)
	d := c.draft(f, room, limit)
	body := doc.write(d.picks, nothing)
	// The lines that filled the last gaps may show identifiers from the list.
	d.further = c.further(d.picks, room-lex.Runes(body.text)-1).list
	for {
		names := ""
		if doc.placed {
			body = doc.write(d.picks, c.between(d.picks, d.further))
		} else {
			names = c.listing(d.further)
		}
		mark := ""
		if marked {
			mark = in.left(doc, doc.total-sketched-body.shown, max(doc.chars-body.kept, 1))
		}
		text := lex.JoinLines(header, body.text, names, mark)
		size := lex.Runes(text)
		switch {
		case size <= limit && (2*body.source >= size || len(d.further) == 0 && !c.swapUncounted(&d, limit, limit-size)):
			return text
		case size <= limit && len(d.further) == 0:
			body = doc.write(d.picks, nothing) // with another line
		case len(d.further) > 0:
			d.further = d.further[:len(d.further)-1]
		case len(d.picks) > 0:
			// A fragment's final size: its number is not printed if the line above is shown too.
			d.picks = d.picks[:len(d.picks)-1]
			body = doc.write(d.picks, nothing)
		default:
			return lex.Clip(text, limit)
		}
	}
}

// swapUncounted replaces the last fragment that is too short to count as a source line by one that counts, if the
// source has enough of those: a file of short lines must not end up with none.
func (c *chooser) swapUncounted(d *draft, limit, room int) bool {
	if c.doc.listing || c.countable(limit/2) < limit/2 {
		return false
	}
	for i := len(d.picks) - 1; i >= 0 && len(d.picks) > 1; i-- {
		if p := d.picks[i]; c.sourceChars(p) == 0 {
			d.picks = slices.Delete(d.picks, i, i+1)
			c.addCounted(d, room+p.size+c.dropUnasked(d))
			return true
		}
	}
	return false
}

// dropUnasked leaves out what is around changes of which none is shown, and returns how many characters that took.
func (c *chooser) dropUnasked(d *draft) (size int) {
	c.changesOf(d.picks)
	d.picks = slices.DeleteFunc(d.picks, func(p pick) bool {
		if !c.unasked(p.line) {
			return false
		}
		size += p.size
		return true
	})
	return size
}

// addCounted shows the next line that counts as a source line and fits.
func (c *chooser) addCounted(d *draft, room int) {
	for ; d.next < len(c.doc.lines); d.next++ {
		p := pick{choice: choice{line: d.next, end: len(c.doc.lines[d.next].text)}}
		p.size = c.cost(p.choice)
		if c.sourceChars(p) == 0 || c.doc.lines[d.next].aside || c.unasked(d.next) || slices.ContainsFunc(d.picks, func(q pick) bool { return q.line == p.line }) {
			continue
		}
		if p.size <= room {
			d.picks = append(d.picks, p)
			d.next++
		}
		return
	}
}

// countable returns how many characters the source has in lines that count; it stops once it reaches most.
func (c *chooser) countable(most int) int {
	n := 0
	for i := 0; i < len(c.doc.lines) && n < most; i++ {
		n += c.sourceChars(pick{choice: choice{line: i, end: len(c.doc.lines[i].text)}, size: lex.Runes(c.doc.lines[i].text) + 1})
	}
	return n
}

// draft is the content between the facts and the mark.
type draft struct {
	picks   []pick
	further []listed
	gain    float64 // the worth of all identifiers in it
	rate    float64 // the worth per character of the last further identifier
	left    int     // unused characters
	next    int     // the first line that addCounted has not decided
}

// draft chooses twice: the list of further identifiers after the first choice gives the worth of a
// character there, and so the identifiers that a line need not be chosen for. Urgent lines come first.
func (c *chooser) draft(f *facts, room, limit int) draft {
	c.open()
	d := c.attempt(f, room, limit)
	if d.rate > 0 {
		c.discount(d.rate)
		c.open()
		if second := c.attempt(f, room, limit); second.gain >= d.gain {
			d = second
		}
	}
	d.left -= c.widen(d.picks, d.left-1)
	d.picks = c.fill(d.picks, d.left-1)
	return d
}

// attempt chooses fragments, and drops as many of them for further identifiers as
// maximize the total worth, while source lines fill half of the summary.
func (c *chooser) attempt(f *facts, room, limit int) draft {
	places := c.placesRoom(f.urgent, room)
	picks := c.urgent(f.urgent, room-places)
	picks = append(picks, c.urgent(f.traces, room-places-sizeOf(picks))...)
	must := len(picks)
	picks = append(picks, c.picks(room-places-sizeOf(picks))...)
	best, chosen, left := further{gain: -1}, picks, 0
	try := func(list []pick) {
		size, lines := 0, 0
		for _, p := range list {
			size += p.size
			lines += c.sourceChars(p)
		}
		spare := room - size
		if lines*100 < limit*leastLines {
			spare = min(spare, lines*100/leastLines-(limit-room)-size)
		}
		if f := c.further(list, spare); f.gain >= best.gain {
			best, chosen, left = f, list, room-size-spare+f.left
		}
	}
	for n := max(must, c.enough(picks, limit)); n <= len(picks); n++ {
		try(picks[:n])
	}
	return draft{picks: slices.Clone(chosen), gain: best.gain, rate: best.rate, left: left}
}

// enough returns how many picks fill the minimum share of lines.
func (c *chooser) enough(picks []pick, limit int) int {
	lines := 0
	for n, p := range picks {
		if lines += c.sourceChars(p); lines*100 >= limit*leastLines {
			return n + 1
		}
	}
	return len(picks)
}

// leastLines is the minimum share of source lines in a summary, in percent: the list takes what is left. With 58
// a twentieth fewer of the declarations and headings are named, and the recall is the same.
const leastLines = 50

// sourceChars returns how many of a fragment's characters count as a source line.
func (c *chooser) sourceChars(p pick) int {
	if c.doc.lines[p.line].altered {
		return 0
	}
	if lex.Runes(withoutBullet(c.doc.lines[p.line].text[p.start:p.end])) < countedLine {
		return 0
	}
	return p.size - 1
}

// countedLine is the minimum length of a fragment that counts as a source line.
const countedLine = 12

func sizeOf(picks []pick) int {
	n := 0
	for _, p := range picks {
		n += p.size
	}
	return n
}
