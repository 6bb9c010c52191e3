package rules

import (
	"strings"

	"precis/summarize/lex"
)

// An identifier, a path or a number: letters, digits and underscores, joined by single . / : -
// Both the whole and its parts count: people repeat the last name of a path.

// nextWord finds the first whole in s from byte i on, and whether it has several parts; start is end if there is
// none.
func nextWord(s string, i int) (start, end int, joined bool) {
	for i < len(s) && !lex.WordByte[s[i]] {
		i++
	}
	for start = i; ; i++ {
		for i < len(s) && lex.WordByte[s[i]] {
			i++
		}
		if i+1 >= len(s) || !joint(s[i]) || !lex.WordByte[s[i+1]] {
			return start, i, joined
		}
		joined = true
	}
}

// eachWord calls found for every identifier in s, wholes before their parts.
func eachWord(s string, found func(start, end int)) {
	for at := 0; ; {
		start, end, joined := nextWord(s, at)
		if start == end {
			return
		}
		found(start, end)
		if joined {
			eachPart(s, start, end, found)
		}
		at = end
	}
}

func eachPart(s string, start, end int, found func(start, end int)) {
	from := start
	for i := start; i < end; i++ {
		if joint(s[i]) {
			found(from, i)
			from = i + 1
		}
	}
	found(from, end)
}

func joint(c byte) bool { return c == '.' || c == '/' || c == ':' || c == '-' }

// specific distinguishes an identifier from a word of prose: four characters or more, and a change of case, a
// digit, an underscore or a joint inside, or all digits, or all capitals.
func specific(w string) bool {
	if len(w) < shortestWord || len(w) > maxWord {
		return false
	}
	var kinds, before, change uint8
	for i := 0; i < len(w); i++ {
		kind := wordKinds[w[i]]
		kinds |= kind
		change |= before & (kind >> 1) // a capital after a lower-case letter
		before = kind
	}
	return change&smallKind != 0 || kinds&(digitKind|otherKind) != 0 || kinds&(smallKind|capitalKind) == capitalKind
}

// Kinds of bytes in a word, as bits.
const (
	smallKind uint8 = 1 << iota
	capitalKind
	digitKind
	otherKind
)

var wordKinds = func() (t [256]uint8) {
	for c := range t {
		switch c := byte(c); {
		case lex.IsLower(c):
			t[c] = smallKind
		case lex.IsUpper(c):
			t[c] = capitalKind
		case lex.IsDigit(c):
			t[c] = digitKind
		default:
			t[c] = otherKind
		}
	}
	return t
}()

// Length limits of an identifier, in bytes: a longer one (a hash, base64, a digit string) would use up the
// budget alone.
const shortestWord, maxWord = 4, 160

// Properties of an identifier's spelling.
const (
	isDigits uint32 = 1 << iota
	isDate
	isHex
	isPathName
	isFileName
	isCapitals
	isCamel
	isExported
)

// lookOf returns the properties of an identifier's spelling.
func lookOf(w string) (look uint32) {
	n := countLetters(w)
	switch {
	case n.digits == len(w):
		look = isDigits
	case n.upper+n.lower == 0 || isMeasure(w, n):
		look = isDate
	case n.hex+n.dashes == len(w) && n.digits > 0 && len(w) >= 7:
		look = isHex
	case n.slashes > 0:
		look = isPathName
	case n.colons > 0:
	case n.dots > 0:
		if fileTypes[w[strings.LastIndexByte(w, '.')+1:]] != "" {
			look |= isFileName
		}
	case n.dashes > 0:
	case n.lower == 0:
		look = isCapitals
	case n.unders > 0:
	case !lex.IsUpper(w[0]):
		look = isCamel
	}
	at := 0
	if n.dots+n.slashes > 0 {
		for w[at] != '.' && w[at] != '/' {
			at++
		}
		if at > 0 {
			at = min(at+1, len(w)-1)
		}
	}
	if lex.IsUpper(w[at]) {
		look |= isExported
	}
	return look
}

// looks sets the features of a spelling.
func looks(look uint32, x *vector) {
	x[fDigits] = flag(look&isDigits != 0)
	x[fDate] = flag(look&isDate != 0)
	x[fHex] = flag(look&isHex != 0)
	x[fPath] = flag(look&isPathName != 0)
	x[fFileName] = flag(look&isFileName != 0)
	x[fCapitals] = flag(look&isCapitals != 0)
	x[fCamel] = flag(look&isCamel != 0)
	x[fExported] = flag(look&isExported != 0)
}

// isMeasure distinguishes "3.98s", "418ms" and "10KB" from "0o644" and "v1.2".
func isMeasure(w string, n letters) bool {
	few := n.upper+n.lower <= 2
	return few && n.digits >= 4 || few && lex.IsDigit(w[0]) && n.dots+n.slashes+n.dashes <= 1 && strings.IndexByte("xob", w[1]) < 0
}

// letters counts the kinds of characters in an identifier.
type letters struct{ digits, hex, upper, lower, dots, slashes, colons, dashes, unders int }

func countLetters(w string) (n letters) {
	var count [lastLetter]int
	for i := 0; i < len(w); i++ {
		count[letterKinds[w[i]]]++
	}
	return letters{
		digits: count[digitLetter], hex: count[digitLetter] + count[lowerHex] + count[upperHex],
		upper: count[upperHex] + count[upperLetter], lower: count[lowerHex] + count[lowerLetter],
		dots: count[dotLetter], slashes: count[slashLetter], colons: count[colonLetter], dashes: count[dashLetter],
		unders: count[otherLetter],
	}
}

// Kinds of characters.
const (
	otherLetter = iota
	digitLetter
	lowerHex
	lowerLetter
	upperHex
	upperLetter
	dotLetter
	slashLetter
	colonLetter
	dashLetter
	lastLetter
)

var letterKinds = func() (t [256]uint8) {
	for c := range t {
		switch c := byte(c); {
		case lex.IsDigit(c):
			t[c] = digitLetter
		case c >= 'a' && c <= 'f':
			t[c] = lowerHex
		case lex.IsLower(c):
			t[c] = lowerLetter
		case c >= 'A' && c <= 'F':
			t[c] = upperHex
		case lex.IsUpper(c):
			t[c] = upperLetter
		}
	}
	t['.'], t['/'], t[':'], t['-'] = dotLetter, slashLetter, colonLetter, dashLetter
	return t
}()

// How an identifier occurs in its text; a word has the union over its mentions.
const (
	isCalled   uint32 = 1 << iota // an opening bracket follows
	isAssigned                    // := or = follows
	isQuoted                      // in quotes or backticks
	inComment                     // in a comment
	inImport                      // in an import
	inHeading                     // in a heading
	isEscaped                     // its first letter belongs to an escape
	isName                        // the last name of a path, with its extension, in a listing
	isStem                        // the same without its extension
)

// contextOf returns how text[start:end] occurs in its line.
func contextOf(text string, start, end int, kind lineKind) uint32 {
	var f uint32
	switch kind {
	case commentLine:
		f |= inComment
	case importLine_:
		f |= inImport
	case headingLine:
		f |= inHeading
	}
	if start > 0 {
		switch text[start-1] {
		case '\\':
			f |= isEscaped
		case '"', '\'', '`':
			f |= isQuoted
		}
	}
	return f | following(text[end:])
}

func following(rest string) uint32 {
	switch {
	case rest == "":
	case rest[0] == '(':
		return isCalled
	case rest[0] == '=', rest[0] == ':' && len(rest) > 1 && rest[1] == '=':
		return isAssigned
	case rest[0] == ' ' && len(rest) > 2 && (rest[1] == '=' && rest[2] != '=' || rest[1] == ':' && rest[2] == '='):
		return isAssigned
	}
	return 0
}
