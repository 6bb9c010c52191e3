package secrets

import (
	"regexp"
	"strings"
)

// search is one text's: the keywords come in order, and each rule looks where they are.
type search struct {
	rules  []rule
	text   string
	folded []byte           // the text in lower case
	spent  int              // of the budget
	read   int              // by expressions, in bytes
	behind []int            // by rule: where its last finding ended
	around map[int][]window // by rule that is not anchored
	found  []Finding

	name                      int // where the name ends that a keyword stands in, as it was looked for last
	space, quote, blank, line stop
}

// What a value ends at that may have quotes in it, and one that may have blanks too.
const (
	blank = " \t\n\v\f\r"
	line  = "\n"
)

// keyword has the rules look that it belongs to: an anchored one at once, since it begins there.
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

// endOfFinding is where the last finding ends, where there is one more than there were.
func (s *search) endOfFinding(were int) int {
	if len(s.found) == were {
		return 0
	}
	return s.found[len(s.found)-1].End
}

// endOf is where at the latest a match ends whose keyword ends at end.
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

// stop is where one of some characters stands, as it was looked for last: a long text without any is read once.
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

// What a text may cost, in bytes that an expression reads: so many for each of its own, and some more. What people and
// programs write takes a fraction of it. Where names stand on top of each other there is no end to what could be
// looked at, and a partition waits.
const (
	budgetPerByte = 1
	leastBudget   = 1 << 20
	runCost       = 32 // for an expression to begin at all
	allowCost     = 6  // for each byte that is held against the allow lists
)

// unread is the rule of what nobody looked at.
const unread = "unread"

// afford says whether the budget has room for some work, which is then taken from it.
func (s *search) afford(cost int) bool {
	if s.spent+cost > leastBudget+budgetPerByte*len(s.text) {
		return false
	}
	s.spent += cost
	return true
}

// look runs a rule's expression in a window. What there is no budget for is a finding: nobody can say that it holds
// no secret, or that a list lets it go.
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

// mostName is how far an operator stands from a keyword in a rule of the kind `name = value`, behind the rest of
// the name, blanks and quotes, and how far from there the value.
const mostName = 64

// valueBehind is where the value of an assignment begins whose name has a keyword in it that ends here, and negative
// where nothing is assigned. Most names are none, and looking for a value takes a hundred times as long.
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

// goesOn says whether a word that began before a place goes on there. What an escape stands for is no part of a word,
// though its last character looks like one: `\n`, `\u003d` and `%3D` are what other formats make of signs.
func goesOn(text string, at int) bool {
	if at == 0 || !isWordByte(text[at-1]) {
		return false
	}
	return !escape.MatchString(text[max(0, at-6):at])
}

var escape = regexp.MustCompile(`(?:\\[nrtfbv0]|\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|%[0-9A-Fa-f]{2}|\x1b\[[0-9;]*m)$`)
