package rules

import (
	"math"
	"strings"

	"precis/summarize/lex"
	"precis/summarize/rules/outline"
	"precis/summarize/rules/words"
	"precis/summarize/verdict"
)

const (
	// lineCost is added to every fragment's cost, in characters: a few long ones read
	// better than many short ones, at no loss in the figures.
	lineCost = 4
	// shortest is the minimum shown of a longer line, in bytes.
	shortest = 26
	// tail is the remainder that is not worth cutting off, in bytes.
	tail = 4
	// endCost is the cost of a cut at the end of a line, startCost that at its beginning: whole lines read
	// better. Higher costs cut fewer lines: a quarter of the shown lines with 12 and 9, a fifth with these,
	// for 0.006 of the recall.
	endCost, startCost = 22, 22
	// shortLine is the length up to which a line is never cut, in bytes.
	shortLine = 50
	// wholeLine is that of a file.
	wholeLine = 100
	// islandCost is the cost of a line of a file that stands apart and declares nothing: blocks read better than scattered statements. A cost of 12
	// takes 0.006 of the recall.
	islandCost = 3
	// bridgeGain is what a line between two that are shown is cheaper when lines are chosen: only its text counts.
	bridgeGain = lineCost + 2
	// openWorth is the worth of the line below one that opens something, pairWorth that of the new line below an old one. With 0.1 for both, the recall
	// is lower by 0.003.
	openWorth, pairWorth = 0.02, 0.05
	// enterable is the minimum length of a line whose fragments may begin in the middle, in bytes. With 30 for lines of code, an
	// eighth of the shown lines had no beginning, for 0.002 of the recall.
	enterable = 90
	// mostMentions bounds the work for one fragment.
	mostMentions = 64
)

// offer returns the part of a line with the highest gain per character; its rate is 0 if the line is already
// chosen or has no gain.
func (c *chooser) offer(i int) offer {
	best := offer{choice: choice{line: i}}
	if c.chosen[i] || c.doc.lines[i].aside || c.unasked(i) {
		return best
	}
	mentions := c.words.of(i)
	mentions = mentions[:min(len(mentions), mostMentions)]
	gains := c.gains[:len(mentions)]
	extra := c.remarks[i] + c.openedWorth(i)
	if !c.adds(mentions, gains) && extra == 0 {
		return best
	}
	if f := c.doc.favour(i); f != 1 {
		for k := range gains {
			gains[k] *= f
		}
	}
	text := c.doc.lines[i].text
	base := c.overhead(i) + lineCost + c.islandCost(i)
	c.grow(&best, text, mentions, gains, 0, 0, base)
	c.remark(&best, i, mentions, gains, base, extra)
	if !c.doc.enters(&c.doc.lines[i]) {
		return best
	}
	c.enter(&best, text, mentions, gains, base+startCost)
	return best
}

// islandCost is what a line of a file costs for where it stands: apart from what is shown, unless it declares something, or between two such lines.
func (c *chooser) islandCost(i int) int {
	l := &c.doc.lines[i]
	above, below := i > 0 && c.chosen[i-1], i+1 < len(c.chosen) && c.chosen[i+1]
	switch {
	case !c.doc.placed:
	case above && below && c.doc.follows(i):
		return -bridgeGain
	case !above && !below && l.mark == 0 && !l.declares:
		return islandCost
	}
	return 0
}

// openedWorth is the worth of what a chosen line says only a half of: of code, the line below one that opens something (`fields := []string{`); of a diff,
// the new line for an old one.
func (c *chooser) openedWorth(i int) float64 {
	if i == 0 || !c.chosen[i-1] {
		return 0
	}
	above, l := &c.doc.lines[i-1], &c.doc.lines[i]
	switch {
	case c.doc.shape == shapeDiff && l.starts && strings.HasPrefix(l.text, "+") && strings.HasPrefix(above.text, "-"):
		return pairWorth
	case !c.doc.steps || !c.doc.follows(i) || l.kind == outline.CommentLine || len(l.text) <= 2 || above.text == "" || above.mark > 0 && above.mark < len(above.text):
		return 0
	case strings.IndexByte("([{=,:", above.text[len(above.text)-1]) < 0:
		return 0
	}
	return openWorth * float64(len(l.text)) / shortLine
}

// enter tries the fragments that begin within the line, at an identifier that may beat the best so far.
func (c *chooser) enter(best *offer, text string, mentions []mention, gains []float64, base int) {
	// From start a to end k the gain is before[k+1]-before[a], for at least mentions[k].end-mentions[a].start+base
	// characters: better than the best rate only if before[k+1]-rate*end is more than before[a]-rate*(start-base).
	before, most := &c.before, &c.most
	for k := range mentions {
		before[k+1] = before[k] + gains[k]
	}
	most[len(mentions)] = math.Inf(-1)
	for k := len(mentions) - 1; k >= 0; k-- {
		most[k] = max(most[k+1], before[k+1]-best.rate*float64(mentions[k].end))
	}
	const rounding = 1e-9
	for a, m := range mentions {
		if gains[a] == 0 || int(m.start) < tail || most[a]+rounding < before[a]-best.rate*float64(int(m.start)-base) {
			continue
		}
		if start := naturalStart(text, int(m.start)); start > 0 {
			c.grow(best, text, mentions, gains, a, start, base)
		}
	}
}

// beginsSentence reports whether a part of a line can stand alone: a line of sentences is entered only where one begins.
func beginsSentence(text string, start int) bool {
	before := strings.TrimRight(text[:start], " *_`\"(")
	return before == "" || strings.IndexByte(".!?:;|{}", before[len(before)-1]) >= 0 || !strings.Contains(text, ". ") && !strings.Contains(text, ", ")
}

// remark offers the whole line, or the head of a record, for its worth apart from its identifiers.
func (c *chooser) remark(best *offer, i int, mentions []mention, gains []float64, base int, gain float64) {
	if gain == 0 {
		return
	}
	text := c.doc.lines[i].text
	size := len(text)
	if mark := c.doc.lines[i].mark; mark > 0 {
		size = mark
	} else if c.doc.shape == shapeJSON && size > recordHead && c.doc.lines[i].record == noRecord {
		ends := ends{doc: c.doc, text: text}
		size = ends.end(recordHead)
	}
	for k, m := range mentions {
		if int(m.end) <= size {
			gain += gains[k]
		}
	}
	if rate := gain / float64(max(1, size+base)); rate > best.rate {
		best.rate, best.start, best.end = rate, 0, size
	}
}

// recordHead is how much of a data record identifies it, in bytes.
const recordHead = 60

// adds computes the gain of a line's mentions, each identifier once, and reports whether there is any.
func (c *chooser) adds(mentions []mention, gains []float64) (any bool) {
	for k, m := range mentions {
		if c.covered[m.id] || m.again {
			gains[k] = 0
			continue
		}
		gains[k] = c.value[m.id]
		any = any || gains[k] > 0
	}
	return any
}

// grow tries the ends of a fragment from start on, whose first identifier is mentions[a].
func (c *chooser) grow(best *offer, text string, mentions []mention, gains []float64, a, start, base int) {
	gain, tried := 0.0, 0.0
	ends := ends{doc: c.doc, text: text}
	whole := c.doc.listing || len(text) <= shortLine || c.doc.shape == shapeSnapshot || c.doc.placed && len(text) <= wholeLine
	if start > 0 && len(text)-start < countedLine {
		return
	}
	for k := a; k < len(mentions); k++ {
		gain += gains[k]
		if k+1 < len(mentions) && mentions[k+1].end <= mentions[k].end || gain == tried {
			continue // the parts of a whole come with it; a fragment does not end on a mention without gain
		}
		tried = gain
		end := len(text)
		if !whole {
			least := max(int(mentions[k].end), start+countedLine)
			if gain/float64(least-start+base) <= best.rate {
				continue // its exact end does not matter
			}
			end = undangled(text, ends.end(max(int(mentions[k].end), start+shortest)), least)
		}
		cost := end - start + base
		if end < len(text) {
			cost += endCost
		}
		if rate := gain / float64(cost); rate > best.rate {
			best.rate, best.start, best.end = rate, start, end
		}
	}
}

// ends finds the possible ends of a line's fragments, from left to right.
type ends struct {
	doc    *document
	text   string
	at     int
	quoted bool // position at is within a string
}

// end returns a possible end at or after i: in data, after the value. Calls must not decrease i.
func (e *ends) end(i int) int {
	if e.doc.shape == shapeJSON {
		i = e.valueEnd(i)
	}
	if e.doc.prose {
		return clauseEnd(e.text, naturalEnd(e.text, i))
	}
	return qualified(e.text, naturalEnd(e.text, i))
}

// qualified moves a cut behind the bracket that follows, which may say the opposite: `Completed (pending)`.
func qualified(text string, i int) int {
	const near = 44
	if strings.HasPrefix(text[i:], " (") || strings.HasPrefix(text[i:], " [") {
		if n := strings.IndexAny(text[i:min(len(text), i+near)], ")]"); n >= 0 {
			return naturalEnd(text, i+n+1)
		}
	}
	return i
}

// clauseEnd moves a cut in prose to the end of the clause, if that is near: a sentence says nothing without its verb.
func clauseEnd(text string, i int) int {
	const near, stops = 60, ".;:,!?)"
	for k := i; k < min(len(text), i+near); k++ {
		if strings.IndexByte(stops, text[k]) >= 0 && (k+1 == len(text) || text[k+1] == ' ') {
			return k + 1
		}
	}
	if len(text)-i < near {
		return len(text)
	}
	for i < len(text) && text[i] == '*' { // of an emphasis
		i++
	}
	return i
}

// valueEnd returns the position after the closing quote if i is within a string that ends soon; else i.
func (e *ends) valueEnd(i int) int {
	if i >= len(e.text) {
		return i
	}
	for ; e.at < i; e.at++ {
		switch e.text[e.at] {
		case '\\':
			e.at++
		case '"':
			e.quoted = !e.quoted
		}
	}
	if e.at > i && !e.quoted {
		return i
	}
	quoted := e.quoted
	for k := e.at; k < min(len(e.text), i+longestValue); k++ {
		switch e.text[k] {
		case '\\':
			k++
		case '"':
			quoted = !quoted
			if !quoted {
				return k + 1
			}
		}
		if !quoted {
			return i
		}
	}
	return i
}

// longestValue is how far a cut in data moves to show a whole value, in bytes.
const longestValue = 40

// undangled moves the end of a fragment back before a trailing opener: a bracket, a quote, a comma.
func undangled(text string, end, least int) int {
	for end > least && end < len(text) {
		c, before := text[end-1], byte(' ')
		if end > 1 {
			before = text[end-2]
		}
		quote := c == '"' || c == '\'' || c == '`'
		if !opens[c] && (!quote || !precedes[before]) {
			break
		}
		end--
	}
	return end
}

// naturalEnd returns the first good place for a cut at or after i: after a word and the brackets
// that it closes, or the end if little is left.
func naturalEnd(text string, i int) int {
	for i < len(text) && (text[i] >= 0x80 || i > 0 && lex.WordByte[text[i-1]] && (lex.WordByte[text[i]] || joined(text, i))) {
		i++
		if i < len(text) && words.Joint(text[i-1]) {
			i++
		}
	}
	for i < len(text) && closes[text[i]] {
		i++
	}
	if len(text)-i < tail {
		return len(text)
	}
	return i
}

// Characters around words.
var (
	opens    = lex.SetOf(" ,;:([{=<|&+")
	precedes = lex.SetOf(" ,:([{=") // an opening quote
	closes   = lex.SetOf(")]}\"'`;,:")
	begins   = lex.SetOf("\"'`([{<*&$@#!-./~\\")
)

// joined reports whether a joint at i continues a path or a dotted name.
func joined(text string, i int) bool {
	return words.Joint(text[i]) && i+1 < len(text) && lex.WordByte[text[i+1]]
}

// naturalStart returns the place at or before i where a fragment may begin: with the scheme, quote, bracket or
// sign of its first word; 0: none, since it would begin within a joined word.
func naturalStart(text string, i int) int {
	if i > 1 && words.Joint(text[i-1]) && lex.WordByte[text[i-2]] {
		return 0 // what is left would read as another path
	}
	if strings.HasSuffix(text[:i], "://") {
		i -= len("://")
		for i > 0 && lex.IsLower(text[i-1]) {
			i--
		}
	}
	for n := 0; i > 0 && n < 4 && begins[text[i-1]]; n++ {
		i--
	}
	if !beginsSentence(text, i) {
		return 0
	}
	return i
}

// enters reports whether a fragment may begin within a line: long ones of code and commands. Prose and data
// would lose their meaning.
func (d *document) enters(l *line) bool {
	switch {
	case len(l.text) < enterable || l.columns || d.listing || d.prose || d.shape == shapeJSON || d.shape == shapeDiff:
		return false
	case d.noisy:
		return !verdict.NamesPassed(l.text)
	case l.declares:
		return false
	}
	return l.number > 0 // the rest is tables, and a tool's own remarks
}

const (
	// relevantWorth is the factor for a line in the event's relevant range.
	relevantWorth = 8
	// alteredWorth is the factor for a line that is not shown exactly as in the source.
	alteredWorth = 0.5
	// commentWorth is that for a comment in code: half a sentence of one says less than what the code does.
	commentWorth = 0.6
)

// favour returns the factor on a line's worth.
func (d *document) favour(i int) float64 {
	l := &d.lines[i]
	f := 1.0
	if d.relevant != nil && l.number >= d.relevant.Start && l.number <= d.relevant.End {
		f = relevantWorth
	}
	if d.shape == shapeSnapshot && l.dull() || d.shape == shapeDiff && !l.starts { // a part without a sign would not tell what changed
		return 0
	}
	if l.favour > 0 {
		f *= float64(l.favour)
	}
	if d.steps && l.kind == outline.CommentLine {
		f *= commentWorth
	}
	if l.altered {
		f *= alteredWorth
	}
	return f
}
