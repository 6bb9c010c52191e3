package logs

import (
	"strings"

	"precis/summarize/lex"
	"precis/summarize/rules/words"
)

// All lines of a log begin alike: with a job's name, a time, a level. Their common prefix and
// the times say little and cost much; what follows is kept.

// stampedLines is how many lines are searched for a common prefix.
const stampedLines = 40

// LogPrefix returns the common prefix of a log's first lines, up to the last border of its columns; empty if
// they share too little, or are too few. Words alone are not columns: in lines that are all alike they are
// the content.
func LogPrefix(content string) string {
	shared, lines := "", 0
	for lines < stampedLines && content != "" {
		line, rest, _ := strings.Cut(content, "\n")
		content = rest
		if strings.TrimSpace(line) == "" {
			continue
		}
		if lines == 0 {
			shared = line
		}
		shared = shared[:CommonLen(shared, line)]
		lines++
	}
	shared = shared[:columnsEnd(shared)]
	if lines < 8 || len(strings.TrimSpace(shared)) < 8 {
		return ""
	}
	return shared
}

// columnsEnd returns the end of the last tab, or of the last bar or bracket with a space after it.
func columnsEnd(s string) int {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == '\t' || s[i] == ' ' && i > 0 && strings.IndexByte("|]", s[i-1]) >= 0 {
			return i + 1
		}
	}
	return 0
}

func CommonLen(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// MaskedHash is FNV-1a over a text with all numbers replaced by the same one, eight characters at a time if they
// contain no digit: texts that differ only in digits have such groups at the same places after each number.
func MaskedHash(s string) uint64 {
	h := uint64(words.FnvOffset)
	for i := 0; i < len(s); {
		if i+8 <= len(s) {
			if w := eightBytes(s[i : i+8]); !hasDigit(w) {
				h = (h ^ w) * words.FnvPrime
				h ^= h >> 32 // multiplication only moves bits up
				i += 8
				continue
			}
		}
		c := s[i]
		for i++; lex.IsDigit(c) && i < len(s) && lex.IsDigit(s[i]); i++ {
		}
		if lex.IsDigit(c) {
			c = '0'
		}
		h = (h ^ uint64(c)) * words.FnvPrime
	}
	return h
}

func eightBytes(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// hasDigit reports whether eight characters may contain a digit: one of them has a digit's upper half.
func hasDigit(w uint64) bool {
	const low, high = 0x0101010101010101, 0x8080808080808080
	x := w&(low*0xF0) ^ low*'0' // 0 if the upper half is a digit's
	return (x-low)&^x&high != 0
}

// OftenAlike is the number of alike lines from which another one adds no information.
const OftenAlike = 3
