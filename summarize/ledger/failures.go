package ledger

import (
	"regexp"
	"strings"
)

// digits are the parts in which two reports of one error differ: line numbers, addresses, times.
var digits = regexp.MustCompile(`0x[0-9a-fA-F]+|\d+(?:\.\d+)?`)

// failure records the error that a result reports, if any.
func (c *collector) failure(m Message) {
	text := m.Content.Text()
	if !failed(m, text) {
		return
	}
	line := clip(firstLine(text, complaint), 160)
	if line == "" {
		return
	}
	form := digits.ReplaceAllString(strings.ToLower(line), "#")
	e, fresh := entry(c.errors, &c.order.errors, form)
	if fresh {
		e.Form, e.First = form, m.Ordinal
	}
	e.Text, e.Where, e.Last = line, m.ToolName, m.Ordinal
	e.Seen++
}
