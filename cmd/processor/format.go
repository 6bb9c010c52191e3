package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// printable makes a text safe for one line of a terminal: control characters become spaces, or their
// escape where they could do more than move on. Bidirectional overrides count as control characters: they
// can make a line read as another.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			return ' '
		case isControl(r):
			return unicode.ReplacementChar
		default:
			return r
		}
	}, text)
}

// printableLines is printable for a text of several lines.
func printableLines(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && isControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

func isControl(r rune) bool {
	return unicode.IsControl(r) || (r >= 0x202A && r <= 0x202E) || (r >= 0x2066 && r <= 0x2069)
}

// clip cuts a text to n characters, visibly.
func clip(text string, n int) string {
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	return string(runes[:n-1]) + "…"
}

// counted is a number with its noun, in the singular or with an s.
func counted(n int64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return grouped(n) + " " + noun
}

// grouped writes a number with its thousands apart: 12,345.
func grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// number writes what a trigger counted or measured: never as 1e+06, which would be a threshold and what passed it alike.
func number(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// measured is a number for people: a fraction of a window has six places at most.
func measured(n float64) string { return number(math.Round(n*1e6) / 1e6) }

// change writes what became of a number of units: 4,120 → 310 tokens (-92 %).
func change(before, after int64, unit string) string {
	text := fmt.Sprintf("%s → %s %s", grouped(before), grouped(after), unit)
	if before <= 0 {
		return text
	}
	return fmt.Sprintf("%s (%+.0f %%)", text, 100*float64(after-before)/float64(before))
}

// dollars writes micro-dollars; nil is unknown.
func dollars(micro *int64) string {
	if micro == nil {
		return "unknown"
	}
	if *micro == 0 {
		return "$0"
	}
	return fmt.Sprintf("$%d.%06d", *micro/1_000_000, *micro%1_000_000)
}

// table is aligned lines of a name and a value.
type table struct {
	rows [][2]string
}

func (t *table) add(name, value string) { t.rows = append(t.rows, [2]string{name, value}) }

func (t *table) addIf(name string, value *string) {
	if value != nil && *value != "" {
		t.add(name, printable(*value))
	}
}

func (t *table) String() string {
	width := 0
	for _, row := range t.rows {
		width = max(width, len(row[0]))
	}
	var b strings.Builder
	for _, row := range t.rows {
		fmt.Fprintf(&b, "%-*s  %s\n", width, row[0], row[1])
	}
	return b.String()
}
