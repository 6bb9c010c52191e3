package rules

import (
	"strings"

	"precis/summarize/rules/page"
	"precis/summarize/rules/words"
)

// A page with a list (of articles, of results) is read item by item: what belongs to one stands below its title, since its date or its category would
// be taken for those of the item above. Titles come before what the items say, and names that the items share come last.

const (
	// itemWorth is the worth of an item's title: that of a sentence of its length.
	itemWorth = 0.2
	// longestItem is up to how many lines an item has: a longer one is a part of the page.
	longestItem = 60
)

// holdsItem reports whether elements of a role are items of a list.
func holdsItem(role string) bool { return role == "listitem" || role == "article" }

// findItems finds the title of the item that each line is in: its first heading, or else its first link. An item that says no more than one thing has none.
func (d *document) findItems() {
	d.itemOf, d.items = make([]int32, len(d.lines)), make([]int32, len(d.lines))
	var open []int // the items that the next line may be in
	for i := range d.lines {
		d.itemOf[i], d.items[i] = words.None, words.None
		l := &d.lines[i]
		if !l.starts {
			continue
		}
		for n := len(open); n > 0 && d.lines[open[n-1]].indent >= l.indent; n = len(open) {
			open = open[:n-1]
		}
		if n := len(open); n > 0 {
			d.itemOf[i] = int32(open[n-1])
		}
		if e, ok := page.ElementIn(l.text); ok && holdsItem(e.Role) {
			if title := d.titleOf(i); title >= 0 {
				open = append(open, i)
				if d.titles == nil {
					d.titles = map[int32]int32{}
				}
				d.titles[int32(i)] = int32(title)
			}
		}
	}
	shared := map[string]int{}   // by name: the links that items have beside their titles
	name := func(i int) string { // of such a link; empty for other elements
		if e, ok := page.ElementIn(d.lines[i].text); ok && e.Role == "link" && d.items[i] >= 0 {
			return e.Name
		}
		return ""
	}
	for i := range d.lines {
		if title, ok := d.titles[d.itemOf[i]]; ok && int32(i) > title {
			d.items[i] = title
			shared[name(i)]++
		}
	}
	for i := range d.lines {
		if l := &d.lines[i]; l.favour == actWorth && name(i) != "" && shared[name(i)] > 1 {
			l.favour = wrapWorth
		}
	}
}

// titleOf returns the line with the title of an item; none if the item has nothing else.
func (d *document) titleOf(item int) int {
	title, heads, said := words.None, false, 0
	for i := item + 1; i < len(d.lines) && d.lines[i].indent > d.lines[item].indent; i++ {
		l := &d.lines[i]
		e, ok := page.ElementIn(l.text)
		if i-item > longestItem || ok && holdsItem(e.Role) {
			return words.None // a part of the page, or a list in a list
		}
		if !ok || !l.starts || l.aside || strings.TrimSpace(e.Name) == "" || page.IsGlyph(l.text) || l.dull() {
			continue
		}
		said++
		if e.Role == "heading" && !heads || e.Role == "link" && title < 0 {
			title, heads = i, e.Role == "heading"
		}
	}
	if said < 2 || title >= 0 && d.lines[title].favour == wrapWorth { // of a navigation
		return words.None
	}
	return title
}

// isTitle reports whether a line is the title of an item.
func (d *document) isTitle(i int) bool {
	title, ok := d.titles[d.itemOf[i]]
	return ok && title == int32(i)
}

// ownerIn returns what a text is about beside its item: what the page has in front of it may be of another item, or say less than the item's title.
func (d *document) ownerIn(i int) int32 {
	owner := d.ownerOf(i)
	if owner < 0 || d.itemOf[owner] < 0 && d.itemOf[i] < 0 {
		return owner
	}
	if e, _ := page.ElementIn(d.lines[owner].text); d.itemOf[owner] != d.itemOf[i] || e.Role == "link" || d.isTitle(int(owner)) {
		return words.None
	}
	return owner
}

// entersItem reports whether a line without a title above it is in another item than the one shown above it.
func (d *document) entersItem(above, line int) bool {
	return d.itemOf != nil && d.itemOf[above] != d.itemOf[line] && d.openers(line) == [2]int{words.None, words.None} && !d.isTitle(line) && page.IsText(d.lines[line].text)
}

// hidesItem reports whether an item stands between the one that the line shown above is in and the one of which this line is the title.
func (d *document) hidesItem(above, line int) bool {
	if d.itemOf == nil || d.itemOf[above] < 0 || !d.isTitle(line) {
		return false
	}
	item := int(d.itemOf[line])
	for i := above + 1; i < item; i++ {
		if e, ok := page.ElementIn(d.lines[i].text); ok && holdsItem(e.Role) && d.lines[i].indent == d.lines[item].indent {
			return true
		}
	}
	return false
}
