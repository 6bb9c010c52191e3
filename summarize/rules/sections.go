package rules

import (
	"cmp"
	"slices"
	"strings"
)

// section is where names of the list are: a file of a search, a landmark (a declaration, a heading), or some lines.
type section struct {
	landmark // without a name: some lines
	shown    bool
	open     bool // the list has it
}

// sectionLines is how many lines are one section if they have no landmark: near enough to be found by one number.
const sectionLines = 80

// divide puts the identifiers that may be listed into sections. Those of a search are its files, all others some lines
// each.
func (c *chooser) divide() {
	d := c.doc
	c.place = c.words.ints.take(len(c.words.words))
	byGroup, byLine := map[int]int32{}, map[int]int32{}
	lines := func(line int) int32 {
		part := d.lines[line].at / sectionLines
		at, ok := byLine[part]
		if !ok {
			at = int32(len(c.sections))
			byLine[part] = at
			c.sections = append(c.sections, section{landmark: landmark{line: line}})
		}
		return at
	}
	for _, m := range d.landmarks {
		s := section{landmark: m}
		if id := c.words.find(m.name); (id == none || c.words.words[id].seen) && opensClass.MatchString(d.lines[m.line].text) {
			s.worth *= 2 // its name adds nothing, but its place does
			c.remarks[m.line] *= 2
		}
		if m.file {
			byGroup[d.lines[m.line].group] = int32(len(c.sections))
		}
		c.sections = append(c.sections, s)
	}
	byRole := map[string]int32{}
	for _, b := range c.list {
		id := b.of()
		line := int(c.words.words[id].first)
		if d.shape == shapeSnapshot {
			e, _ := elementIn(d.lines[line].text)
			at, ok := byRole[e.role]
			if !ok {
				at = int32(len(c.sections))
				byRole[e.role] = at
				c.sections = append(c.sections, section{landmark: landmark{line: line, name: e.role, file: true}})
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
			c.sections = append(c.sections, section{landmark: landmark{line: line, name: d.groupName(group), file: true}})
		case !ok:
			at = lines(line)
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
}

// unshown returns the landmarks that no chosen line shows, those worth most per character first.
func (c *chooser) unshown() []int32 {
	var left []int32
	for i := range c.sections {
		if s := &c.sections[i]; s.name != "" && !s.shown {
			left = append(left, int32(i))
		}
	}
	slices.SortStableFunc(left, func(a, b int32) int { return cmp.Compare(c.markRate(b), c.markRate(a)) })
	return left
}

// headSize is what a section's head takes in the list, in characters: `; 20 openStore`, `; 20+:`.
func (c *chooser) headSize(i int32) int {
	s := &c.sections[i]
	n := 3 + len(s.name) + len(s.count)
	if at := c.doc.lines[s.line].at; at > 0 && !s.file && !s.place {
		n += digits(at)
		if s.name == "" {
			n++
		}
	}
	return n
}

func (c *chooser) markRate(i int32) float64 {
	return c.markWorth(i) / float64(c.headSize(i))
}

// markWorth is the worth of naming a landmark.
func (c *chooser) markWorth(i int32) float64 {
	s := &c.sections[i]
	if s.shown || s.name == "" {
		return 0
	}
	if id := c.words.find(s.name); id != none {
		return s.worth + c.gain(id)
	}
	return s.worth
}

// openSection adds a section's head to what the list shows.
func (c *chooser) openSection(f *further, i int32) {
	s := &c.sections[i]
	s.open = true
	if s.name == "" {
		return
	}
	f.gain += c.markWorth(i)
	if s.place {
		c.coverFragment(choice{line: s.line, end: placeEnd(c.doc.lines[s.line].text)})
	}
	if id := c.words.find(s.name); id != none && !s.shown {
		c.coverWord(id)
	}
	f.list = append(f.list, listed{section: i, line: s.line, id: none})
}

// listing formats names by section: `See 20 openStore; 33 Close; 12+: segmentPath os.ReadDir; 97+: flushLocked`. Landmarks stand first, then
// the other names behind the line at or after which they are, or behind their file.
func (c *chooser) listing(list []listed) string {
	if len(list) == 0 {
		return ""
	}
	d := c.doc
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b listed) int {
		x, y := &c.sections[a.section], &c.sections[b.section]
		switch {
		case x.file != y.file:
			return cmp.Compare(flag(y.file), flag(x.file))
		case x.file:
			return cmp.Or(x.line-y.line, cmp.Compare(min(a.id, 0), min(b.id, 0)), a.line-b.line)
		}
		return cmp.Or(cmp.Compare(min(a.id, 0), min(b.id, 0)), a.line-b.line)
	})
	var b strings.Builder
	b.WriteString(furtherHead)
	from := none // the line behind which the names stand that come next
	for n, x := range list {
		s := &c.sections[x.section]
		at := d.lines[x.line].at
		head := ""
		switch {
		case x.id == none && at > 0 && !s.file && !s.place:
			head = itoa(at) + " " + s.name
		case x.id == none:
			head = s.name + s.count
		case !s.file && at > 0 && (from < 0 || at-from > sectionLines):
			head, from = itoa(at)+"+", at
		}
		switch {
		case head != "" && n > 0:
			b.WriteString("; ")
		case n > 0 && x.id != none && list[n-1].id == none && s.file:
			b.WriteString(": ")
		case n > 0 && x.id != none && list[n-1].id == none:
			b.WriteString("; ")
		case n > 0 && d.shape == shapeSnapshot:
			b.WriteString(", ")
		case n > 0:
			b.WriteByte(' ')
		}
		b.WriteString(head)
		if x.id != none {
			if head != "" {
				b.WriteString(": ")
			}
			b.WriteString(x.text)
		}
	}
	return b.String()
}
