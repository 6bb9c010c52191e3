package ledger

import (
	"regexp"
	"strings"
)

// pattern is a regular expression that is asked for only where it can match: most lines hold none of its marks,
// and looking for those takes a tenth of the time.
type pattern struct {
	*regexp.Regexp
	marks [256][]string // by their first byte, in either case
}

// What regular expressions take for an s and a k where case is of no matter.
const longS, kelvin = "\u017F", "\u212A"

// marked compiles a pattern. Whatever it matches holds one of the marks, in any case.
func marked(expr string, marks ...string) *pattern {
	p := &pattern{Regexp: regexp.MustCompile(expr)}
	for _, mark := range marks {
		for _, first := range []string{strings.ToLower(mark[:1]), strings.ToUpper(mark[:1])} {
			p.marks[first[0]] = append(p.marks[first[0]], mark)
		}
	}
	return p
}

// may says whether a text can match at all.
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

// MatchString says whether a text matches.
func (p *pattern) MatchString(text string) bool { return p.may(text) && p.Regexp.MatchString(text) }

// FindStringIndex is where a text matches first; nil where it does nowhere.
func (p *pattern) FindStringIndex(text string) []int {
	if !p.may(text) {
		return nil
	}
	return p.Regexp.FindStringIndex(text)
}

// FindStringSubmatch is what a text matches first, with its groups; nil where it does nowhere.
func (p *pattern) FindStringSubmatch(text string) []string {
	if !p.may(text) {
		return nil
	}
	return p.Regexp.FindStringSubmatch(text)
}
