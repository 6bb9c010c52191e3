package rules

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"precis/summarize/lex"
	"precis/summarize/rules/logs"
	"precis/summarize/rules/page"
	"precis/summarize/rules/words"
)

// section is where names of the list are: a file of a search, a landmark (a declaration, a heading).
type section struct {
	landmark
	shown bool
	open  bool // the list has it
}

// sectionLines is how far behind a number a name may be: near enough to be found by it.
const sectionLines = 80

// divide puts the identifiers that may be listed into sections: those of a search into its files, those of a page into roles.
func (c *chooser) divide() {
	d := c.doc
	c.place = c.words.ints.Take(len(c.words.words))
	byGroup := map[int]int32{}
	var short []string
	if d.several {
		short = shortNames(d.groups)
	}
	for _, m := range d.landmarks {
		if m.file {
			byGroup[d.lines[m.line].group] = int32(len(c.sections))
		}
		c.sections = append(c.sections, section{landmark: m})
	}
	byRole := map[string]int32{}
	for _, b := range c.list {
		id := b.of()
		line := int(c.words.words[id].first)
		if d.shape == shapeSnapshot {
			e, _ := page.ElementIn(d.lines[line].text)
			at, ok := byRole[e.Role]
			if !ok {
				at = int32(len(c.sections))
				byRole[e.Role] = at
				c.sections = append(c.sections, section{landmark: landmark{line: line, name: e.Role, file: true}})
			}
			c.place[id] = at
			continue
		}
		group := d.lines[line].group
		at, ok := byGroup[group]
		switch {
		case !ok && group >= 0: // a file behind the last landmark
			at = int32(len(c.sections))
			byGroup[group] = at
			name := d.groupName(group)
			if d.several {
				name = short[group]
			}
			c.sections = append(c.sections, section{landmark: landmark{line: line, name: name, file: true}})
		case !ok:
			at = words.None
		}
		c.place[id] = at
	}
}

// show marks the sections whose landmarks the given lines show, and closes all.
func (c *chooser) show(picks []pick) {
	lines, groups := make(map[int]bool, len(picks)), make(map[int]bool, len(c.doc.groups)+1)
	for _, p := range picks {
		lines[p.line] = true
		groups[c.doc.lines[p.line].group] = true
	}
	for i := range c.sections {
		s := &c.sections[i]
		s.open = false
		s.shown = lines[s.line] || s.file && groups[c.doc.lines[s.line].group]
	}
	if c.doc.placed {
		c.above = slices.Sorted(maps.Keys(lines))
		c.named = make([]bool, len(picks)+1)
	}
}

// gap returns which gap between the shown lines a line is in, or begins.
func (c *chooser) gap(line int) int {
	at, _ := slices.BinarySearch(c.above, line+1)
	return at
}

// opens notes that names of a line's gap are listed.
func (c *chooser) opens(line int) {
	if c.doc.placed {
		c.named[c.gap(line)] = true
	}
}

// gapSize is what it takes to begin to list names in a gap, in characters: `20+: ` on a line of its own.
func (c *chooser) gapSize(line int) int {
	if !c.doc.placed || c.named[c.gap(line)] {
		return 0
	}
	if at := c.doc.lines[line].at; at > 0 {
		return digits(at) + 3
	}
	return 1
}

// unshown returns the landmarks that no chosen line shows, those worth most per character first.
func (c *chooser) unshown() []int32 {
	var left []int32
	for i := range c.sections {
		if !c.sections[i].shown {
			left = append(left, int32(i))
		}
	}
	slices.SortStableFunc(left, func(a, b int32) int { return cmp.Compare(c.markRate(b), c.markRate(a)) })
	return left
}

// headSize is what a section's head takes in the list, in characters: `; 20 openStore`.
func (c *chooser) headSize(i int32) int {
	s := &c.sections[i]
	n := 3 + len(s.label())
	if dir := s.below(); dir != "" && dir != c.dir {
		n += len(dir) + len(": ")
	}
	if at := c.doc.lines[s.line].at; at > 0 && !s.file && !s.place {
		n += digits(at)
	}
	return n
}

// below is the directory that a section is listed below; empty if it is not, or if a shown line has its whole path.
func (s *section) below() string {
	if s.shown {
		return ""
	}
	return s.dir
}

// label is what the list calls a section.
func (s *section) label() string {
	switch {
	case s.shown:
		return s.name
	case s.dir != "":
		return s.base + s.count
	}
	return s.name + s.count
}

func (c *chooser) markRate(i int32) float64 {
	return c.markWorth(i) / float64(c.headSize(i))
}

// markWorth is the worth of naming a landmark.
func (c *chooser) markWorth(i int32) float64 {
	s := &c.sections[i]
	if s.shown {
		return 0
	}
	if id := c.words.find(s.name); id != words.None {
		return s.worth + c.gain(id)
	}
	return s.worth
}

// openSection adds a section's head to what the list shows.
func (c *chooser) openSection(f *further, i int32) {
	s := &c.sections[i]
	s.open = true
	c.dir = cmp.Or(s.below(), c.dir)
	c.opens(s.line)
	f.gain += c.markWorth(i)
	if s.place {
		c.coverFragment(choice{line: s.line, end: placeEnd(c.doc.lines[s.line].text)})
	}
	if id := c.words.find(s.name); id != words.None && !s.shown {
		c.coverWord(id)
	}
	f.list = append(f.list, listed{section: i, line: s.line, id: words.None})
}

// listing formats names by section: `See 33 Close; segmentPath os.ReadDir; a.go: openStore`. Landmarks come first, then the names that are in no file,
// then files: what stands behind one is read as its own.
func (c *chooser) listing(list []listed) string {
	if len(list) == 0 {
		return ""
	}
	rank := func(x listed) int {
		switch {
		case x.section == words.None:
			return 1
		case c.sections[x.section].file:
			return 2
		}
		return 0
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b listed) int {
		order := rank(a) - rank(b)
		if order == 0 && rank(a) != 1 && c.doc.shape == shapeMatches {
			order = strings.Compare(c.dirOf(a), c.dirOf(b))
		}
		if order == 0 && rank(a) != 1 {
			order = c.sections[a.section].line - c.sections[b.section].line
		}
		return cmp.Or(order, cmp.Compare(min(a.id, 0), min(b.id, 0)), a.line-b.line)
	})
	var b strings.Builder
	b.WriteString(furtherHead)
	for n, x := range list {
		dir := c.dirOf(x)
		within := n > 0 && dir != "" && dir == c.dirOf(list[n-1])
		switch {
		case n == 0:
		case x.id == words.None && within && list[n-1].id == words.None:
			b.WriteString(", ")
		case x.id == words.None || rank(x) != rank(list[n-1]):
			b.WriteString("; ")
		case list[n-1].id == words.None:
			b.WriteString(": ")
		case c.doc.shape == shapeSnapshot:
			b.WriteString(", ")
		default:
			b.WriteByte(' ')
		}
		if dir != "" && !within {
			b.WriteString(dir + ": ")
		}
		b.WriteString(c.entry(x))
	}
	switch n := c.unlisted(list); {
	case n > 0 && c.doc.partly: // not all are known
		b.WriteString("; " + lex.ClipMark)
	case n > 0:
		b.WriteString("; +" + lex.Counted(n, "file"))
	}
	return b.String()
}

// unlisted counts the files of a search that neither a line shows nor a list has.
func (c *chooser) unlisted(list []listed) (n int) {
	if c.doc.shape != shapeMatches {
		return 0
	}
	told := make(map[int32]bool, len(list))
	for _, x := range list {
		told[x.section] = true
	}
	for i := range c.sections {
		if s := &c.sections[i]; s.file && !s.shown && !told[int32(i)] {
			n++
		}
	}
	return n
}

// dirOf is the directory that what is listed is below; empty if it is below none.
func (c *chooser) dirOf(x listed) string {
	if x.section == words.None {
		return ""
	}
	return c.sections[x.section].below()
}

// entry is what a list says of one of its names: of a landmark, where it is.
func (c *chooser) entry(x listed) string {
	if x.id != words.None {
		return x.text
	}
	s := &c.sections[x.section]
	if at := c.doc.lines[x.line].at; at > 0 && !s.file && !s.place {
		return itoa(at) + " " + s.name
	}
	return s.label()
}

// between names what the lines have that stand between two which are shown: `33 Close: os.Remove; 57 flush`, `40+: segmentPath os.ReadDir`. Names
// stand behind a number near before them, if their lines have one.
func (c *chooser) between(picks []pick, list []listed) func(above, below int) string {
	list = slices.Clone(list)
	told := make(map[int]bool, len(picks)+len(list)) // the lines that are shown or named
	for _, p := range c.doc.withOpeners(picks) {
		told[p.line] = true
	}
	for _, x := range list {
		if x.id == words.None {
			told[x.line] = true
		}
	}
	for i := range c.sections {
		if s := &c.sections[i]; !c.doc.partly && !told[s.line] {
			list = append(list, listed{section: int32(i), line: s.line, id: unnamed})
		}
	}
	slices.SortStableFunc(list, func(a, b listed) int { return cmp.Or(a.line-b.line, cmp.Compare(min(a.id, 0), min(b.id, 0))) })
	reach, of := sectionLines, "+: "
	if c.doc.shape == shapeOneFile { // each match is a place of its own
		reach, of = 0, ": "
	}
	return func(above, below int) string {
		var b strings.Builder
		from, more, named := c.doc.lines[above].at, 0, false
		label, head := false, 0 // what is told last is below a landmark that is told, or is one; its line
		for ; len(list) > 0 && list[0].line < below; list = list[1:] {
			x, at := list[0], c.doc.lines[list[0].line].at
			far := b.Len() == 0 || at < from || at-from > reach || from == 0 && at > 0
			if label && x.id >= 0 && !c.doc.inBlock(head, x.line) {
				label, named = false, false
			}
			switch {
			case x.id == unnamed:
				more++
				label, named = false, named && !label // what comes is below this one
				continue
			case label && !named && x.id >= 0 && !far && !c.doc.partly:
				b.WriteString(": ")
			case named && x.id >= 0 && !far:
				b.WriteByte(' ')
			case b.Len() > 0:
				b.WriteString("; ")
			}
			if named = x.id >= 0; named && far && at > 0 {
				b.WriteString(itoa(at) + of)
			}
			if far || !named {
				from = at
			}
			if label = !named || label && !far; !named {
				head = x.line
			}
			b.WriteString(c.entry(x))
		}
		if more >= manyUnnamed {
			return strings.TrimPrefix(b.String()+"; +"+itoa(more)+" more", "; ")
		}
		return b.String()
	}
}

// inBlock reports whether a line may be a part of what a landmark above it begins: code is, as far as it is indented.
func (d *document) inBlock(landmark, line int) bool {
	return landmark == line || d.prose || d.lines[line].indent > d.lines[landmark].indent
}

// manyUnnamed is how many landmarks a gap must be silent about for it to be said how many there are; unnamed is in the place of their identifiers.
const manyUnnamed, unnamed = 4, words.None - 1

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
	left int     // of the room, in characters
}

const furtherHead = "See "

// further lists names of what the given lines don't show: landmarks, and identifiers, those of a search with their file. A whole includes its
// parts.
func (c *chooser) further(picks []pick, room int) further {
	picks = c.doc.withOpeners(picks)
	c.uncover()
	for _, p := range picks {
		c.coverFragment(p.choice)
	}
	c.show(picks)
	f := further{gain: c.shownWorth()}
	c.left = append(c.left[:0], c.list...)
	c.dir = ""
	queue := c.left
	if !c.doc.placed {
		room -= len(furtherHead)
	}
	marks := c.unshown()
	if c.doc.shape == shapeMatches && c.doc.hasTree() { // where a search found something comes before what stands there
		slices.SortStableFunc(marks, func(a, b int32) int { return strings.Compare(c.sections[a].dir, c.sections[b].dir) })
		for _, m := range marks {
			room -= c.listMark(&f, m, room)
		}
		marks = nil
	}
	for len(queue) > 0 && room > words.ShortestSubword {
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
	f.left = room
	return f
}

// listWord adds an identifier to the list, with its file if it has one, and removes its parts; it returns what that changes in the
// list's size, beside the identifier's own.
func (c *chooser) listWord(f *further, id int32) (size int) {
	word := &c.words.words[id]
	at := c.place[id]
	if at == words.None {
		c.opens(int(word.first))
	} else if !c.sections[at].open {
		c.openSection(f, at)
	}
	f.gain += c.gain(id)
	c.coverWord(id)
	f.list = slices.DeleteFunc(f.list, func(other listed) bool {
		if other.id == words.None || !slices.Contains(c.words.partsOf(word), other.id) {
			return false
		}
		size -= lex.Runes(other.text) + 1
		return true
	})
	f.list = append(f.list, listed{at, int(word.first), c.label(id), id})
	return size
}

// label is what the list says of an identifier: of an element of a page also its name.
// What belongs to a name in front of it, `.github`, `@scope/name`, `--all`, `/usr/bin`, comes with it.
func (c *chooser) label(id int32) string {
	w := &c.words.words[id]
	if c.doc.shape != shapeSnapshot {
		return c.sign(id) + w.text
	}
	e, _ := page.ElementIn(c.doc.lines[w.first].text)
	return w.text + " " + c.shortNames.of(e)
}

// elementNames are the short names of a page's elements. One that another element of its role has too gives way to the ends of the name, if they tell them
// apart: "Select…48GB memory".
type elementNames struct{ first, last map[string]string } // by role and short name: the name that is cut so; empty if there are several

const longestLabel = 16

func (n elementNames) of(e page.Element) string {
	name := strings.TrimSpace(e.Name)
	begin, end := lex.Clip(name, longestLabel), endsOf(name)
	if n.first[e.Role+begin] == "" && n.last[e.Role+end] != "" {
		return end
	}
	return begin
}

// endsOf cuts the middle of a name.
func endsOf(name string) string {
	first, _, _ := strings.Cut(name, " ")
	last := clipLeft(name, longestLabel-4)
	if _, words, ok := strings.Cut(last, " "); ok && last != name {
		last = lex.ClipMark + words
	}
	return lex.Prefix(first, longestLabel/2) + last
}

// namesOf reads which short names are those of several.
func (d *document) namesOf() elementNames {
	n := elementNames{map[string]string{}, map[string]string{}}
	note := func(set map[string]string, key, name string) {
		if was, ok := set[key]; ok && was != name {
			name = ""
		}
		set[key] = name
	}
	for i := range d.lines {
		if e, ok := page.ElementIn(d.lines[i].text); ok && strings.TrimSpace(e.Name) != "" {
			name := strings.TrimSpace(e.Name)
			note(n.first, e.Role+lex.Clip(name, longestLabel), name)
			note(n.last, e.Role+endsOf(name), name)
		}
	}
	return n
}

// sign returns what stands in front of an identifier where it is first, and belongs to it.
func (c *chooser) sign(id int32) string {
	line := int(c.words.words[id].first)
	text := c.doc.lines[line].text
	for _, m := range c.words.of(line) {
		if m.id != id {
			continue
		}
		before := text[:m.start]
		rest := strings.TrimRight(before, "./@~-")
		sign := before[len(rest):]
		if len(rest) > 0 && strings.IndexByte(" \t\"'`([{=:,<>|", rest[len(rest)-1]) < 0 {
			return "" // it is in the middle of something
		}
		switch sign {
		case ".", "/", "@", "--", "~/", "../", "/.", "~/.":
			return sign
		}
		return ""
	}
	return ""
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

// furtherRate returns the gain of listing an identifier, for each character that it takes with its file or its number, if that is not in the list
// yet.
func (c *chooser) furtherRate(id int32) (rate float64, size int) {
	gain := c.gain(id)
	if gain <= 0 {
		return 0, 0
	}
	word := &c.words.words[id]
	size = lex.Runes(c.label(id)) + 1
	if c.doc.shape == shapeSnapshot && c.doc.lines[word.first].favour == actWorth {
		gain *= actWorth
	}
	if at := c.place[id]; at == words.None {
		size += c.gapSize(int(word.first))
	} else if !c.sections[at].open {
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
		if s := &c.sections[i]; s.shown {
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
		if w.seen && w.how&words.IsName == 0 || c.doc.lines[w.first].around || !c.listable(w) {
			continue
		}
		if r := c.gain(int32(id)) / float64(len(w.text)+1); r > 0 {
			all = append(words.Roomy(all), newBid(id, r))
		}
	}
	all.init()
	best := make(bids, 0, min(len(all), mostListed))
	series := map[uint64]int{}
	for len(all) > 0 && len(best) < mostListed {
		if text := c.words.words[all[0].of()].text; words.DigitAt(text) < 0 || c.doc.shape == shapeJSON || c.doc.shape == shapeSnapshot || c.doc.listing {
			best = append(best, all[0])
		} else if kind := logs.MaskedHash(text); series[kind] < mostOfSeries {
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

// isCrumb reports whether an identifier is a piece of something longer: of a hash, `e1be`, or of what is written with percent signs, `2Fxai`.
func (c *chooser) isCrumb(w *word) bool {
	const whole = 7 // git's short form
	if w.look&words.IsHex != 0 && len(w.text) < whole {
		return true
	}
	if len(w.text) < 3 || !isHexByte(w.text[0]) || !isHexByte(w.text[1]) {
		return false
	}
	at := strings.Index(c.doc.lines[w.first].text, w.text)
	return at > 0 && c.doc.lines[w.first].text[at-1] == '%'
}

func isHexByte(b byte) bool { return b >= '0' && b <= '9' || b >= 'A' && b <= 'F' }

// listable reports whether an identifier is useful outside its line: a number, a time or a date only in data, the rest of
// an escape ("\nError" gives nError) never.
func (c *chooser) listable(w *word) bool {
	if w.how&(words.IsEscaped|words.IsStem) != 0 || c.isCrumb(w) || c.doc.commits {
		return false
	}
	if c.doc.shape == shapeSnapshot {
		l := &c.doc.lines[w.first]
		e, _ := page.ElementIn(l.text)
		if framed := l.favour > 0 && l.favour <= wrapWorth; framed && e.Role == "link" || page.IsText(l.text) {
			return false // what all pages of a site have, or a table of contents; a text says nothing by its beginning
		}
		return !l.dull() && strings.TrimSpace(e.Name) != "" && (strings.HasPrefix(l.text, "["+w.text+"] ") || strings.Contains(l.text, "[ref="+w.text+"]"))
	}
	if c.doc.listing && strings.IndexByte(w.text, '/') >= 0 {
		return false // whole paths are lines
	}
	if c.doc.shape == shapeJSON {
		return w.look&words.IsDate == 0 || len(w.text) >= len("00:00:00") // "12T09" is part of a time
	}
	return w.look&(words.IsDigits|words.IsDate) == 0
}
