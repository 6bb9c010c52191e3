package rules

import (
	"strings"

	"precis/summarize/lex"
	"precis/summarize/rules/logs"
	"precis/summarize/rules/words"
)

// widen extends the chosen fragments if there is room, the least clipped first, and returns how many
// characters that took.
func (c *chooser) widen(picks []pick, room int) int {
	left := room
	for step := tail; step <= 4*longest && left > 0; step *= 2 {
		for i := range picks {
			left -= c.widenOne(&picks[i], min(step, left))
		}
	}
	return room - left
}

// widenOne extends a fragment to its whole line, if that takes at most room characters.
func (c *chooser) widenOne(p *pick, room int) int {
	whole := pick{choice: choice{line: p.line, end: len(c.doc.lines[p.line].text)}}
	if whole.choice == p.choice {
		return 0
	}
	more := c.cost(whole.choice) - c.cost(p.choice)
	if more > room {
		return 0
	}
	whole.size = p.size + more
	*p = whole
	return more
}

// fill adds lines without new identifiers if there is room: those around the chosen ones, then the first
// ones, or the last of a command's output, which show the beginning and the end. What remains is for the
// first lines in order, including short ones and those that a loop prints.
func (c *chooser) fill(picks []pick, room int) []pick {
	c.changesOf(picks)
	shown, said := make([]bool, len(c.doc.lines)), map[string]bool{}
	for _, p := range picks {
		shown[p.line] = true
		said[c.doc.lines[p.line].text] = true
	}
	blobs := fillBlobs
	framed := false // what all pages of a site have is shown last
	take := func(i int) {
		l := &c.doc.lines[i]
		if c.doc.shape == shapeSnapshot && (strings.HasPrefix(l.text, "```") || !framed && l.favour > 0 && l.favour <= wrapWorth && !strings.Contains(l.text, "option ")) {
			return
		}
		if room < fillRoom || shown[i] || l.text == "" || isRule(l.text) || l.dull() || l.aside || c.unasked(i) || c.doc.noisy && said[l.text] || c.doc.shape == shapeDiff && !l.starts {
			return
		}
		p := pick{choice: choice{line: i, end: len(l.text)}}
		if p.size = c.cost(p.choice); p.size > room && room > fillClip {
			p.end = naturalEnd(l.text, len(lex.Prefix(l.text, room-20)))
			p.size = c.cost(p.choice)
		}
		blob := words.IsBlob(l.text)
		if p.size > room || blob && p.size > blobs {
			return
		}
		room -= p.size
		if blob {
			blobs -= p.size
		}
		shown[i] = true
		said[l.text] = true
		c.openAbove(i)
		picks = append(picks, p)
	}
	fillers := c.fillers(picks)
	for _, around := range []bool{false, true} { // what changed comes before what is around it
		framed = around
		for _, i := range fillers {
			l := &c.doc.lines[i]
			if l.around == around && len(l.text) >= countedLine && !(c.doc.endFirst && l.alike >= logs.OftenAlike && !l.frag) {
				take(i)
			}
		}
		for i := range min(len(c.doc.lines), fillTries) {
			if c.doc.lines[i].around == around {
				take(i)
			}
		}
		c.changesOf(picks)
	}
	return picks
}

// fillers returns the lines that fill considers, in order.
func (c *chooser) fillers(picks []pick) []int {
	n := len(c.doc.lines)
	list := make([]int, 0, 2*len(picks)+fillTries)
	for _, p := range picks { // what a line opens belongs to it
		if text := c.doc.lines[p.line].text; p.line+1 < n && text != "" && p.end == len(text) && strings.IndexByte("{[(:=", text[len(text)-1]) >= 0 {
			list = append(list, p.line+1)
		}
	}
	for _, p := range picks {
		if p.line+1 < n {
			list = append(list, p.line+1)
		}
		if p.line > 0 {
			list = append(list, p.line-1)
		}
	}
	for k := range min(n, fillTries) {
		if c.doc.endFirst && !c.doc.commits {
			k = n - 1 - k
		}
		list = append(list, k)
	}
	return list
}

var draws = lex.SetOf("=-_*#~+^|! ")

// isRule matches a line that is mostly drawn: "==== FAILURES ====".
func isRule(text string) bool {
	drawn := 0
	for i := 0; i < len(text); i++ {
		if draws[text[i]] {
			drawn++
		}
	}
	return drawn*10 >= len(text)*6
}

const (
	fillRoom  = 24  // minimum of characters for another line
	fillTries = 400 // lines considered
	fillClip  = 60  // minimum length of a line that is clipped to fit
	fillBlobs = 240 // characters of encoded data: enough to recognize it
)

// urgent chooses the lines that precede all others, each whole or clipped, for at most room characters. If all of them
// don't fit, the long ones are clipped, so that more of them do.
func (c *chooser) urgent(lines []int, room int) []pick {
	var picks []pick
	longest := c.evenLength(lines, room)
	taken := map[saying]bool{}
	for _, i := range lines {
		l := &c.doc.lines[i]
		says := c.doc.saidAt(i)
		if c.chosen[i] || taken[says] {
			continue
		}
		taken[says] = true
		p := pick{choice: choice{line: i, end: len(l.text)}}
		p.size = c.cost(p.choice)
		if most := min(room, max(longest, p.size-lex.Runes(l.text)+told(l.text))); p.size > most {
			p.end = len(lex.Prefix(l.text, max(0, most-(p.size-lex.Runes(l.text))-1)))
			if p.end < max(countedLine, placeEnd(l.text)+countedLine) {
				break // a place alone says nothing
			}
			p.size = c.cost(p.choice)
		}
		room -= p.size
		picks = append(picks, p)
		c.choose(p.choice)
	}
	return picks
}

// evenLength returns the length to which lines are clipped so that all of them fit, but not below what tells a place
// and the beginning of a message.
func (c *chooser) evenLength(lines []int, room int) int {
	const least, step = clippedMessage, 12
	longest := max(room, least)
	for ; longest > least; longest = max(least, min(longest-step, longest*9/10)) {
		sum := 0
		taken := map[int]bool{}
		for _, i := range lines {
			if !taken[i] {
				taken[i] = true
				whole := c.cost(choice{line: i, end: len(c.doc.lines[i].text)})
				sum += min(whole, max(longest, told(c.doc.lines[i].text)))
			}
		}
		if sum <= room {
			break
		}
	}
	return longest
}

// clippedMessage is the length to which messages are clipped if there are many.
const clippedMessage = 72

// told is how much of a line is not clipped, in characters: the name of a failed test, a place and the beginning of what is
// wrong there.
func told(text string) int {
	const longestName, longestFrame, message = 140, 110, 72
	switch {
	case namesFailure(text):
		return min(lex.Runes(text), longestName)
	case strings.HasPrefix(text, "at "):
		return min(lex.Runes(text), longestFrame) // its place is at the end
	}
	if at := placeEnd(text); at > 0 {
		return min(lex.Runes(text), at+message)
	}
	return 0
}

// placeEnd returns where the place ends that a line begins with, "src/a.go:12:3:" or "src/a.ts(12,3):"; 0 if it has none.
func placeEnd(text string) int {
	if !isDiagnostic(text) {
		return 0
	}
	if at := strings.Index(text, ": "); at > 0 {
		return at
	}
	return 0
}
