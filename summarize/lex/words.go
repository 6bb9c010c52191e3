package lex

import (
	"strconv"
	"strings"
	"unicode"
)

// Counted formats "1 line", "9,410 chars".
func Counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Thousands(n) + " " + noun + "s"
}

// Thousands formats "9,410".
func Thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// OneLine makes text fit on a line of a summary: control characters and runs of spaces become a space.
func OneLine(s string) string {
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "\uFFFD"), func(r rune) bool { return r <= ' ' || r == 0x7f }), " ")
}

// JoinLines puts the non-empty parts on separate lines.
func JoinLines(parts ...string) string {
	kept := parts[:0]
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, "\n")
}

// Squeeze removes case and separators from a name, so that readFile, read_file and Read-File are equal.
func Squeeze(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == ' ' || r == '.' {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}

// Atoi reads a number without a sign; 0 if it is none, or a large one.
func Atoi(s string) int {
	n := 0
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' || n > 1<<27 {
			return 0
		}
		n = n*10 + int(s[i]-'0')
	}
	return n
}

// SetOf returns a set of bytes.
func SetOf(chars string) (t [256]bool) {
	for i := range len(chars) {
		t[chars[i]] = true
	}
	return t
}

// Skip returns where what is not one of some characters begins, from i on.
func Skip(s string, i int, blanks string) int {
	for i < len(s) && strings.IndexByte(blanks, s[i]) >= 0 {
		i++
	}
	return i
}

// RepeatMark says how often a line occurred.
func RepeatMark(repeat int) string { return " [… ×" + strconv.Itoa(repeat+1) + "]" }
