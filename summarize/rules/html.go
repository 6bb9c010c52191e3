package rules

import (
	"strings"
	"unicode"

	"golang.org/x/net/html"

	"precis/summarize/lex"
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
