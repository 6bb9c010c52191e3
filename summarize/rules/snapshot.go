package rules

import (
	"regexp"
	"strings"

	"precis/summarize/lex"
)

// An accessibility tree, as a browser's driver prints it, is shown by its elements that a user can act on, with their role,
// name and state: `[a405] link 'iPad pro'`, `- checkbox "Save this card" [ref=e29]`. What wraps them, and their other
// attributes, are left out.

// element is a line of such a tree.
type element struct {
	role, name string
	end        int // of what is worth showing of the line, in bytes
}

// elementIn reads a line without its indentation.
func elementIn(text string) (e element, ok bool) {
	at := 0
	switch {
	case text == "":
		return e, false
	case text[0] == '[':
		if at = strings.Index(text[:min(len(text), 24)], "] ") + 2; at < 2 {
			return e, false
		}
	case strings.HasPrefix(text, "- "):
		at = 2
	}
	for e.end = at; e.end < len(text) && (lex.IsLower(text[e.end]) || lex.IsUpper(text[e.end])); e.end++ {
	}
	e.role = text[at:e.end]
	rest := text[e.end:]
	bullet := text[0] == '-'
	switch {
	case e.role == "":
		return e, false
	case strings.HasPrefix(rest, " '") || strings.HasPrefix(rest, ` "`) || strings.HasPrefix(rest, " ["):
	case !bullet || rest != "" && rest[0] != ':':
		return e, false
	}
	if len(rest) > 2 && (rest[1] == '\'' || rest[1] == '"') {
		if n := strings.IndexByte(rest[2:], rest[1]); n >= 0 {
			e.name = rest[2 : 2+n]
			e.end += n + 3
		}
	}
	e.end += ofState(text[e.end:])
	return e, true
}

// ofState returns how many bytes of an element's attributes tell its state, up to the first that does not.
func ofState(attributes string) int {
	if at := strings.Index(attributes, " [url: "); at >= 0 {
		attributes = attributes[:at]
	}
	end := 0
	for end < len(attributes) {
		next := strings.IndexByte(attributes[end+1:], ',') + end + 1
		if next <= end {
			next = len(attributes)
		}
		key, _, _ := strings.Cut(strings.TrimLeft(attributes[end:next], ", "), "=")
		switch key {
		case "url", "live", "atomic", "relevant", "hasPopup", "describedby", "labelledby", "controls", "owns", "orientation", "multiselectable", "autocomplete", "haspopup", "roledescription", "keyshortcuts":
			return end
		}
		end = next
	}
	return end
}

// acts reports whether a user acts on elements of a role.
func acts(role string) bool {
	switch role {
	case "link", "button", "textbox", "combobox", "checkbox", "radio", "option", "menuitem", "tab", "switch", "searchbox", "slider", "spinbutton", "listbox", "textarea", "select", "input":
		return true
	}
	return false
}

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
	e, ok := elementIn(l.text)
	if !ok {
		return
	}
	name := glyph.ReplaceAllString(e.name, "")
	l.text = strings.TrimRight(strings.Replace(l.text[:e.end], e.name, name, 1), " ,:")
	framed := d.frames(e, l.indent)
	repeats := e.role == "StaticText" && strings.Contains(d.named, name)
	if name != "" && e.role != "StaticText" {
		d.named = name
	}
	again := d.elements[e.role+name]
	if d.elements == nil {
		d.elements = map[string]bool{}
	}
	d.elements[e.role+name] = true
	switch {
	case d.actedOn[idOf(l.text)]:
		l.favour = didWorth
	case e.role == "RootWebArea" || repeats:
		l.favour = dullWorth // the title is in the header
	case framed && !acts(e.role):
		l.favour = dullWorth
	case framed && !inState(l.text):
		l.favour = wrapWorth
	case name == "" && !acts(e.role) && e.role != "LabelText" && !strings.Contains(l.text, "]: "):
		l.favour = dullWorth
	case name == "" || again || e.role == "option" && !inState(l.text):
		l.favour = wrapWorth
	case acts(e.role):
		l.favour = actWorth
	case e.role == "cell" || e.role == "row" || e.role == "gridcell":
		l.favour = wrapWorth // their text is that of the elements in them
	}
}

// mainPart matches where a page's own content begins.
var mainPart = regexp.MustCompile(`(?m)^\s*(?:\[\w+\] |- )?main\b`)

// frames reports whether an element is part of what all pages of a site have: what stands before the main part, or in navigation.
func (d *document) frames(e element, indent int) bool {
	d.before = d.before && e.role != "main"
	if d.chrome >= 0 && indent <= d.chrome {
		d.chrome = none
	}
	if d.chrome < 0 && (e.role == "navigation" || e.role == "banner" || e.role == "contentinfo") {
		d.chrome = indent
	}
	return d.before || d.chrome >= 0
}

// glyph matches the sign of an icon font in front of a name.
var glyph = regexp.MustCompile(`^(?:\\u[ef][0-9a-f]{3} ?)+`)

// inState reports whether an element is checked, chosen, pressed or filled in: a form is read for that.
func inState(text string) bool {
	return strings.Contains(text, "checked='true'") || strings.Contains(text, "selected=True") || strings.Contains(text, "pressed='true'") || strings.Contains(text, ", focused") ||
		strings.Contains(text, " value='") || strings.Contains(text, "[checked]") || strings.Contains(text, "[selected]") || strings.Contains(text, "[active]")
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
	if e, ok := elementIn(d.lines[at].text); !ok || e.name != "" {
		return none
	}
	for i := at + 1; i < len(d.lines) && d.lines[i].indent > d.lines[at].indent; i++ {
		if e, ok := elementIn(d.lines[i].text); ok && e.name != "" {
			return i
		}
	}
	return none
}

// idOf returns an element's id: `[a12] button 'Go'`, `- button "Go" [ref=e12]`.
func idOf(text string) string {
	if _, ref, ok := strings.Cut(text, "[ref="); ok {
		text = ref
	}
	id, _, _ := strings.Cut(strings.TrimPrefix(text, "["), "]")
	return id
}

// isGlyph matches a text that is a sign, or one character of an icon font.
func isGlyph(text string) bool {
	e, ok := elementIn(text)
	if !ok || e.role != "StaticText" && e.role != "ListMarker" {
		return false
	}
	if glyph, ok := strings.CutPrefix(e.name, `\u`); ok {
		return len(glyph) == len("f12d") && glyph[0] >= 'e'
	}
	return lex.Runes(e.name) == 1 && strings.ContainsAny(e.name, ">•|·/*:-–—›»")
}

// looksSnapshot recognizes such a tree by its first lines.
func looksSnapshot(content string) bool {
	const least = 8
	lines, elements := firstOf(content, 2*sampled, func(line string) bool {
		line = strings.TrimSpace(line)
		e, ok := elementIn(line)
		return ok && (e.name != "" || strings.Contains(line, "''") || strings.Contains(line, "[ref="))
	})
	return elements >= least && elements*2 > lines
}
