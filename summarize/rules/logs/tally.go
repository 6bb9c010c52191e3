package logs

import (
	"regexp"
	"strings"

	"precis/summarize/rules/words"
)

// Tallies matches a line that sums up results: "Plan: 3 to add, 1 to change, 0 to destroy.", "2 failed, 12 passed in
// 3.1s", "Tests run: 4, Failures: 1": at least two and nearly all of its clauses are a number and a word or two.
func Tallies(text string) bool {
	if len(text) > longestTally || words.DigitAt(text) < 0 || !strings.Contains(text, ", ") && !strings.Contains(text, "; ") {
		return false
	}
	counts, others := 0, 0
	for clause := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == ';' }) {
		if clause = strings.Trim(clause, " .=!)✓✗✖"); isCount.MatchString(clause) {
			counts++
		} else {
			others++
		}
	}
	return counts >= 2 && others <= 1
}

// Scores matches a line that ends with how many of how many: "rejected: 0/3", "Coverage: 3/40 files", "12/15 passed".
func Scores(text string) bool {
	return len(text) <= longestTally && strings.IndexByte(text, '/') > 0 && isScore.MatchString(text)
}

var isScore = regexp.MustCompile(`^(?:.*[^\d\s]: ?|[^\pL\d]*)\d{1,7} ?/ ?[1-9]\d{0,6}(?: [a-z][a-z-]*){0,2}(?: \(\d[\d.]*%\))?[.!]?$`)

// longestTally bounds such a line, in bytes.
const longestTally = 140

// isCount matches "3 to add", "Plan: 3 to add", "12 passed in 3.1s"; "Failures: 1".
var isCount = regexp.MustCompile(`^(?:.*: *)?(?:and )?\d{1,9}(?: [A-Za-z][a-z()+-]*){1,3}(?: [A-Za-z][a-z()+-]*| \d\S*)?(?: ?\(.*)?$|^(?:[^\d:]*-)?(?: ?[A-Za-z][a-z()+]*){1,3}: *\d{1,9}$`)
