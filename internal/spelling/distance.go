// Package spelling tells how far a mistyped word is from a known one, and which known one may be meant.
package spelling

import "strings"

// Distance is how many bytes must be inserted, deleted or changed to turn one word into the other (Levenshtein).
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := before
			if a[i] != b[j] {
				change++
			}
			before, row[j+1] = row[j+1], min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// Meant is the first of the known names that an unknown one may be meant to be, in any case; empty: none.
func Meant(name string, known []string) string {
	for _, k := range known {
		if Distance(strings.ToLower(name), k) <= max(1, len(k)/3) {
			return k
		}
	}
	return ""
}
