package rules

import (
	"strings"
	"unicode/utf8"
)

// clean makes a tool's raw bytes readable: valid UTF-8, no terminal controls, and of a line that a
// progress display overwrote (carriage returns) only its final text.
func clean(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	if strings.IndexByte(s, 0x1b) >= 0 || strings.IndexByte(s, '\b') >= 0 {
		s = stripControl(s)
	}
	if strings.IndexByte(s, '\r') >= 0 {
		s = overwrite(s)
	}
	return s
}

// stripControl removes ANSI escape sequences (ECMA-48: CSI, OSC, and two-byte ones) and backspaced characters.
func stripControl(s string) string {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		switch {
		case s[i] == 0x1b:
			i += escapeLen(s[i:])
		case s[i] == '\b':
			out = dropLastRune(out)
			i++
		default:
			out = append(out, s[i])
			i++
		}
	}
	return string(out)
}

func dropLastRune(b []byte) []byte {
	if len(b) == 0 || b[len(b)-1] == '\n' {
		return b
	}
	_, n := utf8.DecodeLastRune(b)
	return b[:len(b)-n]
}

// escapeLen returns the length of the escape sequence at the start of s.
func escapeLen(s string) int {
	if len(s) < 2 {
		return len(s)
	}
	switch s[1] {
	case '[': // CSI: parameters up to a final byte
		for i := 2; i < len(s); i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				return i + 1
			}
			if s[i] < 0x20 || s[i] > 0x7e {
				return i
			}
		}
		return len(s)
	case ']': // OSC: up to BEL or ST; an unterminated one ends with its line
		for i := 2; i < len(s); i++ {
			if s[i] == 0x07 {
				return i + 1
			}
			if s[i] == 0x1b || s[i] == '\n' {
				return i
			}
		}
		return len(s)
	case '(', ')', '*', '+', '#', '%':
		return min(3, len(s)-trailing(s))
	default:
		if s[1] >= 0x40 && s[1] <= 0x7e {
			return 2
		}
		return 1
	}
}

// trailing keeps a three-byte escape from cutting a rune: 0 if its third byte is ASCII.
func trailing(s string) int {
	if len(s) > 2 && s[2] >= utf8.RuneSelf {
		return len(s) - 2
	}
	return 0
}

// overwrite keeps what a terminal would finally show of every line.
func overwrite(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for len(s) > 0 {
		line, rest, more := strings.Cut(s, "\n")
		line = strings.TrimRight(line, "\r")
		if i := strings.LastIndexByte(line, '\r'); i >= 0 {
			line = line[i+1:]
		}
		b.WriteString(line)
		if more {
			b.WriteByte('\n')
		}
		s = rest
	}
	return b.String()
}
