package secrets

import (
	"regexp"
	"strings"
)

// search is the search of one text: keywords arrive in order, and each rule runs at its keywords.
type search struct {
	rules  []rule
	text   string
	folded []byte           // the text in lower case
	spent  int              // of the budget
	read   int              // by expressions, in bytes
	behind []int            // by rule: the end of its last finding
	around map[int][]window // by rule that is not anchored
	found  []Finding

	name                      int // the last computed end of a name that contains a keyword
	space, quote, blank, line stop
}

// What ends a value that may contain quotes, and one that may also contain blanks.
const (
	blank = " \t\n\v\f\r"
	line  = "\n"
)

// keyword runs the rules of a keyword: an anchored one at once, since its matches begin there.
func (s *search) keyword(at, end int, rules []int) {
	value, looked := -1, false
	for _, i := range rules {
		switch r := &s.rules[i]; {
		case r.follows != nil && !r.follows(s.folded[end:]):
		case !r.anchored:
			s.around[i] = r.widened(s.around[i], r.around(at, end, len(s.text)))
		case at >= s.behind[i] && !(r.bounded && goesOn(s.text, at)):
			if r.assigns && !looked {
				value, looked = s.valueBehind(end), true
			}
			if r.assigns && value < 0 {
				continue
			}
			n := len(s.found)
			s.look(r, window{at, min(s.endOf(r, end, value), end+r.reach)})
			s.behind[i] = s.endOfFinding(n)
		}
	}
}

// endOfFinding returns the end of the last finding if there are more than before.
func (s *search) endOfFinding(were int) int {
	if len(s.found) == were {
		return 0
	}
	return s.found[len(s.found)-1].End
}

// endOf returns the latest end of a match whose keyword ends at end.
func (s *search) endOf(r *rule, end, value int) int {
	switch {
	case r.until == blank:
		return s.blank.behind(s.text, max(end, value), blank)
	case r.assigns && !r.quotes:
		return s.quote.behind(s.text, value, " \t\n\v\f\r'\"`")
	case r.spaceless:
		return s.space.behind(s.text, end, " ")
	case r.until == line:
		return s.line.behind(s.text, end, line)
	default:
		return len(s.text)
	}
}

// stop caches the position of the next of some characters: a long text without any is scanned once.
type stop struct{ from, at int }

func (s *stop) behind(text string, from int, chars string) int {
	if from < s.from || s.at < from {
		s.from, s.at = from, len(text)
		if i := strings.IndexAny(text[from:], chars); i >= 0 {
			s.at = from + i
		}
	}
	return min(len(text), s.at+1)
}

// The budget of a text, in bytes that expressions read: a multiple of its length, plus a constant. Real text takes
// a fraction of it. Where names overlap densely the work would be unbounded, and would block a
// partition.
const (
	budgetPerByte = 1
	leastBudget   = 1 << 20
	runCost       = 32 // to start an expression
	allowCost     = 6  // per byte that is checked against the allow lists
)

// unread is the rule name for text that was not searched.
const unread = "unread"

// afford reports whether the budget covers some work, and then deducts it.
func (s *search) afford(cost int) bool {
	if s.spent+cost > leastBudget+budgetPerByte*len(s.text) {
		return false
	}
	s.spent += cost
	return true
}

// look runs a rule's expression in a window. A window beyond the budget is a finding: it may contain a secret, and no
// allow list has been checked.
func (s *search) look(r *rule, w window) {
	if !s.afford((runCost + w.end - w.start) * r.weight) {
		s.pass(w)
		return
	}
	s.read += w.end - w.start
	for _, m := range r.in(s.text, w) {
		if !s.afford(runCost+allowCost*(m.end-m.start)) || !r.allows(s.text, m) {
			s.found = append(s.found, Finding{r.id, m.start, m.end})
		}
	}
}

func (s *search) pass(w window) {
	if n := len(s.found); n > 0 && s.found[n-1].Rule == unread && s.found[n-1].Start <= w.start && w.start <= s.found[n-1].End {
		s.found[n-1].End = max(s.found[n-1].End, w.end)
		return
	}
	s.found = append(s.found, Finding{unread, w.start, w.end})
}

// mostName is the maximum distance of an operator from a keyword in a `name = value` rule (the rest of
// the name, blanks and quotes), and of the value from the operator.
const mostName = 64

// valueBehind returns the start of the value assigned to the name that contains the keyword ending at end, or a negative
// number if nothing is assigned. Most names have no value, and searching for one takes a hundred times as long.
func (s *search) valueBehind(end int) int {
	if s.name < end {
		s.name = end
		for s.name < len(s.text) && isName(s.text[s.name]) {
			s.name++
		}
	}
	if s.name == len(s.text) || s.name >= end+mostName || !isOperator(s.text[s.name]) {
		return -1
	}
	i := s.name
	for i < min(len(s.text), s.name+mostName) && (isOperator(s.text[i]) || isQuoting(s.text[i])) {
		i++
	}
	return i
}

func isName(c byte) bool { return isNameByte(c) || c >= 0x80 || isQuoting(c) }

func isOperator(c byte) bool { return strings.IndexByte("=:>|?,", c) >= 0 }

func isQuoting(c byte) bool { return strings.IndexByte(" \t\n\v\f\r'\"`\\", c) >= 0 }

func isWordByte(c byte) bool { return isNameByte(c) && c != '.' && c != '-' }

// goesOn reports whether a word that began before a position continues there. An escape is not part of a word,
// although its last character may look like one: other formats write signs as `\n`, `\u003d` and `%3D`.
func goesOn(text string, at int) bool {
	if at == 0 || !isWordByte(text[at-1]) {
		return false
	}
	return !escape.MatchString(text[max(0, at-6):at])
}

var escape = regexp.MustCompile(`(?:\\[nrtfbv0]|\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|%[0-9A-Fa-f]{2}|\x1b\[[0-9;]*m)$`)
