package rules

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/html"

	"precis/summarize/lex"
	"precis/summarize/rules/page"
	"precis/summarize/rules/words"
)

// addHTML adds the content of a page: every run of text between tags, and the addresses of its links.
// It skips scripts, styles and drawings.
func (d *document) addHTML(text string) {
	d.total, d.rendered = strings.Count(text, "\n")+1, true
	page := html.NewTokenizer(strings.NewReader(text))
	within, title := "", ""
	for {
		switch page.Next() {
		case html.ErrorToken:
			if d.title == "" {
				d.title = lex.OneLine(unescaped(title))
			}
			return
		case html.TextToken:
			if within == "" || within == "title" {
				d.addRun(string(page.Raw()))
			}
			if within == "title" && title == "" {
				title = string(page.Raw())
			}
		case html.EndTagToken:
			if name, _ := page.TagName(); string(name) == within {
				within = ""
			}
		case html.StartTagToken:
			tag, more := page.TagName()
			switch name := string(tag); {
			case within != "":
			case name == "script" || name == "style" || name == "svg" || name == "title":
				within = name
			case name == "a" && more:
				d.addLink(page)
			}
		}
	}
}

// addLink adds the address of a link.
func (d *document) addLink(page *html.Tokenizer) {
	raw := string(page.Raw())
	for more := true; more; {
		var name, value []byte
		name, value, more = page.TagAttr()
		url := string(value)
		if string(name) != "href" || url == "" || url[0] == '#' || strings.HasPrefix(url, "javascript:") {
			continue
		}
		d.links++
		if strings.HasPrefix(url, "http") || strings.HasPrefix(url, "/") {
			d.addText(raw, lex.OneLine(url))
		}
	}
}

// addRun adds text in the source's lines, with its entities decoded: tags are searched in the source, so
// that a decoded '<' never is one.
func (d *document) addRun(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		d.addText(line, unescaped(line))
	}
}

// addText adds a line of a page as its reader sees it. If that differs from the source, it does not count as a source line.
func (d *document) addText(source, text string) {
	text = strings.TrimRight(text, " \t")
	if strings.TrimSpace(text) == "" {
		return
	}
	before := len(d.lines)
	d.add(text, 0)
	for i := before; i < len(d.lines); i++ {
		d.lines[i].altered = !strings.Contains(source, text)
	}
}

// unescaped returns a page's text as a reader sees it, on one line: non-breaking spaces become spaces, and control
// characters and invisible entities are removed.
func unescaped(text string) string {
	plain := html.UnescapeString(text)
	if plain == text {
		return text
	}
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r) || unicode.IsControl(r):
			return ' '
		case isFormat(r):
			return -1
		}
		return r
	}, plain)
}

// isFormat reports whether a character is invisible, except for those that join letters or keep them apart.
func isFormat(r rune) bool { return unicode.Is(unicode.Cf, r) && r != lex.Joiner && r != lex.NonJoiner }

// Factors on the worth of elements' lines.
const (
	actWorth  = 3
	didWorth  = 4    // what the call acted on: whether it took effect
	wrapWorth = 0.2  // without a name of its own
	dullWorth = 0.1  // of a role that says nothing without a name
	restWorth = 0.02 // the rest of a long line other than a text: of an address
)

// ofElement fits a line of an accessibility tree for being shown.
func (d *document) ofElement(l *line) {
	e, ok := page.ElementIn(l.text)
	if !ok {
		return
	}
	name, contents := page.Glyph.ReplaceAllString(e.Name, ""), page.LeadsWithin(l.text)
	l.text = strings.TrimRight(strings.Replace(l.text[:e.End], e.Name, name, 1), " ,:")
	if strings.TrimSpace(name) == "" {
		name = ""
	}
	framed := d.frames(e, l.indent)
	repeats := e.Role == "StaticText" && strings.Contains(d.named, name)
	within := d.saidByParent(e.Role, name, page.ValueIn(l.text), l.indent)
	if name != "" && e.Role != "StaticText" && !within {
		d.named = name
	}
	again := d.elements[e.Role+name]
	if d.elements == nil {
		d.elements = map[string]bool{}
	}
	d.elements[e.Role+name] = true
	l.aside = within || name == "" && !page.TakesInput(e.Role) && !page.InState(l.text) && !strings.Contains(l.text, "]: ") && !d.actedOn[page.IdOf(l.text)]
	switch {
	case d.actedOn[page.IdOf(l.text)]:
		l.favour, l.aside = didWorth, false
	case d.alerts(e, l.indent) && name != "":
		l.favour = didWorth
	case e.Role == "RootWebArea" || repeats || e.Role == "StaticText" && consent.MatchString(name):
		l.favour = dullWorth // the title is in the header
	case framed && !page.Acts(e.Role):
		l.favour = dullWorth
	case framed && !page.InState(l.text):
		l.favour = wrapWorth
	case name == "" && !page.Acts(e.Role) && e.Role != "LabelText" && !strings.Contains(l.text, "]: "):
		l.favour = dullWorth
	case name == "" || again || contents || e.Role == "option" && !page.InState(l.text):
		l.favour = wrapWorth
	case page.Acts(e.Role):
		l.favour = actWorth
	case isCell(l.text) || e.Role == "row":
		l.favour = wrapWorth // their text is that of the elements in them
	}
}

// consent matches what a page asks of everybody who comes.
var consent = regexp.MustCompile(`(?i)\b(?:we|site|website|uses?) .*\bcookies\b|\bcookies\b.*\b(?:consent|essential|policy|settings|preferences)\b`)

// quietConsent makes the short texts and the buttons around what asks for consent come last too: the name of the site, and what is answered.
func (d *document) quietConsent() {
	const before, behind, short = 1, 3, 40 // lines, characters
	for i := range d.lines {
		if e, ok := page.ElementIn(d.lines[i].text); !ok || e.Role != "StaticText" || !consent.MatchString(e.Name) {
			continue
		}
		for j := max(0, i-before); j <= min(len(d.lines)-1, i+behind); j++ {
			l := &d.lines[j]
			switch e, ok := page.ElementIn(l.text); {
			case !ok || j == i || l.indent != d.lines[i].indent || l.favour == didWorth || lex.Runes(e.Name) > short:
			case e.Role == "StaticText":
				l.favour = dullWorth
			case page.Acts(e.Role):
				l.favour = wrapWorth
			}
		}
	}
}

// readCells makes texts of the cells of tables that have columns with names, but for those that elements say which a user acts on.
func (d *document) readCells() {
	columns := words.None // the indentation of their names
	for i := range d.lines {
		l := &d.lines[i]
		e, ok := page.ElementIn(l.text)
		switch {
		case ok && e.Role == "columnheader":
			columns = l.indent
		case ok && (e.Role == "table" || e.Role == "grid"):
			columns = words.None
		case ok && l.indent == columns && l.favour == wrapWorth && !l.aside && isCell(l.text) && e.Name != "" && !d.actsWithin(i):
			l.favour = 0
		}
	}
}

// actsWithin reports whether an element has one in it that a user acts on.
func (d *document) actsWithin(line int) bool {
	for i := line + 1; i < len(d.lines) && d.lines[i].indent > d.lines[line].indent; i++ {
		if e, ok := page.ElementIn(d.lines[i].text); ok && (page.Acts(e.Role) || page.TakesInput(e.Role)) {
			return true
		}
	}
	return false
}

// frames reports whether an element is part of what all pages of a site have: what stands before the main part, or in navigation.
func (d *document) frames(e page.Element, indent int) bool {
	d.before = d.before && e.Role != "main"
	if d.chrome >= 0 && indent <= d.chrome {
		d.chrome = words.None
	}
	if d.chrome < 0 && (e.Role == "navigation" || e.Role == "banner" || e.Role == "contentinfo") {
		d.chrome = indent
	}
	return d.before || d.chrome >= 0
}

// noAction is why a browser's driver could not act on an element.
var noAction = regexp.MustCompile(`intercepts pointer events|element is not (?:visible|enabled|editable|stable)|outside of the viewport|strict mode violation|element (?:was )?(?:detached|not found)`)

// refused returns the first line that says why an action on a page failed.
func (d *document) refused() []int {
	for i := range d.lines {
		if noAction.MatchString(d.lines[i].text) {
			return []int{i}
		}
	}
	return nil
}

// labelled returns the line of the text that an element without a name has in it; none if there is none.
func (d *document) labelled(at int) int {
	if e, ok := page.ElementIn(d.lines[at].text); !ok || e.Name != "" {
		return words.None
	}
	for i := at + 1; i < len(d.lines) && d.lines[i].indent > d.lines[at].indent; i++ {
		if e, ok := page.ElementIn(d.lines[i].text); ok && e.Name != "" {
			return i
		}
	}
	return words.None
}

// looksSnapshot recognizes such a tree by its first lines.
func looksSnapshot(content string) bool {
	const least = 8
	lines, elements := firstOf(content, 2*sampled, func(line string) bool {
		line = strings.TrimSpace(line)
		e, ok := page.ElementIn(line)
		return ok && (e.Name != "" || strings.Contains(line, "''") || strings.Contains(line, "[ref="))
	})
	return elements >= least && elements*2 > lines
}

// saidByParent reports whether an element only repeats what the element around it is called, on which a user acts, or what is filled in there: the heading
// and the text in a link.
func (d *document) saidByParent(role, name, value string, indent int) bool {
	for n := len(d.parents); n > 0 && d.parents[n-1].indent >= indent; n = len(d.parents) {
		d.parents = d.parents[:n-1]
	}
	within := false
	for _, p := range d.parents {
		switch {
		case name == "" || !strings.Contains(p.name, name) && (p.value == "" || p.value != name):
		case !page.Acts(role):
			within = true
		case name == p.name && !p.acts && p.line < len(d.lines) && strings.Contains(d.lines[p.line].text, name): // the link in a heading says the same, and has the id
			d.lines[p.line].aside = d.lines[p.line].favour != didWorth
		}
	}
	if name != "" && (page.Acts(role) || role == "heading") || value != "" {
		d.parents = append(d.parents, parent{indent: indent, line: len(d.lines), name: name, value: value, acts: page.Acts(role)})
	}
	return within
}

// parent is an element with a name around the ones to come.
type parent struct {
	indent, line int
	name, value  string
	acts         bool
}

// alerts reports whether an element is a message of the page, or in one.
func (d *document) alerts(e page.Element, indent int) bool {
	if d.alert >= 0 && indent <= d.alert {
		d.alert = words.None
	}
	if d.alert < 0 && (e.Role == "alert" || e.Role == "alertdialog") {
		d.alert = indent
	}
	return d.alert >= 0
}

// findOwners finds what the texts of a page are about: the named element that they are in, or the heading, the link or the label in front of them.
// Without it they would be read as what the line above them says.
func (d *document) findOwners() {
	d.above = make([]int32, len(d.lines))
	alike := d.alikeStates()
	d.quietConsent()
	d.readCells()
	d.findItems()
	var open []int // the lines of the elements that the next one may be in
	for i := range d.above {
		d.above[i] = words.None
		if d.lines[i].starts {
			for n := len(open); n > 0 && d.lines[open[n-1]].indent >= d.lines[i].indent; n = len(open) {
				open = open[:n-1]
			}
			if alike[i] {
				d.above[i] = d.groupOf(open)
			}
			open = append(open, i)
		}
		if l := &d.lines[i]; !l.aside && !l.dull() && page.IsText(l.text) {
			d.above[i] = d.ownerIn(i)
		}
	}
}

// alikeStates returns which elements in a state are called as others in one are: four times what is chosen says nothing without what it is chosen for.
func (d *document) alikeStates() map[int]bool {
	first, alike := map[string]int{}, map[int]bool{}
	for i := range d.lines {
		if l := &d.lines[i]; l.starts && page.InState(l.text) {
			e, _ := page.ElementIn(l.text)
			if at, ok := first[e.Role+e.Name]; ok {
				alike[at], alike[i] = true, true
			} else {
				first[e.Role+e.Name] = i
			}
		}
	}
	return alike
}

// groupOf returns the innermost named element of those that an element is in.
func (d *document) groupOf(open []int) int32 {
	for _, j := range slices.Backward(open) {
		if e, ok := page.ElementIn(d.lines[j].text); ok && strings.TrimSpace(e.Name) != "" && e.Role != "RootWebArea" {
			return int32(j)
		}
	}
	return words.None
}

// ownerOf returns the line that a text is about, from those in front of it.
func (d *document) ownerOf(i int) int32 {
	const farthest = 60 // lines
	indent := d.lines[i].indent
	unlabelled := d.isLabel(i) || continues(d.lines[i].text) // no label in front is what it is about
	for j := i - 1; j >= max(0, i-farthest); j-- {
		o := &d.lines[j]
		e, ok := page.ElementIn(o.text)
		if !ok || !o.starts {
			continue
		}
		inner := o.indent >= indent
		if e.Name != "" && !o.aside && (e.Role == "heading" || e.Role == "link" || e.Role == "LabelText" || !inner && owns(e.Role)) {
			return int32(j)
		}
		if inner && e.Role == "StaticText" {
			switch above := d.above[j]; {
			case !unlabelled && o.indent > indent && d.isLabel(j) && d.lines[j-1].indent == indent:
				return int32(j)
			case o.indent != indent || above < 0:
			case !unlabelled || !d.isLabel(int(above)):
				return above
			case d.above[above] >= 0: // what ends here is not about the next label
				return d.above[above]
			}
		}
		indent = min(indent, o.indent)
		unlabelled = unlabelled || e.Name == "" && o.indent <= indent && !setsOff(e.Role) // a block of its own
	}
	return words.None
}

// continues reports whether a text goes on with a sentence, of which words in bold are a part.
func continues(text string) bool {
	e, _ := page.ElementIn(text)
	text = strings.TrimLeft(e.Name, " ")
	return text != "" && (lex.IsLower(text[0]) || strings.IndexByte(",.;:)", text[0]) >= 0)
}

// setsOff reports whether an element of a role may be a label, or what one is about.
func setsOff(role string) bool {
	return role == "strong" || role == "term" || role == "LabelText" || role == "definition"
}

// isLabel reports whether a text is all that an element without a name has, by which a page sets off what the texts behind it are: a term, words in bold.
func (d *document) isLabel(i int) bool {
	if i == 0 || !page.IsText(d.lines[i].text) {
		return false
	}
	if e, _ := page.ElementIn(d.lines[i].text); strings.TrimSpace(e.Name) == "" {
		return false
	}
	around := &d.lines[i-1]
	e, ok := page.ElementIn(around.text)
	if !ok || e.Name != "" || !setsOff(e.Role) || e.Role == "definition" {
		return false
	}
	return around.indent < d.lines[i].indent && (i+1 == len(d.lines) || d.lines[i+1].indent <= around.indent)
}

// owns reports whether a named element of a role is what the texts in it are about.
func owns(role string) bool {
	switch role {
	case "button", "listitem", "group", "dialog", "alert", "alertdialog", "article", "tab", "tabpanel", "figure", "radiogroup", "checkbox", "radio", "option", "menuitem":
		return true
	}
	return false
}

// pageAddress matches the address of a page: as a driver states it, and that of a page or of a frame in it.
var pageAddress = regexp.MustCompile(`(?m)^\s*(?:- (?:Page )?URL: (\S+)|(?:\[\w+\] )?RootWebArea '[^'\n]+'[^\n]*? url='([^'\s]+)')`)

// address returns which page a tree is of: the path of its address, of the last frame if there are several, without what is behind it.
func (d *document) address() string {
	const first = 16 << 10
	path := ""
	for _, m := range pageAddress.FindAllStringSubmatch(lex.Head(d.source, first), -1) {
		if u, err := url.Parse(m[1] + m[2]); err == nil && u.Host != "" {
			if path = strings.Trim(u.Path, "/"); path == "" {
				path = u.Host
			}
		}
	}
	return path
}
