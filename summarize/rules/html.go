package rules

import (
	"html"
	"strings"
	"unicode"
	"unicode/utf8"
)

// addHTML adds what a page says: every run of text between tags, and the addresses that it links to.
// Scripts and styles say nothing to a reader.
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
			if name != "svg" || !strings.HasSuffix(text[:end], "/>") { // the others can't close themselves
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

// closing is where the end tag of an element is in s; where it has none, behind s. What stands before it is no markup:
// "a<b" of a script opens no tag, and must not swallow the end.
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

// addRun adds text in lines as the source has them, their entities as the characters that they stand for: what is
// looked for tags is the source, so that a '<' of the text is never one.
func (d *document) addRun(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		d.addText(line, unescaped(line))
	}
}

// addText adds a line of a page as its reader sees it. Where that is not what the source has, it is none of its lines.
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

// unescaped is text of a page as a reader sees it, in one line: spaces that don't break are spaces, control
// characters are none, and no entity is one that can't be seen.
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

// withoutFormat is unescaped text less the characters that its entities hide in it: what turns the direction of what
// follows, or separates without a space.
func withoutFormat(text string) string {
	var b strings.Builder
	for i, part := range strings.Split(text, "&") {
		if i > 0 { // an entity begins it, if there is one
			part = html.UnescapeString("&" + part)
			if r, n := utf8.DecodeRuneInString(part); isFormat(r) {
				part = part[n:]
			}
		}
		b.WriteString(part)
	}
	return b.String()
}

// isFormat tells a character that is not drawn, but for those that join letters or keep them apart.
func isFormat(r rune) bool { return unicode.Is(unicode.Cf, r) && r != joiner && r != nonJoiner }

// tagEnd is behind the tag, comment or declaration that s begins with; one that does not close is a character.
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

// attribute is the value of a tag's quoted attribute, if it is an address worth showing.
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
