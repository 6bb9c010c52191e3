package rules

import "strings"

// tallies matches a line that sums up results: "Plan: 3 to add, 1 to change, 0 to destroy.", "2 failed, 12 passed in
// 3.1s", "Tests run: 4, Failures: 1": at least two and nearly all of its clauses are a number and a word or two.
func tallies(text string) bool {
	if len(text) > longestTally || !strings.Contains(text, ", ") && !strings.Contains(text, "; ") {
		return false
	}
	counts, others := 0, 0
	for rest, more := text, true; more; {
		var clause string
		end := strings.IndexAny(rest, ",;")
		if more = end >= 0; more {
			clause, rest = rest[:end], rest[end+1:]
		} else {
			clause = rest
		}
		if isCount(clause) {
			counts++
		} else {
			others++
		}
	}
	return counts >= 2 && others <= 1
}

// longestTally bounds such a line, in bytes.
const longestTally = 140

// isCount matches "3 to add", "Plan: 3 to add", "Failures: 1" and "12 passed in 3.1s".
func isCount(clause string) bool {
	clause = strings.Trim(clause, " .=!)✓✗✖")
	if at := strings.LastIndexByte(clause, ':'); at > 0 {
		label, value := clause[:at], strings.TrimSpace(clause[at+1:])
		if isNumber(value) {
			return wordsOnly(label[strings.LastIndexByte(label, '-')+1:], 3) && !strings.ContainsAny(label, "0123456789")
		}
		clause = value
	}
	if at := strings.IndexByte(clause, '('); at > 0 && isNumber(clause[:1]) {
		clause = strings.TrimSpace(clause[:at])
	}
	number, what, ok := strings.Cut(strings.TrimPrefix(clause, "and "), " ")
	return ok && isNumber(number) && wordsOnly(what, 4)
}

func isNumber(s string) bool { return s != "" && len(s) < 10 && strings.Trim(s, "0123456789") == "" }

// wordsOnly matches one to most lower-case words, of which the first may be capitalized; the last may be a time.
func wordsOnly(s string, most int) bool {
	words := strings.Fields(s)
	if len(words) == 0 || len(words) > most {
		return false
	}
	for n, w := range words {
		if n == len(words)-1 && n > 0 && isDigit(w[0]) {
			continue // "passed in 3.1s"
		}
		if strings.Trim(w[1:], "abcdefghijklmnopqrstuvwxyz()+-") != "" || !isLower(w[0]) && !isUpper(w[0]) {
			return false
		}
	}
	return true
}
