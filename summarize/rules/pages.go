package rules

import (
	"regexp"
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
	d.total = strings.Count(text, "\n") + 1
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
		if url := string(value); string(name) == "href" && (strings.HasPrefix(url, "http") || strings.HasPrefix(url, "/")) {
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
	restWorth = 0.02 // the rest of a long line: of an address
)

// ofElement fits a line of an accessibility tree for being shown.
func (d *document) ofElement(l *line) {
	e, ok := page.ElementIn(l.text)
	if !ok {
		return
	}
	name := page.Glyph.ReplaceAllString(e.Name, "")
	l.text = strings.TrimRight(strings.Replace(l.text[:e.End], e.Name, name, 1), " ,:")
	framed := d.frames(e, l.indent)
	repeats := e.Role == "StaticText" && strings.Contains(d.named, name)
	if name != "" && e.Role != "StaticText" {
		d.named = name
	}
	again := d.elements[e.Role+name]
	if d.elements == nil {
		d.elements = map[string]bool{}
	}
	d.elements[e.Role+name] = true
	switch {
	case d.actedOn[page.IdOf(l.text)]:
		l.favour = didWorth
	case e.Role == "RootWebArea" || repeats:
		l.favour = dullWorth // the title is in the header
	case framed && !page.Acts(e.Role):
		l.favour = dullWorth
	case framed && !page.InState(l.text):
		l.favour = wrapWorth
	case name == "" && !page.Acts(e.Role) && e.Role != "LabelText" && !strings.Contains(l.text, "]: "):
		l.favour = dullWorth
	case name == "" || again || e.Role == "option" && !page.InState(l.text):
		l.favour = wrapWorth
	case page.Acts(e.Role):
		l.favour = actWorth
	case e.Role == "cell" || e.Role == "row" || e.Role == "gridcell":
		l.favour = wrapWorth // their text is that of the elements in them
	}
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
