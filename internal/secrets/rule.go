package secrets

import (
	"bytes"
	"math"
	"regexp"
	"regexp/syntax"
	"strings"
)

// rule is one kind of secret.
type rule struct {
	id        string
	keywords  []string // lower case; every match contains one or has one beside it
	regex     *regexp.Regexp
	first     bool                     // a match begins with a keyword
	anchored  bool                     // … and the expression runs only there
	bounded   bool                     // … which no letter, digit or underscore precedes
	named     bool                     // … and may be the end of a longer name, which allow lists are shown
	spaceless bool                     // … and no match has a space in it, but at its end
	assigns   bool                     // … and has an operator between it and the secret
	quotes    bool                     // … which may have quotes and blanks in it
	until     string                   // a match ends before one of these at the latest; empty: at the end of the token
	group     int                      // the secret's group; 0: the first that matched, else the whole match
	entropy   float64                  // bits a byte that the secret must exceed
	reach     int                      // how far a match extends from its keyword, in bytes
	apart     bool                     // windows end at the next keyword, where another match may begin
	follows   func(folded []byte) bool // whether the text after a keyword can belong to a match; nil: always
	// ends returns the end of the secret within the matched text; nil: all of it
	ends    func(secret string, before byte) int
	weight  int // cost of a window's byte, relative to a plain expression
	allowed func(secret, match, line string) bool
}

// How far around a keyword an expression runs: as far as its longest match, within these bounds. A token
// that is cut at the end of the window is followed to its own end.
const (
	leastReach = 256
	mostReach  = 2048
)

// wideReach is for kinds without a short form: a private key of 8,192 bits with headers, a token that contains
// a document.
var wideReach = map[string]int{"private-key": 16 << 10, "private-key-part": 16 << 10, "private-key-end": 8 << 10, "jwt": 8 << 10}

// follows decides by the text after a keyword whether to run an expensive expression.
var follows = map[string]func(folded []byte) bool{
	"private-key": announcesKey, "private-key-part": announcesKey,
	"mysql-password": func(folded []byte) bool { return bytes.Contains(folded[:min(len(folded), 130)], []byte("-p")) },
	"netrc":          func(folded []byte) bool { return len(folded) > 0 && (folded[0] == ' ' || folded[0] == '\t') },
	"url-password":   hasUser, "url-token": hasUser,
}

func announcesKey(folded []byte) bool {
	return bytes.Contains(folded[:min(len(folded), 120)], []byte("private key"))
}

// hasUser reports whether a URL continues with a user.
func hasUser(folded []byte) bool {
	i := bytes.IndexAny(folded[:min(len(folded), 310)], " \t\n\v\f\r/@'\"")
	return i >= 0 && folded[i] == '@'
}

// looksFor sets the expression, and the properties derived from it.
func (r *rule) looksFor(expression string) {
	tree, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		panic(err) // one of our own; gitleaks compiles its rules
	}
	if r.named {
		r.keywords = namesOf(tree, r.keywords)
	}
	r.reach, r.follows, r.apart = reachOf(r.id, tree), follows[r.id], strings.HasPrefix(r.id, "curl-")
	r.first, r.spaceless = beginsWithAny(tree, r.keywords), isWithout(tree, ' ')
	if isWithout(tree, '\n') {
		r.until = line
	}
	r.anchored, r.weight = r.first && (r.reach < mostReach || r.spaceless), 1
	switch {
	case r.anchored:
		r.regex = regexp.MustCompile(`\A(?:` + expression + `)`)
		r.bounded = strings.HasPrefix(strings.TrimPrefix(expression, `(?i)`), `\b`)
		return
	case r.reach >= mostReach:
		r.weight = 3
	default:
		r.weight = 2
	}
	r.regex = regexp.MustCompile(expression)
}

func reachOf(id string, tree *syntax.Regexp) int {
	if n, ok := wideReach[id]; ok {
		return n
	}
	return max(leastReach, min(longest(tree), mostReach))
}

// longest returns the length in bytes of an expression's longest match; more than mostReach if it is unlimited.
func longest(re *syntax.Regexp) int {
	n := 0
	switch re.Op {
	case syntax.OpLiteral:
		n = len(string(re.Rune))
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		n = 1
	case syntax.OpCapture, syntax.OpQuest:
		n = longest(re.Sub[0])
	case syntax.OpStar, syntax.OpPlus:
		n = openEnd(re.Sub[0])
	case syntax.OpRepeat:
		if n = openEnd(re.Sub[0]); re.Max >= 0 {
			n = re.Max * longest(re.Sub[0])
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			n += longest(sub)
		}
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			n = max(n, longest(sub))
		}
	}
	return min(n, mostReach)
}

// openEnd is how much of an unlimited run suffices to recognize it.
func openEnd(of *syntax.Regexp) int {
	if of.Op == syntax.OpCharClass {
		return leastReach
	}
	return mostReach
}

// secretIn returns the range of the secret in a match.
func (r *rule) secretIn(loc []int) (start, end int) {
	if r.group > 0 && 2*r.group+1 < len(loc) && loc[2*r.group] >= 0 {
		return loc[2*r.group], loc[2*r.group+1]
	}
	for i := 2; i+1 < len(loc) && r.group == 0; i += 2 {
		if loc[i] >= 0 && loc[i] < loc[i+1] {
			return loc[i], loc[i+1]
		}
	}
	return loc[0], loc[1]
}

// entropyOf returns the Shannon entropy in bits per byte, the unit of gitleaks's limits.
func entropyOf(s string) float64 {
	var count [256]int
	for i := range len(s) {
		count[s[i]]++
	}
	bits := 0.0
	for _, n := range count {
		if n > 0 {
			p := float64(n) / float64(len(s))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}
