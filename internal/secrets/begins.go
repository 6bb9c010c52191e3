package secrets

import (
	"regexp/syntax"
	"strings"
)

// beginsWithAny reports whether every match of an expression begins with one of the keywords.
func beginsWithAny(re *syntax.Regexp, keywords []string) bool {
	texts, _ := beginnings(re)
	for _, text := range texts {
		if !hasAnyPrefix(text, keywords) {
			return false
		}
	}
	return true
}

// namesOf returns the keywords of a rule for `name = value`: gitleaks's if each begins a name, else the names
// themselves. Some of its rules use the beginnings of values as keywords.
func namesOf(re *syntax.Regexp, keywords []string) []string {
	if beginsWithAny(re, keywords) {
		return keywords
	}
	names, _ := beginnings(re)
	return names
}

func hasAnyPrefix(text string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(text, p) {
			return true
		}
	}
	return false
}

// beginnings stops once there are too many.
const (
	mostBeginnings = 64
	mostOfAClass   = 4
)

// beginnings returns what the matches of an expression can begin with, in lower case, and whether these are complete
// matches.
func beginnings(re *syntax.Regexp) (texts []string, whole bool) {
	switch re.Op {
	case syntax.OpLiteral:
		return []string{strings.ToLower(string(re.Rune))}, true
	case syntax.OpCharClass:
		return membersOf(re.Rune)
	case syntax.OpCapture:
		return beginnings(re.Sub[0])
	case syntax.OpEmptyMatch, syntax.OpBeginText, syntax.OpWordBoundary:
		return []string{""}, true
	case syntax.OpQuest:
		texts, whole = beginnings(re.Sub[0])
		return append(texts, ""), whole
	case syntax.OpPlus:
		texts, _ = beginnings(re.Sub[0])
		return texts, false
	case syntax.OpAlternate:
		return ofEither(re.Sub)
	case syntax.OpConcat:
		return inOrder(re.Sub)
	default:
		return []string{""}, false
	}
}

// membersOf lists a small class, given as pairs of first and last rune.
func membersOf(pairs []rune) (texts []string, whole bool) {
	seen := map[string]bool{}
	for i := 0; i < len(pairs); i += 2 {
		for r := pairs[i]; r <= pairs[i+1]; r++ {
			if seen[strings.ToLower(string(r))] = true; len(seen) > mostOfAClass {
				return []string{""}, false
			}
		}
	}
	for text := range seen {
		texts = append(texts, text)
	}
	return texts, true
}

func ofEither(subs []*syntax.Regexp) (texts []string, whole bool) {
	whole = true
	for _, sub := range subs {
		some, w := beginnings(sub)
		texts, whole = append(texts, some...), whole && w
	}
	return texts, whole
}

func inOrder(subs []*syntax.Regexp) (texts []string, whole bool) {
	texts = []string{""}
	for _, sub := range subs {
		next, w := beginnings(sub)
		if len(texts)*len(next) > mostBeginnings {
			return texts, false
		}
		texts = joined(texts, next)
		if !w {
			return texts, false
		}
	}
	return texts, true
}

func joined(texts, next []string) []string {
	out := make([]string, 0, len(texts)*len(next))
	for _, a := range texts {
		for _, b := range next {
			out = append(out, a+b)
		}
	}
	return out
}
