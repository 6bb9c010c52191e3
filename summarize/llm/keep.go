package llm

import "strings"

// keepFacts appends the facts that a text left out, as far as fits says they fit: whole lines on lines
// of their own, the others in one, and of those no more than a person reads. What is in the text is not
// touched, and the first facts go first.
func keepFacts(text string, facts []string, fits func(string) bool) string {
	var lines, words []string
	best := text
	for _, fact := range facts {
		if fact == "" || strings.Contains(text, fact) {
			continue
		}
		l, w := lines, words
		if strings.ContainsAny(fact, " \t") {
			l = append(l[:len(l):len(l)], fact)
		} else if len(words) < maxAlso {
			w = append(w[:len(w):len(w)], fact)
		}
		if with := appended(text, l, w); fits(with) {
			best, lines, words = with, l, w
		}
	}
	return best
}

const maxAlso = 12

func appended(text string, lines, words []string) string {
	parts := append([]string{text}, lines...)
	if len(words) > 0 {
		parts = append(parts, "Also: "+strings.Join(words, ", "))
	}
	return strings.Join(parts, "\n")
}
