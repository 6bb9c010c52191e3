package secrets

import "regexp/syntax"

// isWithout reports whether no match contains a character, except as its last one: tokens contain no blanks, so
// their expression need not run beyond the next blank.
func isWithout(re *syntax.Regexp, char rune) bool {
	if re.Op != syntax.OpConcat {
		return !has(re, char)
	}
	for i, sub := range re.Sub {
		if atEnd := i == len(re.Sub)-1 && longest(sub) <= len(`\n`); has(sub, char) && !atEnd {
			return false
		}
	}
	return true
}

func has(re *syntax.Regexp, char rune) bool {
	switch re.Op {
	case syntax.OpAnyChar:
		return true
	case syntax.OpAnyCharNotNL:
		return char != '\n'
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			if r == char {
				return true
			}
		}
	case syntax.OpCharClass:
		for i := 0; i < len(re.Rune); i += 2 {
			if re.Rune[i] <= char && char <= re.Rune[i+1] {
				return true
			}
		}
	}
	for _, sub := range re.Sub {
		if has(sub, char) {
			return true
		}
	}
	return false
}
