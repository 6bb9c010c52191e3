package mcp

import (
	"fmt"
	"strings"
)

// counted is a number with its noun, in the singular or the plural: a model quotes what it reads.
func counted[N int | int64 | uint64](n N, noun string) string {
	stem, y := strings.CutSuffix(noun, "y")
	switch {
	case n == 1:
	case y:
		noun = stem + "ies"
	default:
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// contain is the verb of n lines.
func contain(n int) string {
	if n == 1 {
		return "contains"
	}
	return "contain"
}
