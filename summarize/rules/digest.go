package rules

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"precis/summarize/lex"
)

// A document is shown as one would sketch it: its title and outline, what it concludes, and whole sentences that say what to do and name what is
// worked with, each below its heading. What is left out says how many headings it hides, and names what can be typed again (named.go).

// unit is what a digest has whole or not at all: a heading, a sentence, an item, a row of a table, a line of an example. It may go on over lines.
type unit struct {
	line, start int // where it begins
	last, end   int // and ends
	heading     int // the line of the heading that it is below; none
	level       int // of a heading; 0: it is none
	worth       float64
}

// The worth of sentences apart from their identifiers.
const (
	sentenceWorth = 0.002 // of any
	ruleWorth     = 0.01  // of one that demands, forbids, decides or explains
	openingWorth  = 0.25  // of the first one, which says what the document is
	sectionWorth  = 0.004 // of the first one below a heading, and of the last one
	tellingWorth  = 0.1   // of a heading of severity or outcome, and of the first sentence below it
	exampleFactor = 0.5   // on the worth of lines of an example
	badgeFactor   = 0.1   // on that of marks for a browser
)

const (
	outlineShare    = 25  // of the room, in percent, that headings have before sentences, each in a line of its own
	concludingShare = 40  // that what the document concludes has
	longestUnit     = 240 // characters of a sentence that is not cut
	shortestUnit    = 40  // of one that is cut to the room
	lineShare       = 40  // of the room, in percent, that one line may have
	longestHead     = 90  // of a heading
	mostUnits       = 500 // that are weighed against each other
)

// ruling are words of sentences that demand, forbid, decide or explain.
var ruling = func() map[string]bool {
	set := map[string]bool{}
	for _, word := range strings.Fields("must never always only cannot required requires forbidden important instead because decided decision decide default avoid breaking blocked breaks fails failed fixed deprecated unless warning therefore ensure") {
		set[word], set[strings.ToUpper(word)], set[strings.ToUpper(word[:1])+word[1:]] = true, true, true
	}
	return set
}()

// telling matches headings that say how grave something is, what came out, what is wanted, or what is open.
var telling = regexp.MustCompile(`(?i)\b(?:critical|severe|high[ -](?:severity|priority)|block(?:er|ers|ing)|breaking|(?:must|should)[ -]fix|p[01]\b|decisions?|decided|recommend\w*|verdict|conclusions?|root cause|(?:open|unresolved) (?:questions?|issues?|items?)|risks?|caveats?|limitations?|known issues?|warnings?|todos?|next steps|goals?|non-goals?|purpose|requirements?|constraints?|conditions?|prerequisites|acceptance)\b`)

// isRuling reports whether a text has such a word.
func isRuling(text string) bool {
	start := -1
	for i := 0; i <= len(text); i++ {
		if i < len(text) && (lex.IsLower(text[i]) || lex.IsUpper(text[i])) {
			if start < 0 {
				start = i
			}
			continue
		}
		if start >= 0 && i-start >= len("must") && ruling[text[start:i]] {
			return true
		}
		start = -1
	}
	return strings.Contains(text, "o not ") || strings.Contains(text, "on't ")
}

// isDocument reports whether a text is written for people: headings, sentences and lists make up most of its lines.
func isDocument(text string) bool {
	const most = 600 // lines
	lines, heads, said, fenced := 0, 0, 0, false
	for line := range strings.Lines(text) {
		if _, rest, ok := cutNumber(line); ok {
			line = rest
		}
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if fenced || line == "" {
			continue
		}
		if lines++; lines > most {
			break
		}
		if _, ok := headingOf(line); ok {
			heads++
		} else if line[0] == '|' || listItem.MatchString(line) || isSentence(line) && !strings.HasSuffix(line, ";") && !strings.HasSuffix(line, "{") && strings.ContainsAny(line, ".,:") {
			said++
		}
	}
	return heads >= 2 && said >= heads/2 && (heads+said)*10 >= lines*6
}

// digest writes a document's sketch.
func digest(in Input, doc *document, f *facts, header string, limit int) string {
	v := newVocabulary(doc, in.Earlier)
	defer v.release()
	v.weigh(doc, in)
	n := len(doc.lines)
	c := &chooser{doc: doc, words: v, covered: v.flags.Take(len(v.words)), chosen: v.flags.Take(n), opened: v.flags.Take(n), groups: make([]bool, len(doc.groups))}
	v.shown(header)
	room := limit - lex.Runes(header) - 2 - lex.Runes(in.left(doc, doc.total, doc.chars))
	s := sketcher{chooser: c, units: doc.units(max(shortestUnit, min(longestUnit, room*lineShare/100))), widest: room * lineShare / 100, told: map[int]bool{}}
	s.findHeads()
	if len(s.heads) > 0 && s.heads[0].level == 1 { // the title
		s.take(s.head(s.heads[0].line))
	}
	s.conclude(f.urgent, room*concludingShare/100)
	s.outline(s.used+room*outlineShare/100, true)
	s.say(room - room*namesShare/100)
	written := func() int { return lex.Runes(doc.write(s.picks(), s.hidden).text) } // with what gaps tell
	s.used = written()
	s.name(room)
	s.used = written()
	s.say(room)
	s.used = written()
	s.outline(room, false)
	for {
		body := doc.write(s.picks(), s.hidden)
		text := lex.JoinLines(header, body.text, in.left(doc, doc.total-body.shown-s.toldHeads(), max(doc.chars-body.kept, 1)))
		switch n := len(s.order); {
		case lex.Runes(text) <= limit || len(s.taken) == 0:
			return lex.Clip(text, limit)
		case len(s.named) > 0:
			s.named = s.named[:len(s.named)-1]
		case n > 0:
			delete(s.told, s.order[n-1])
			s.order = s.order[:n-1]
		default:
			s.taken = s.taken[:len(s.taken)-1]
		}
	}
}

// sketcher chooses the units of a digest.
type sketcher struct {
	*chooser
	units  []unit
	heads  []unit         // its headings
	names  map[int]string // and their texts, by line
	above  []int32        // by line: the heading that it is below
	taken  []unit
	told   map[int]bool // the headings that gaps name, by line
	order  []int        // and in the order in which they were chosen
	named  []mark
	used   int // characters
	widest int // of one line
}

// findHeads notes the headings.
func (s *sketcher) findHeads() {
	s.names = make(map[int]string, len(s.doc.landmarks))
	heads := s.doc.headings()
	for _, m := range heads {
		s.names[m.line] = unmarked.Replace(m.name)
	}
	s.above = s.doc.below(heads)
	for _, u := range s.units {
		if u.level > 0 {
			s.heads = append(s.heads, u)
		}
	}
}

// unmarked takes the marks for emphasis out of a heading.
var unmarked = strings.NewReplacer("**", "", "`", "")

// toldHeads counts the headings that only gaps name.
func (s *sketcher) toldHeads() (n int) {
	for line := range s.told {
		if !s.chosen[line] {
			n++
		}
	}
	return n
}

// headEntry is what a gap says of a heading: `38 Usage`.
func (s *sketcher) headEntry(line int) string {
	if number := s.doc.lines[line].number; number > 0 {
		return itoa(number) + " " + s.names[line]
	}
	return s.names[line]
}

// tell names a heading in its gap if it fits.
func (s *sketcher) tell(line, room int) bool {
	size := lex.Runes(s.headEntry(line)) + len(" · ")
	if s.used+size > room {
		return false
	}
	s.used += size
	s.told[line] = true
	s.order = append(s.order, line)
	s.coverFragment(choice{line: line, end: len(s.doc.lines[line].text)})
	return true
}

// units divides a document into what has at most a length.
func (d *document) units(longest int) (list []unit) {
	heads, found := map[int]string{}, d.headings()
	for _, m := range found {
		heads[m.line] = m.name
	}
	above := d.below(found)
	fenced, first, section, told := false, true, false, 0.0
	text := func(u unit) { // a sentence
		_, end := u.of(u.line, d)
		switch said := d.lines[u.line].text[:end]; {
		case strings.HasPrefix(said, "<") || strings.HasPrefix(said, "![") || strings.HasPrefix(said, "[!["):
			u.worth = sentenceWorth * badgeFactor
		case isSentence(said[u.start:]):
			u.worth = sentenceWorth
			if first {
				u.worth, first = openingWorth, false
			} else if section {
				u.worth += max(sectionWorth, told)
			}
			section = false
			if isRuling(said[u.start:]) {
				u.worth += ruleWorth
			}
		}
		u.heading = int(above[u.line])
		list = append(list, u)
	}
	for i := 0; i < len(d.lines); {
		l := &d.lines[i]
		next := i + 1
		switch name, isHead := heads[i]; {
		case strings.HasPrefix(l.text, "```") || strings.HasPrefix(l.text, "~~~") && !(i > 0 && d.underlines(i)):
			fenced = !fenced
		case fenced:
			var whole bool
			if next, whole = d.example(i, longest); whole {
				list = append(list, unit{line: i, last: next - 1, end: len(d.lines[next-1].text), heading: int(above[i]), worth: -1})
				break
			}
			for k := i; k < next; k++ {
				if text := d.lines[k].text; len(text) > 2 && text[0] != '#' {
					list = append(list, d.bounded(unit{line: k, last: k, end: len(text), heading: int(above[k]), worth: -1}, longest))
				}
			}
		case isHead:
			section, told = true, 0
			if telling.MatchString(name) {
				told = tellingWorth
			}
			list = append(list, unit{line: i, last: i, end: len(l.text), heading: -1, level: d.levelOf(i, name), worth: told})
		case l.text == "" || isRule(l.text) || isTableRule(l.text):
		case l.text[0] == '|':
			text(d.bounded(unit{line: i, last: i, end: len(l.text)}, longest))
		default:
			for next < len(d.lines) && heads[next] == "" && d.goesOnAt(next) {
				next++
			}
			d.sentences(i, next, longest, text)
		}
		i = next
	}
	for k := len(list) - 1; k >= 0; k-- {
		if list[k].worth >= sentenceWorth {
			list[k].worth += sectionWorth
			break
		}
	}
	return list
}

// example returns where the example ends that has a line, and whether it is short enough to be shown.
func (d *document) example(i, longest int) (end int, whole bool) {
	const most = 8 // lines
	size, blank := 0, false
	for end = i; end < len(d.lines) && !strings.HasPrefix(d.lines[end].text, "```") && !strings.HasPrefix(d.lines[end].text, "~~~"); end++ {
		size += len(d.lines[end].text)
		blank = blank || d.lines[end].text == ""
	}
	return max(end, i+1), end-i <= most && size <= longest && !blank && end > i
}

// levelOf is the level of a heading, from 1.
func (d *document) levelOf(i int, name string) int {
	text := d.lines[i].text
	if text[0] == '#' || text[0] == '=' {
		return len(text) - len(strings.TrimLeft(text, text[:1]))
	}
	if i+1 < len(d.lines) && text == name && strings.HasPrefix(d.lines[i+1].text, "=") {
		return 1
	}
	if text == name || text[0] == '\\' {
		return 2
	}
	return headingLevel(text)
}

// goesOnAt reports whether a line goes on with the paragraph of the line above: that one breaks off, as at the edge of a page.
func (d *document) goesOnAt(i int) bool {
	const wide = 55
	l, above := &d.lines[i], &d.lines[i-1]
	if l.text == "" || l.group != above.group || l.text[0] == '|' || strings.HasPrefix(l.text, "```") || listItem.MatchString(l.text) || isRule(l.text) || strings.HasSuffix(above.text, ":") {
		return false
	}
	return lex.IsLower(l.text[0]) || len(above.text) >= wide
}

// sentences divides a paragraph.
func (d *document) sentences(from, to, longest int, add func(unit)) {
	u := unit{line: from}
	if text := d.lines[from].text; to == from+1 && len(text) <= min(wholeItem, longest) {
		u.last, u.end = from, len(text)
		add(u)
		return
	}
	for i := from; i < to; i++ {
		text := d.lines[i].text
		at := 0
		if i == from {
			at = len(listItem.FindString(text)) // `1. ` ends no sentence
		}
		for at < len(text) {
			end := sentenceEnd(text, at)
			if end < 0 {
				break
			}
			if at = end + len(text[end:]) - len(strings.TrimLeft(text[end:], " ")); at == len(text) && i+1 < to && lex.IsLower(d.lines[i+1].text[0]) {
				break
			}
			if u.last, u.end = i, end; u.line < i || end-u.start >= shortSentence || at == len(text) {
				d.inParts(u, longest, add)
				u = unit{line: i, start: at}
			}
		}
		if u.line == i && u.start >= len(text) && i+1 < to {
			u = unit{line: i + 1}
		}
	}
	if u.line < to && u.start < len(d.lines[u.line].text) {
		u.last, u.end = to-1, len(d.lines[to-1].text)
		d.inParts(u, longest, add)
	}
}

// inParts adds a sentence, in parts if it is too long.
func (d *document) inParts(u unit, longest int, add func(unit)) {
	for {
		part := d.bounded(u, longest)
		add(part)
		if part.last == u.last && part.end == u.end {
			return
		}
		u.line, u.start = part.last, part.end
		for text := d.lines[u.line].text; u.start < len(text) && strings.IndexByte(" .,;:", text[u.start]) >= 0; {
			u.start++
		}
		if u.start == len(d.lines[u.line].text) {
			if u.line++; u.line > u.last {
				return
			}
			u.start = 0
		}
		if u.line == u.last && u.start >= u.end {
			return
		}
	}
}

// wholeItem is the length up to which what is in one line is not divided, in bytes.
const wholeItem = 160

// shortSentence is what stays with the next sentence, in bytes: "Note.", "E.g."
const shortSentence = 24

// sentenceEnd returns where the sentence ends that a text has at a byte; negative if it goes on behind the text.
func sentenceEnd(text string, at int) int {
	for i := at; i < len(text); i++ {
		switch {
		case strings.IndexByte(".!?", text[i]) >= 0:
			end := i + 1
			for end < len(text) && strings.IndexByte("*_`)]\"'", text[end]) >= 0 {
				end++
			}
			if end == len(text) {
				return end
			}
			if text[end] == ' ' && end+1 < len(text) && !lex.IsLower(text[end+1]) && strings.IndexByte("-=<>/|&", text[end+1]) < 0 && i > 0 && text[i-1] != ' ' && text[i-1] != '"' && !abbreviated.MatchString(text[max(at, i-6):i+1]) {
				return end
			}
		case text[i] >= utf8.RuneSelf:
			for _, end := range []string{"。", "！", "？"} {
				if strings.HasPrefix(text[i:], end) {
					return i + len(end)
				}
			}
		}
	}
	return -1
}

// abbreviated matches a period that ends no sentence.
var abbreviated = regexp.MustCompile(`(?i)(?:\b(?:e\.g|i\.e|etc|vs|cf|no|fig|approx|incl|dr|mr|mrs|st)|\b[a-z])\.$`)

// bounded cuts a sentence that has too many characters behind a clause.
func (d *document) bounded(u unit, longest int) unit {
	size := 0
	for i := u.line; i <= u.last; i++ {
		from, to := u.of(i, d)
		text := d.lines[i].text
		n := lex.Runes(text[from:to])
		if size+n > longest {
			after := func(most int) int { return from + len(lex.Prefix(text[from:], max(1, most-size))) }
			end := naturalEnd(text, after(longest*4/5))
			u.last, u.end = i, min(clauseEnd(text[:to], end), to)
			if u.end > after(longest) {
				u.end = min(end, to)
			}
			break
		}
		size += n
	}
	return u
}

// of returns which part of a line a unit has.
func (u unit) of(line int, d *document) (start, end int) {
	end = len(d.lines[line].text)
	if line == u.line {
		start = u.start
	}
	if line == u.last {
		end = u.end
	}
	return start, end
}

// gain is what a unit adds to what is shown.
func (s *sketcher) gain(u unit) float64 {
	sum, factor := max(u.worth, 0), 1.0
	if u.worth < 0 {
		factor = exampleFactor
	}
	for i := u.line; i <= u.last; i++ {
		start, end := u.of(i, s.doc)
		list := s.words.of(i)
		at, _ := slices.BinarySearchFunc(list, start, func(m mention, at int) int { return int(m.start) - at })
		for _, m := range list[at:] {
			if int(m.start) >= end {
				break
			}
			if !s.covered[m.id] && !m.again && int(m.end) <= end {
				sum += s.words.words[m.id].worth * factor
			}
		}
	}
	if s.doc.pointedAt[s.doc.lines[u.line].number] {
		sum += namedWorth
	}
	return sum * s.doc.favour(u.line)
}

// size is what a unit takes, with its heading, in characters.
func (s *sketcher) size(u unit) (n int) {
	for i := u.line; i <= u.last; i++ {
		start, end := u.of(i, s.doc)
		n += s.cost(choice{i, start, end})
		if i > u.line {
			n -= s.overhead(i) - 2 // its number does not stand there
		}
	}
	if u.heading >= 0 && !s.chosen[u.heading] {
		n += s.size(s.head(u.heading))
	}
	return n
}

// head is the unit of a heading, whole up to a length.
func (s *sketcher) head(line int) unit {
	text := s.doc.lines[line].text
	end := len(text)
	if end > longestHead {
		end = naturalEnd(text, longestHead*4/5)
	}
	return unit{line: line, last: line, end: end, heading: -1, level: 1}
}

// take shows a unit.
func (s *sketcher) take(u unit) {
	s.used += s.size(u)
	if u.heading >= 0 && !s.chosen[u.heading] {
		s.show(s.head(u.heading))
	}
	s.show(u)
	s.taken = append(s.taken, u)
}

// show notes what is shown.
func (s *sketcher) show(u unit) {
	for i := u.line; i <= u.last; i++ {
		start, end := u.of(i, s.doc)
		s.coverFragment(choice{i, start, end})
		if u.level > 0 || start == 0 && end == len(s.doc.lines[i].text) {
			s.chosen[i] = true
		}
		s.openAbove(i)
		if g := s.doc.lines[i].group; g >= 0 {
			s.groups[g] = true
		}
	}
}

// has reports whether a unit is shown.
func (s *sketcher) has(u unit) bool {
	return u.start == 0 && (s.chosen[u.line] || s.opened[u.line]) || slices.ContainsFunc(s.taken, func(t unit) bool { return t.line == u.line && t.start == u.start })
}

// widens reports whether a unit would make what is shown of its line too long.
func (s *sketcher) widens(u unit) bool {
	if u.line != u.last {
		return false
	}
	text := s.doc.lines[u.line].text
	size := lex.Runes(text[u.start:u.end])
	for _, t := range s.taken {
		if t.line == u.line && t.last == u.line {
			size += lex.Runes(text[t.start:t.end])
		}
	}
	return size > s.widest
}

// conclude shows lines to be shown first: up to three sentences of each.
func (s *sketcher) conclude(lines []int, room int) {
	for _, i := range lines {
		said := 0
		for _, u := range s.units {
			if i < u.line || i > u.last || said == mostConclusions || s.has(u) {
				continue
			}
			if said++; s.used+s.size(u) <= room {
				s.take(u)
			}
		}
	}
}

// outline shows headings, in lines of their own or in gaps, those of a higher level first, of one level those that name something.
func (s *sketcher) outline(room int, own bool) {
	var heads []unit
	worth := map[int]float64{}
	for _, u := range s.heads {
		if !s.chosen[u.line] && !s.told[u.line] {
			worth[u.line] = (s.gain(s.head(u.line)) + u.worth + sectionWorth) / float64(len(s.headEntry(u.line)))
			if u.worth > 0 {
				u.level = 1
			}
			heads = append(heads, u)
		}
	}
	slices.SortStableFunc(heads, func(a, b unit) int {
		return cmp.Or(a.level-b.level, cmp.Compare(worth[b.line], worth[a.line]))
	})
	for _, h := range heads {
		if head := s.head(h.line); !own {
			s.tell(h.line, room)
		} else if s.used+s.size(head) <= room {
			s.take(head)
		}
	}
}

// say shows sentences for the rest of the room, the most telling one first.
func (s *sketcher) say(room int) {
	bids := make(bids, 0, len(s.units))
	rate := func(u unit) float64 { return s.gain(u) / float64(s.size(u)+lineCost) }
	for i, u := range s.units {
		if u.level == 0 {
			if r := rate(u); r > 0 {
				bids = append(bids, newBid(i, r))
			}
		}
	}
	slices.SortFunc(bids, func(a, b bid) int { return cmp.Compare(b, a) })
	list := bids[:min(len(bids), mostUnits)]
	for {
		best, at := 0.0, -1
		for k, b := range list {
			if b == 0 {
				continue
			}
			if u := s.units[b.of()]; s.used+s.size(u) <= room {
				if r := rate(u); r > best {
					best, at = r, k
				}
			}
		}
		if at < 0 {
			break
		}
		u := s.units[list[at].of()]
		list[at] = 0
		if !s.has(u) && !s.widens(u) {
			s.take(u)
		}
	}
	for i := range s.units { // what follows on a shown sentence in its line
		if u := s.units[i]; i > 0 && u.line == s.units[i-1].last && u.start > 0 && s.has(s.units[i-1]) && !s.has(u) && !s.widens(u) && s.used+s.size(u) <= room {
			s.take(u)
		}
	}
}

// picks are the parts of lines that are shown, those that follow on each other as one.
func (s *sketcher) picks() (list []pick) {
	add := func(u unit) {
		for i := u.line; i <= u.last; i++ {
			start, end := u.of(i, s.doc)
			list = append(list, pick{choice: choice{i, start, end}})
		}
	}
	seen := map[int]bool{}
	for _, u := range s.taken {
		add(u)
		if u.heading >= 0 {
			seen[u.heading] = true
		}
	}
	for _, p := range list {
		delete(seen, p.line)
	}
	for line := range seen {
		add(s.head(line))
	}
	slices.SortFunc(list, func(a, b pick) int { return cmp.Or(a.line-b.line, a.start-b.start) })
	merged := list[:0]
	for _, p := range list {
		if n := len(merged) - 1; n >= 0 && merged[n].line == p.line && strings.TrimSpace(s.doc.lines[p.line].text[min(merged[n].end, p.start):p.start]) == "" {
			merged[n].end = max(merged[n].end, p.end)
			continue
		}
		merged = append(merged, p)
	}
	return merged
}
