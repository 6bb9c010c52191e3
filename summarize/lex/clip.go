package lex

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// ClipMark marks the end of a clipped text.
const ClipMark = "…"

// OmissionMark begins a note of what is missing.
const OmissionMark = "[… "

// Clip shortens s to at most n code points, of which the last is then the clip mark.
func Clip(s string, n int) string {
	if n <= 0 {
		return ""
	}
	if Runes(s) <= n {
		return s
	}
	return strings.TrimRight(Prefix(s, n-1), " \t,;") + ClipMark
}

// Prefix returns the first n code points of s, without those of a character that continues after them.
func Prefix(s string, n int) string {
	first := Head(s, n)
	return s[:Between(s, len(first))]
}

// Head returns the first n code points of s.
func Head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// mostMarks bounds a character in bytes: family emoji are shorter, and a text of combining marks alone must be cut somewhere.
const mostMarks = 40

// Between returns i, which begins a code point, or the start of the user-perceived character that contains it: a letter
// with its marks, an emoji with its colour or joined ones.
func Between(s string, i int) int {
	for at := i; i-at < mostMarks; {
		if parted(s, at) {
			return at
		}
		_, n := utf8.DecodeLastRuneInString(s[:at])
		at -= n
	}
	return i
}

// Behind returns i, or the end of the user-perceived character that contains it.
func Behind(s string, i int) int {
	for at := i; at-i < mostMarks; {
		if parted(s, at) {
			return at
		}
		_, n := utf8.DecodeRuneInString(s[at:])
		at += n
	}
	return i
}

// parted reports whether no character continues across byte i of s.
func parted(s string, i int) bool {
	if i == 0 || i == len(s) {
		return true
	}
	r, _ := utf8.DecodeRuneInString(s[i:])
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	return !continues(r) && before != Joiner
}

// Joiner and NonJoiner are the code points that say whether their neighbours are one character.
const (
	Joiner    = '\u200d'
	NonJoiner = '\u200c'
)

// continues reports whether a code point attaches to the previous one (per UAX #29: marks, joiners, skin tones, tags),
// except for the second letter of a country's flag.
func continues(r rune) bool {
	return r == Joiner || r == NonJoiner || unicode.Is(unicode.M, r) || 0x1f3fb <= r && r <= 0x1f3ff || 0xe0020 <= r && r <= 0xe007f
}

// Runes counts code points.
func Runes(s string) int { return utf8.RuneCountInString(s) }
