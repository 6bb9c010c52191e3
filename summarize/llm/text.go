package llm

import "unicode/utf8"

// chars counts as everything in precis does: Unicode code points.
func chars(s string) int { return utf8.RuneCountInString(s) }

// firstChars is the beginning of s, at most n code points.
func firstChars(s string, n int) string {
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
