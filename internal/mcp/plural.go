package mcp

import (
	"precis/internal/figure"
)

// counted is a number with its noun, as the commands write it: a model quotes what it reads.
func counted[N int | int64 | uint64](n N, noun string) string { return figure.Counted(n, noun) }

// contain is the verb of n lines.
func contain(n int) string {
	if n == 1 {
		return "contains"
	}
	return "contain"
}
