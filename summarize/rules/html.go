package rules

import (
	"html"
	"strings"
	"unicode"
	"unicode/utf8"

	"precis/summarize/lex"
)

// addHTML adds the content of a page: every run of text between tags, and the addresses of its links.
// It skips scripts and styles.
func (d *document) addHTML(text string) {
	d.total = strings.Count(text, "\n") + 1
	title := "" // text inside <title>
	for text != "" {
		open := strings.IndexByte(text, '<')
		if open < 0 {
			open = len(text)
		}
		d.addRun(text[:open])
		if text = text[open:]; text == "" {
			break
		}
		end := tagEnd(text)
		name := tagName(text[:end])
		switch name {
		case "script", "style", "svg":
			if name != "svg" || !strings.HasSuffix(text[:end], "/>") { // the others can't be self-closing
				end += closing(text[end:], name)
			}
		case "title":
			title, _, _ = strings.Cut(text[end:], "<")
		case "a":
			url := oneLine(attribute(text[:end], "href"))
			d.addText(url, strings.ReplaceAll(url, "&amp;", "&")) // "&region=" is no "®ion=" there
		}
		text = text[end:]
	}
	if d.title == "" {
		d.title = oneLine(unescaped(title))
	}
}

// closing returns the position of an element's end tag in s, or the end of s. The text before it is not markup:
// "a<b" in a script opens no tag, and must not swallow the end.
func closing(s, name string) int {
	for at := 0; ; at += 2 {
		i := strings.Index(s[at:], "</")
		if i < 0 {
			return len(s)
		}
		at += i
		if tag := s[at:]; len(tag) > 2+len(name) && strings.EqualFold(tag[2:2+len(name)], name) && strings.IndexByte(" \t\r\n\f/>", tag[2+len(name)]) >= 0 {
			return at
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
		d.lines[i].altered = !strings.HasPrefix(source, text)
	}
}

// unescaped returns a page's text as a reader sees it, on one line: non-breaking spaces become spaces, and control
// characters and invisible entities are removed.
func unescaped(text string) string {
	plain := html.UnescapeString(text)
	if plain == text {
		return text
	}
	if strings.ContainsFunc(plain, isFormat) {
		plain = withoutFormat(text)
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			return ' '
		}
		return r
	}, plain)
}

// withoutFormat is unescaped text without the invisible characters of its entities: those that change the direction of
// the following text, or separate without a space.
func withoutFormat(text string) string {
	var b strings.Builder
	for i, part := range strings.Split(text, "&") {
		if i > 0 { // an entity may begin here
			part = html.UnescapeString("&" + part)
			if r, n := utf8.DecodeRuneInString(part); isFormat(r) {
				part = part[n:]
			}
		}
		b.WriteString(part)
	}
	return b.String()
}

// isFormat reports whether a character is invisible, except for those that join letters or keep them apart.
func isFormat(r rune) bool { return unicode.Is(unicode.Cf, r) && r != lex.Joiner && r != lex.NonJoiner }

// tagEnd returns the end of the tag, comment or declaration at the start of s; one that does not close is a character.
func tagEnd(s string) int {
	if strings.HasPrefix(s, "<!--") {
		if i := strings.Index(s, "-->"); i > 0 {
			return i + 3
		}
		return len(s)
	}
	const longestTag = 4096 // a '<' of a formula must not swallow the page
	if i := strings.IndexByte(s[:min(len(s), longestTag)], '>'); i > 0 {
		return i + 1
	}
	return 1
}

func tagName(tag string) string {
	name := strings.TrimRight(strings.TrimPrefix(tag, "<"), ">")
	if i := strings.IndexAny(name, " \t\n"); i >= 0 {
		name = name[:i]
	}
	return strings.ToLower(name[:min(len(name), 12)])
}

// attribute returns the value of a tag's quoted attribute, if it is an address worth showing.
func attribute(tag, name string) string {
	i := strings.Index(tag, name+"=")
	if i < 0 || i+len(name)+2 >= len(tag) {
		return ""
	}
	rest := tag[i+len(name)+1:]
	quote := rest[0]
	if quote != '"' && quote != '\'' {
		return ""
	}
	value, _, ok := strings.Cut(rest[1:], string(quote))
	if !ok || !strings.HasPrefix(value, "http") && !strings.HasPrefix(value, "/") {
		return ""
	}
	return value
}
