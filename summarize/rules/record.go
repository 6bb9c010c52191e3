package rules

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"precis/summarize/lex"
	"precis/summarize/verdict"

	"precis/summarize/envelope"
)

// A structured log has one object per line, whose first members (a time, a logger, a caller, a trace) are long and alike.
// The message and the error are what matters: the line is cut before them, and an error's are shown.

// The part of such a record that a line, or a fragment of one, is.
const (
	noRecord     uint8 = iota
	recordLead         // the part before its message
	recordText         // its message
	recordFailed       // the message or the error of a record that reports an error
)

const (
	shortRecord   = 120     // bytes up to which a record is not cut
	longestRecord = 8 << 10 // bytes that are examined
)

// logRecord is the position of a log record's content in its line, in bytes.
type logRecord struct {
	message, err int // where the members begin; 0: none
	failed       bool
}

// splitLog cuts a record before its message and its error.
func (d *document) splitLog(l line, r logRecord) {
	says := recordText
	if r.failed {
		says = recordFailed
	}
	first, second := min(r.message, r.err), max(r.message, r.err)
	if first == 0 {
		first, second = second, 0
	}
	if len(l.text) <= shortRecord {
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

// recordOf reads the members of the object that begins in a line's first bytes, or the pairs of a line in logfmt; ok is
// false if it is not a log record. An object after an error's first words counts: `fatal: [db1]: FAILED! => {"msg":…`.
func recordOf(text string) (r logRecord, ok bool) {
	const lead = 60
	head := text[:min(len(text), lead)]
	from, each := -1, members
	switch {
	case strings.IndexByte(head, '{') >= 0 && strings.Contains(head, `{"`):
		if from = strings.Index(head, `{"`); from > 0 {
			r.failed = verdict.TellsError(text[:from])
		}
	case strings.IndexByte(head, '=') > 0 && (strings.Contains(head, "level=") || strings.Contains(head, "lvl=")):
		each = pairs
	default:
		return r, false
	}
	leveled := r.failed
	each(text[:min(len(text), longestRecord)], from+1, func(at int, key, value string) {
		switch strings.ToLower(key) {
		case "level", "severity", "lvl", "loglevel", "log.level", "levelname", "@l":
			leveled = true
			r.failed = r.failed || isErrorLevel(value)
		case "msg", "message", "@m", "@message":
			r.message = at
		case "error", "err", "exception", "exc_info", "error.message", "stderr":
			if value != "null" && value != `""` && value != "{}" && value != "false" {
				r.err = at
			}
		}
	})
	return r, leveled && r.message+r.err > 0
}

// isErrorLevel matches the value of a level, as loggers write it.
func isErrorLevel(value string) bool {
	switch strings.ToLower(strings.Trim(value, `"`)) {
	case "error", "err", "fatal", "panic", "critical", "crit", "dpanic", "alert", "emergency", "emerg", "severe",
		"50", "60": // pino's and bunyan's error and fatal
		return true
	}
	return false
}

// members calls found for each member of an object, from after its bracket on, with its position, its key and its value; what
// ends before it is complete is the last value.
func members(s string, from int, found func(at int, key, value string)) {
	s = s[from-1:]
	d := jsontext.NewDecoder(strings.NewReader(s), envelope.Lenient)
	if _, err := d.ReadToken(); err != nil {
		return
	}
	for d.PeekKind() == '"' {
		key, err := d.ReadValue()
		if err != nil {
			return
		}
		name, at := string(key[1:len(key)-1]), int(d.InputOffset())
		value, err := d.ReadValue()
		if err != nil {
			if rest := strings.TrimLeft(s[at:], ": "); rest != "" {
				found(from-1+at-len(name)-2, name, rest)
			}
			return
		}
		found(from-1+at-len(name)-2, name, string(value))
	}
}

// pairs is members for a line of key=value.
func pairs(s string, i int, found func(at int, key, value string)) {
	for i = lex.Skip(s, i, " "); i < len(s); i = lex.Skip(s, i, " ") {
		at := i
		for i < len(s) && s[i] != '=' && s[i] != ' ' {
			i++
		}
		if i >= len(s) || s[i] != '=' {
			continue // a word
		}
		key, from := s[at:i], i+1
		if i = stringEnd(s, from); i < 0 {
			i = len(s)
			if n := strings.IndexByte(s[from:], ' '); n >= 0 {
				i = from + n
			}
		}
		found(at, key, s[from:i])
	}
}

// stringEnd returns the end of the string that begins at i; -1 if none does.
func stringEnd(s string, i int) int {
	if i >= len(s) || s[i] != '"' {
		return -1
	}
	for i++; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}
