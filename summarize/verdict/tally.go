package verdict

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// Tally is what a line sums up: "2 failed, 12 passed in 3.1s", "Tests run: 4, Failures: 1", "OK: 8 / Fail: 0".
type Tally struct {
	Passed, Failed, Errors int
	HasPassed, HasFailed   bool // the line has such a count, which may be 0
	HasErrors              bool
	problems               int // of any weight: `3 problems (1 error, 2 warnings)`
	hasProblems            bool
	words                  int  // beside the counts
	weak                   bool // passed counts of words that are said of other things too: ok, succeeded
}

var (
	countFirst = regexp.MustCompile(`(?i)(\d(?:[\d,]{0,9}\d)?)\*{0,2} (?:\w+ )??(?:(?:unit|individual|assertions?|tests?|specs?|test cases?|test suites?|suites?|examples?|scenarios?|files?|checks?|hooks?|tasks?|targets?) )?(passed|passing|passes|pass|successful|successes|succeeded|success|ok|failed|failing|failures?|fails?|broken|errors?|errored|problems?|issues?|offen[cs]es?|violations?|unreachable)\b`)
	// A label has a separator behind it; or it begins a clause and its number ends it: "# pass 12", "FAIL 1 | PASS 3". Else it is
	// part of a name: "error404.ts", "renders error 500".
	labelFirst = regexp.MustCompile(`(?i)\b(passed|pass|passes|succeeded|successes|success|ok|failed|failing|failures?|fails?|errors?|errored|broken|unreachable)(?: (?:checks|tests|specs|cases))?\s{0,8}[:=]\s{0,8}(\d(?:[\d,]{0,9}\d)?)\b`)
	labelAlone = regexp.MustCompile(`(?i)(?:^|[|,;/]|[:.] )[^\w|,;/]*(?:(?:checks|tests|specs|cases) )?(passed|pass|passes|succeeded|successes|success|ok|failed|failing|failures?|fails?|errors|errored|broken|unreachable)(?: (?:checks|tests|specs|cases))?\s{1,8}(\d(?:[\d,]{0,9}\d)?)\s*(?:[|,;/)\]]|\.(?: |$)|$)`)
	// awaited are failures that belong to a success: "OK (expected failures=1)", "12 passed | 1 expected fail".
	awaited = regexp.MustCompile(`(?i)\bexpected (?:fail(?:ure)?s?|errors?)\b *[:=] *\d+|\b\d+ expected (?:fail(?:ure|ed)?s?|errors?)\b|\bunexpected success(?:es)? *[:=] *\d+`)
	// countsNothing matches what only resembles a count: "would exit 1 if tests failed".
	countsNothing = regexp.MustCompile(`^\d+ (?:if|when|because|as|or|and|but|is|are|was|were|that) `)
	measure       = regexp.MustCompile(`(?i)\b(?:error|loss) \d+\.\d+`)
	otherCount    = regexp.MustCompile(`(?i)\d[\d.,:]*\s?(?:ms|s|m|h|min|seconds?|minutes?|%)?\b|\b(?:skipped|skip|total|ignored|pending|todo|warnings?|warn|measured|filtered|out|assertions?|deselected|xfailed|xpassed|changed|rescued|cancelled|flaky|unexpected|in|of|and|with|tests?|suites?|files?|run|runs|ran|cases?|time|duration|snapshots?|source)\b`)
)

// TallyOf reads a line that sums up results; ok is false for any other line. Beside its counts such a line has few words.
func TallyOf(line string) (t Tally, ok bool) {
	const longest = 160
	if len(line) > longest || !counts(line) || !mayTally(line) {
		return t, false
	}
	rest, _, _ := strings.Cut(line, ", Duration: ") // what dotnet names behind it
	if strings.Contains(rest, "xpected ") {
		rest = awaited.ReplaceAllString(rest, " ")
	}
	if strings.Contains(rest, "rror ") { // "epoch 2 error 0.22"
		rest = measure.ReplaceAllString(rest, " ")
	}
	line = rest
	take := func(expr *regexp.Regexp, number, word int) {
		for _, m := range expr.FindAllStringSubmatch(rest, -1) {
			if !countsNothing.MatchString(m[0]) {
				t.add(m[word], atoi(m[number]))
			}
		}
		rest = expr.ReplaceAllString(rest, " | ")
	}
	if labelled(line) {
		take(labelFirst, 2, 1)
		take(labelAlone, 2, 1)
		take(labelAlone, 2, 1) // each match takes the separator in front of the next
		take(countFirst, 1, 2)
	} else {
		take(countFirst, 1, 2)
		take(labelFirst, 2, 1)
		take(labelAlone, 2, 1)
		take(labelAlone, 2, 1) // each match takes the separator in front of the next
	}
	if t.hasProblems && !t.HasErrors {
		t.Errors, t.HasErrors = t.problems, true
	}
	if !t.HasPassed && !t.HasFailed && !t.HasErrors {
		return t, false
	}
	if t.weak && !t.HasFailed && !t.HasErrors {
		return t, false // "HTTP/1.1 200 OK", "Tasks: 3 successful, 4 total"
	}
	rest = otherCount.ReplaceAllString(rest, " ")
	words := strings.FieldsFunc(rest, func(r rune) bool { return r < 0x80 && !isLetter(byte(r)) })
	t.words = len(words)
	const mostWords = 4
	return t, t.words <= mostWords
}

// labelled reports whether the counts follow their names: "Failures: 1, Errors: 0", "ok=3 failed=0", "FAIL 1 | PASS 3".
func labelled(line string) bool {
	const several = 2
	m := labelFirst.FindStringIndex(line)
	if m == nil {
		m = labelAlone.FindStringIndex(line)
	} else if len(labelFirst.FindAllStringIndex(line, several)) == several { // "TESTS=12 PASS=11 FAIL=1"
		return true
	}
	if m == nil {
		return false
	}
	first := countFirst.FindStringIndex(line)
	return first == nil || m[0] < first[0]
}

// counts reports whether a line may have a count, a number in front of a space or behind a word of labelFirst: most numbers in an output are
// neither, and the expressions take longer for a line than all else that is read of it.
func counts(line string) bool {
	for i := range len(line) {
		switch {
		case line[i] >= utf8.RuneSelf: // of which some are letters in the other case
			return strings.ContainsAny(line, digits)
		case line[i] < '0' || line[i] > '9':
			continue
		}
		next := strings.TrimPrefix(strings.TrimPrefix(line[i+1:], "*"), "*")
		before := strings.TrimRight(line[:i], blanks)
		if before != "" && (before[len(before)-1] == ':' || before[len(before)-1] == '=') {
			before = strings.TrimRight(before[:len(before)-1], blanks)
		}
		word := before[len(strings.TrimRightFunc(before, func(r rune) bool { return r < utf8.RuneSelf && isLetter(byte(r)) })):]
		if strings.HasPrefix(next, " ") || labels[strings.ToLower(word)] {
			return true
		}
	}
	return false
}

const (
	digits = "0123456789"
	blanks = "\t\n\f\r " // \s of an expression
)

// labels are the words of labelFirst that can stand in front of a number.
var labels = func() map[string]bool {
	all := map[string]bool{}
	for _, w := range strings.Fields("passed pass passes succeeded successes success ok failed failing failure failures fail fails error errors errored broken unreachable checks tests specs cases") {
		all[w] = true
	}
	return all
}()

func mayTally(line string) bool {
	low := strings.ToLower(line)
	for _, w := range []string{"pass", "fail", "error", "ok", "succe", "problem", "issue", "offen", "violation", "broken", "unreachable"} {
		if strings.Contains(low, w) {
			return true
		}
	}
	return false
}

func (t *Tally) add(word string, n int) {
	switch word = strings.ToLower(word); {
	case strings.HasPrefix(word, "pass") || strings.HasPrefix(word, "succ") || word == "ok":
		t.Passed, t.HasPassed, t.weak = t.Passed+n, true, t.weak || word[0] != 'p'
	case strings.HasPrefix(word, "fail") || word == "broken" || word == "unreachable":
		t.Failed, t.HasFailed = t.Failed+n, true
	case strings.HasPrefix(word, "err"):
		t.Errors, t.HasErrors = t.Errors+n, true
	default:
		t.problems, t.hasProblems = t.problems+n, true
	}
}

// join adds the counts of a line that follows closely, if they are others: " 21 pass", " 1 fail".
func (t *Tally) join(next Tally, close bool) bool {
	if !close || t.HasPassed == next.HasPassed || t.HasFailed == next.HasFailed || t.HasPassed && t.HasFailed {
		return false
	}
	t.Passed, t.Failed, t.HasPassed, t.HasFailed = t.Passed+next.Passed, t.Failed+next.Failed, true, true
	return true
}

// passedAll reports whether tests are counted and none failed.
func (t Tally) passedAll() bool { return (t.HasPassed || t.HasFailed) && t.Failed+t.Errors == 0 }

// merge adds the counts of a further project.
func (t *Tally) merge(next Tally) {
	t.Passed, t.Failed, t.Errors = t.Passed+next.Passed, t.Failed+next.Failed, t.Errors+next.Errors
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func atoi(s string) int {
	n := 0
	for i := range len(s) {
		if s[i] >= '0' && s[i] <= '9' && n < 1<<27 {
			n = n*10 + int(s[i]-'0')
		}
	}
	return n
}
