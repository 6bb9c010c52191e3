package ledger

import (
	"regexp"
	"slices"
	"strings"

	"precis/events"
)

// Bounds on a quoted line, in code points.
const (
	minLine = 12
	maxLine = 160
)

// numbered is the line number that tools print before a line.
var numbered = regexp.MustCompile(`^\s*\d+(?:→|\t|:\s|\|\s?|-\s)`)

// quote records the message's lines and their identifiers.
func (c *collector) quote(m Message) {
	seen := map[string]bool{}
	c.text(m, Line{Kind: kindOfRole(m.Role), In: c.place(m)}, m.Content.Text(), seen)
	for _, call := range m.ToolCalls {
		args := parseArguments(call.Arguments)
		in := args.place(call.Name)
		args.strings(func(name, s string) {
			if unquoted(name) {
				c.count(m, s, seen)
				return
			}
			c.text(m, Line{Kind: KindChange, In: in}, s, seen)
		})
	}
}

// unquoted reports whether an argument is not worth quoting: the text that an edit removed, and the path, which
// is listed among the files.
func unquoted(name string) bool {
	return strings.HasPrefix(strings.ToLower(name), "old") || slices.Contains(pathNames, name)
}

func kindOfRole(role string) string {
	switch role {
	case events.RoleAssistant:
		return KindSaid
	case events.RoleTool:
		return KindResult
	}
	return KindUser
}

// place returns the subject of a message's own lines: for a result, that of its call.
func (c *collector) place(m Message) string {
	if m.Role != events.RoleTool {
		return ""
	}
	if call, ok := c.asked[m.ToolCallID]; ok {
		return parseArguments(call.Arguments).place(call.Name)
	}
	return parseArguments(m.Arguments).place(m.ToolName)
}

// place names the subject of a call: its file, its command, or else the tool.
func (a arguments) place(tool string) string {
	if path := a.text(pathNames...); path != "" {
		return placeOf(path)
	}
	if line := a.commandLine(tool); line != "" {
		return clip(oneLine(changeDir.ReplaceAllString(line, "")), 24)
	}
	return clip(oneLine(tool), 40)
}

// placeOf returns a file's name as a place.
func placeOf(path string) string { return clip(base(oneLine(path)), 40) }

// text records the lines of a text; like holds their common fields.
func (c *collector) text(m Message, like Line, text string, seen map[string]bool) {
	c.count(m, text, seen)
	for line := range strings.SplitSeq(text, "\n") {
		line = oneLine(plain(unnumbered(line)))
		for _, part := range parts(line) {
			like.Text, like.At = part, m.Ordinal
			c.lines = append(c.lines, like)
		}
	}
}

// unnumbered returns a line without the number that a tool printed before it.
func unnumbered(line string) string {
	if text := strings.TrimLeft(line, " \t\n\f\r"); text == "" || text[0] < '0' || text[0] > '9' {
		return line
	}
	return numbered.ReplaceAllString(line, "")
}

// parts splits a long line into pieces of quotable length, at sentence ends or else at spaces, and
// drops those without content.
func parts(line string) []string {
	if len(line) <= maxLine {
		return worthwhile(nil, line)
	}
	var list []string
	for len(line) > maxLine && len(list) < 50 {
		i := stop(line[:min(len(line), maxLine+2)]) // bounded: a line of a megabyte has thousands of parts
		if i > maxLine {
			if i = strings.LastIndexByte(line[:maxLine], ' ') + 1; i == 0 {
				return list // a word longer than any line: base64, minified code
			}
		}
		list = worthwhile(list, strings.TrimSpace(line[:i]))
		line = strings.TrimSpace(line[i:])
	}
	return worthwhile(list, line)
}

func worthwhile(list []string, line string) []string {
	if len(line) < minLine || len(line) > maxLine || !strings.ContainsAny(line, " (=") || !hasWord(line) {
		return list // a name alone belongs in the list of names
	}
	return append(list, strings.ToValidUTF8(line, ""))
}

func hasWord(line string) bool {
	found := false
	eachWord(line, func(string) { found = true })
	return found
}

// count records the identifiers of a text, once per message.
func (c *collector) count(m Message, text string, seen map[string]bool) {
	eachWord(text, func(w string) {
		if seen[w] {
			return
		}
		seen[w] = true
		e, _ := entry(c.words, &c.order.words, w)
		if e.Seen == 0 {
			e.Text, e.First = w, m.Ordinal
		}
		e.count(m)
	})
}

func (w *Word) count(m Message) {
	w.Seen++
	w.Last = m.Ordinal
	copy(w.Near[1:], w.Near[:])
	w.Near[0] = m.Ordinal
	switch m.Role {
	case events.RoleAssistant:
		w.Said++
		w.SaidAt = m.Ordinal
	case events.RoleTool:
		w.Results++
	}
}

// markWritten records that the identifiers of a path belong to a written file.
func (c *collector) markWritten(path string) {
	eachWord(path, func(w string) {
		e, fresh := entry(c.words, &c.order.words, w)
		if fresh {
			e.Text = w
		}
		e.Written = true
	})
}
