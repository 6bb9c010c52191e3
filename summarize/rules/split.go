package rules

import (
	"strings"

	"precis/summarize/lex"
	"precis/summarize/rules/logs"
	"precis/summarize/rules/outline"
	"precis/summarize/rules/page"
)

// longest is the length in bytes above which a line is split into fragments that are chosen separately.
const longest = 220

// split splits a long line at the boundaries of its kind of text: data before each record, prose after
// sentences, anything after a bracket, a comma or a space.
func (d *document) split(l line) {
	if d.shape == shapeJSON || d.noisy {
		if r, ok := logs.RecordOf(l.text); ok {
			d.splitLog(l, r)
			return
		}
	}
	if len(l.text) <= longest || d.digest {
		d.append(l)
		return
	}
	if d.shape == shapeJSON || strings.Contains(l.text[:min(len(l.text), 60)], `{"`) {
		d.splitRecords(l)
		return
	}
	for len(l.text) > longest {
		l = d.cut(l, d.border(l.text))
	}
	d.append(l)
}

// append adds a line, or a part of one, and determines its kind.
func (d *document) append(l line) {
	if l.frag {
		l.kind = outline.KindOf(l.text, d.shape == shapeDiff)
		if d.shape == shapeSnapshot && !l.starts && !page.IsText(d.lines[d.row(len(d.lines)-1)].text) {
			l.favour = restWorth
		}
	}
	d.lines = append(d.lines, l)
}

// cut adds the text before byte at, and returns the rest.
func (d *document) cut(l line, at int) line {
	part := l
	part.text, part.frag = strings.TrimSpace(l.text[:at]), true
	if part.text != "" {
		d.append(part)
		l.starts = false
		if l.record != recordLead {
			l.record = noRecord // its message is above
		}
	}
	l.text, l.frag = strings.TrimSpace(l.text[at:]), true
	return l
}

func (d *document) border(s string) int {
	if d.prose {
		return sentence(s, longest)
	}
	return border(s, longest/2, longest)
}

// sentence returns the end of the first sentence of s that is not too short, else a border before hi.
func sentence(s string, hi int) int {
	const least = 40
	for i := least; i < hi; i++ {
		if s[i] == ' ' && strings.IndexByte(".!?;:", s[i-1]) >= 0 {
			return i
		}
	}
	return border(s, hi/2, hi)
}

// border returns a place to cut s between lo and hi: after a bracket or a clause, else a comma, else a space,
// else at hi; never inside a rune.
func border(s string, lo, hi int) int {
	for _, marks := range []string{"}]", ".;", ",", " "} {
		for i := hi - 1; i >= lo; i-- {
			if strings.IndexByte(marks, s[i]) < 0 || marks == ".;" && s[i+1] != ' ' {
				continue
			}
			if s[i+1] == ',' {
				i++
			}
			return i + 1
		}
	}
	for hi > lo && s[hi]&0xC0 == 0x80 {
		hi--
	}
	return max(lo, lex.Between(s, hi))
}

// splitRecords splits a line of JSON before every object or array that follows another one, at the line
// breaks inside its strings, and what is still too long between members.
func (d *document) splitRecords(l line) {
	if len(l.text) <= longest {
		d.append(l)
		return
	}
	for {
		at := nextRecord(l.text)
		if i := escapedBreak(l.text); i > 0 && (at == 0 || i < at) {
			at = i
		}
		switch {
		case at == 0 && len(l.text) <= longest:
			d.append(l)
			return
		case at == 0 || at > longest:
			at = member(l.text)
		}
		l = d.cut(l, at)
		l.text = trimBreaks(l.text)
	}
}

// escapedBreak returns the position of the first escaped line break, if it is near; 0 if there is none.
func escapedBreak(s string) int {
	s = s[:min(len(s), 2*longest)]
	for i := 1; i+1 < len(s); i++ {
		if s[i] == '\\' {
			if s[i+1] == 'n' {
				return i
			}
			i++
		}
	}
	return 0
}

// trimBreaks removes the escaped line breaks and the indentation at the start of s.
func trimBreaks(s string) string {
	for {
		s = strings.TrimLeft(s, " ")
		if !strings.HasPrefix(s, `\n`) && !strings.HasPrefix(s, `\t`) && !strings.HasPrefix(s, `\r`) {
			return s
		}
		s = s[2:]
	}
}

// nextRecord returns the position of the next bracket that opens after a comma, outside of strings; 0 if there is none.
func nextRecord(s string) int {
	quoted, comma := false, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quoted:
			if c == '\\' {
				i++
			} else if c == '"' {
				quoted = false
			}
		case c == '"':
			quoted, comma = true, false
		case c == ',':
			comma = true
		case c == '{' || c == '[':
			if comma {
				return i
			}
		case c != ' ':
			comma = false
		}
		if i > 2*longest {
			return i // further on, only the length matters
		}
	}
	return 0
}

// member returns a place after a comma before another member, before longest; else a border.
func member(s string) int {
	for i := longest - 1; i > longest/4; i-- {
		if s[i-1] == ',' && (s[i] == ' ' && i+1 < len(s) && s[i+1] == '"' || s[i] == '"') {
			return i
		}
	}
	return border(s, longest/2, longest)
}

// A structured log has one object per line, whose first members (a time, a logger, a caller, a trace) are long and alike.
// The message and the error are what matters: the line is cut before them, and an error's are shown.

// The part of such a record that a line, or a fragment of one, is.
const (
	noRecord     uint8 = iota
	recordLead         // the part before its message
	recordText         // its message
	recordFailed       // the message or the error of a record that reports an error
)

// splitLog cuts a record before its message and its error.
func (d *document) splitLog(l line, r logs.Record) {
	says := recordText
	if r.Failed {
		says = recordFailed
	}
	first, second := min(r.Message, r.Err), max(r.Message, r.Err)
	if first == 0 {
		first, second = second, 0
	}
	if len(l.text) <= logs.ShortRecord {
		l.record = says
		d.append(l)
		return
	}
	if first >= shortest {
		l.record = recordLead
		l = d.cutRecords(l, first)
		second -= first
	}
	l.record = says
	if second >= shortest {
		l = d.cutRecords(l, second)
		l.record = says
	}
	d.splitRecords(l)
}

// cutRecords adds the text before byte at, cut further if it is long, and returns the rest.
func (d *document) cutRecords(l line, at int) line {
	part := l
	part.text, part.frag = strings.TrimSpace(l.text[:at]), true
	d.splitRecords(part)
	l.text, l.frag, l.starts = l.text[at:], true, false
	return l
}
