// Package figure writes numbers for people, in one form for the commands and the tools of models.
package figure

import (
	"strconv"
	"strings"
)

// Counted is a number with its noun, in the singular or the plural: 1 summary, 1,200 summaries.
func Counted[N int | int64 | uint64](n N, noun string) string {
	stem, y := strings.CutSuffix(noun, "y")
	switch {
	case n == 1:
	case y:
		noun = stem + "ies"
	default:
		noun += "s"
	}
	return Grouped(n) + " " + noun
}

// Grouped writes a number with its thousands apart: 12,345.
func Grouped[N int | int64 | uint64](n N) string {
	digits := strconv.FormatInt(int64(n), 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}
