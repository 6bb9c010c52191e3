package logs

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"precis/summarize/envelope"
	"precis/summarize/lex"
	"precis/summarize/verdict"
)

const (
	ShortRecord   = 120     // bytes up to which a record is not cut
	longestRecord = 8 << 10 // bytes that are examined
)

// Record is the position of a log record's content in its line, in bytes.
type Record struct {
	Message, Err int // where the members begin; 0: none
	Failed       bool
}

// RecordOf reads the members of the object that begins in a line's first bytes, or the pairs of a line in logfmt; ok is
// false if it is not a log record. An object after an error's first words counts: `fatal: [db1]: FAILED! => {"msg":…`.
func RecordOf(text string) (r Record, ok bool) {
	const lead = 60
	head := text[:min(len(text), lead)]
	from, each := -1, members
	switch {
	case strings.IndexByte(head, '{') >= 0 && strings.Contains(head, `{"`):
		if from = strings.Index(head, `{"`); from > 0 {
			r.Failed = verdict.TellsError(text[:from])
		}
	case strings.IndexByte(head, '=') > 0 && (strings.Contains(head, "level=") || strings.Contains(head, "lvl=")):
		each = pairs
	default:
		return r, false
	}
	leveled := r.Failed
	each(text[:min(len(text), longestRecord)], from+1, func(at int, key, value string) {
		switch strings.ToLower(key) {
		case "level", "severity", "lvl", "loglevel", "log.level", "levelname", "@l":
			leveled = true
			r.Failed = r.Failed || isErrorLevel(value)
		case "msg", "message", "@m", "@message":
			r.Message = at
		case "error", "err", "exception", "exc_info", "error.message", "stderr":
			if value != "null" && value != `""` && value != "{}" && value != "false" {
				r.Err = at
			}
		}
	})
	return r, leveled && r.Message+r.Err > 0
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
