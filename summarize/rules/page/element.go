package page

import (
	"regexp"
	"strings"

	"precis/summarize/lex"
)

// An accessibility tree, as a browser's driver prints it, is shown by its elements that a user can act on, with their role,
// name and state: `[a405] link 'iPad pro'`, `- checkbox "Save this card" [ref=e29]`. What wraps them, and their other
// attributes, are left out.

// Element is a line of such a tree.
type Element struct {
	Role, Name string
	End        int // of what is worth showing of the line, in bytes
}

// ElementIn reads a line without its indentation.
func ElementIn(text string) (e Element, ok bool) {
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
	for e.End = at; e.End < len(text) && (lex.IsLower(text[e.End]) || lex.IsUpper(text[e.End])); e.End++ {
	}
	e.Role = text[at:e.End]
	rest := text[e.End:]
	bullet := text[0] == '-'
	switch {
	case e.Role == "":
		return e, false
	case strings.HasPrefix(rest, " '") || strings.HasPrefix(rest, ` "`) || strings.HasPrefix(rest, " ["):
	case text[0] == '[' && rest == "": // it has no name, and nothing is said of it
	case !bullet || rest != "" && rest[0] != ':':
		return e, false
	}
	if len(rest) > 2 && (rest[1] == '\'' || rest[1] == '"') {
		if n := strings.IndexByte(rest[2:], rest[1]); n >= 0 {
			e.Name = rest[2 : 2+n]
			e.End += n + 3
		}
	}
	e.End += ofState(text[e.End:])
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

// Acts reports whether a user acts on elements of a role.
func Acts(role string) bool {
	switch role {
	case "link", "button", "textbox", "combobox", "checkbox", "radio", "option", "menuitem", "tab", "switch", "searchbox", "slider", "spinbutton", "listbox", "textarea", "select", "input":
		return true
	}
	return false
}

// MainPart matches where a page's own content begins.
var MainPart = regexp.MustCompile(`(?m)^\s*(?:\[\w+\] |- )?main\b`)

// Glyph matches the sign of an icon font in front of a name.
var Glyph = regexp.MustCompile(`^(?:\\u[ef][0-9a-f]{3} ?)+`)

// InState reports whether an element is checked, chosen, pressed or filled in: a form is read for that.
func InState(text string) bool {
	return strings.Contains(text, "checked='true'") || strings.Contains(text, "selected=True") || strings.Contains(text, "pressed='true'") || strings.Contains(text, ", focused") ||
		strings.Contains(text, " value='") || quotedValue(text) || strings.Contains(text, "[checked]") || strings.Contains(text, "[selected]") || strings.Contains(text, "[active]")
}

// quotedValue reports whether an element has a value with an apostrophe in it: a driver's own lines have a page's markup with `value="on"`.
func quotedValue(text string) bool {
	if !strings.Contains(text, ` value="`) {
		return false
	}
	_, ok := ElementIn(text)
	return ok
}

// ValueIn returns what is filled in or chosen in an element: ` value='10'`.
func ValueIn(text string) string {
	_, rest, ok := strings.Cut(text, " value=")
	if !ok || rest == "" || rest[0] != '\'' && rest[0] != '"' {
		return ""
	}
	value, _, _ := strings.Cut(rest[1:], rest[:1])
	return value
}

// IdOf returns an element's id: `[a12] button 'Go'`, `- button "Go" [ref=e12]`.
func IdOf(text string) string {
	if _, ref, ok := strings.Cut(text, "[ref="); ok {
		text = ref
	}
	id, _, _ := strings.Cut(strings.TrimPrefix(text, "["), "]")
	return id
}

// IsGlyph matches a text that is a sign, or one character of an icon font.
func IsGlyph(text string) bool {
	e, ok := ElementIn(text)
	if !ok || e.Role != "StaticText" && e.Role != "ListMarker" {
		return false
	}
	if glyph, ok := strings.CutPrefix(e.Name, `\u`); ok {
		return len(glyph) == len("f12d") && glyph[0] >= 'e'
	}
	return lex.Runes(e.Name) == 1 && strings.ContainsAny(e.Name, ">•|·/*:-–—›»")
}

// IsText reports whether an element is a text, with an id or without.
func IsText(text string) bool {
	if text != "" && text[0] == '[' {
		_, text, _ = strings.Cut(text, "] ")
	}
	return strings.HasPrefix(text, "StaticText ")
}

// LeadsWithin reports whether a link leads to a place in a page: as those of its table of contents do. An address of an application has a slash there.
func LeadsWithin(text string) bool { return within.MatchString(text) }

var within = regexp.MustCompile(`(?:\[url: |url=['"]|/url: ["']?)[^\s'"\]]*#[^\s'"\]/!]+['"\]]`)

// TakesInput reports whether a user fills in or chooses elements of a role: one without a name counts too.
func TakesInput(role string) bool {
	switch role {
	case "textbox", "combobox", "checkbox", "radio", "switch", "searchbox", "slider", "spinbutton", "listbox", "textarea", "select", "input":
		return true
	}
	return false
}
