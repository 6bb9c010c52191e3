package secrets

import "regexp/syntax"

// isSpaceless says whether no match has a space in it, but as its last character: tokens have none, and where the next
// one stands their expression need not be run any further.
func isSpaceless(re *syntax.Regexp) bool {
	if re.Op != syntax.OpConcat {
		return !hasSpace(re)
	}
	for i, sub := range re.Sub {
		if atEnd := i == len(re.Sub)-1 && longest(sub) <= len(`\n`); hasSpace(sub) && !atEnd {
			return false
		}
	}
	return true
}

func hasSpace(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return true
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			if r == ' ' {
				return true
			}
		}
	case syntax.OpCharClass:
		for i := 0; i < len(re.Rune); i += 2 {
			if re.Rune[i] <= ' ' && ' ' <= re.Rune[i+1] {
				return true
			}
		}
	}
	for _, sub := range re.Sub {
		if hasSpace(sub) {
			return true
		}
	}
	return false
}
