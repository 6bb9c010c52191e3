package ledger

import (
	"regexp"
	"strings"
)

// pattern is a regular expression that runs only if it can match: most lines contain none of its marks,
// and searching for those takes a tenth of the time.
type pattern struct {
	*regexp.Regexp
	marks [256][]string // by their first byte, in either case
}

// Characters that regular expressions match as s and k when case is ignored.
const longS, kelvin = "\u017F", "\u212A"

// marked compiles a pattern. Every match must contain one of the marks, in any case.
func marked(expr string, marks ...string) *pattern {
	p := &pattern{Regexp: regexp.MustCompile(expr)}
	for _, mark := range marks {
		for _, first := range []string{strings.ToLower(mark[:1]), strings.ToUpper(mark[:1])} {
			p.marks[first[0]] = append(p.marks[first[0]], mark)
		}
	}
	return p
}

// may reports whether a text can match at all.
func (p *pattern) may(text string) bool {
	for i := range len(text) {
		for _, mark := range p.marks[text[i]] {
			if end := i + len(mark); end <= len(text) && strings.EqualFold(text[i:end], mark) {
				return true
			}
		}
	}
	return strings.Contains(text, longS) || strings.Contains(text, kelvin)
}

// MatchString reports whether a text matches.
func (p *pattern) MatchString(text string) bool { return p.may(text) && p.Regexp.MatchString(text) }

// FindStringIndex returns the position of a text's first match, or nil.
func (p *pattern) FindStringIndex(text string) []int {
	if !p.may(text) {
		return nil
	}
	return p.Regexp.FindStringIndex(text)
}

// FindStringSubmatch returns a text's first match with its groups, or nil.
func (p *pattern) FindStringSubmatch(text string) []string {
	if !p.may(text) {
		return nil
	}
	return p.Regexp.FindStringSubmatch(text)
}
