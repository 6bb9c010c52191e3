package secrets

import "regexp/syntax"

// isWithout says whether no match has a character in it, but as its last one: tokens have no blanks, and where the
// next one stands their expression need not be run any further.
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
