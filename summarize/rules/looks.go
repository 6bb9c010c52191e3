package rules

import "strings"

// Properties of an identifier's spelling.
const (
	isDigits uint32 = 1 << iota
	isDate
	isHex
	isPathName
	isDotted
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
		look = isDotted
		if fileTypes[w[strings.LastIndexByte(w, '.')+1:]] != "" {
			look |= isFileName
		}
	case n.dashes > 0:
	case n.lower == 0:
		look = isCapitals
	case n.unders > 0:
	case !isUpper(w[0]):
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
	if isUpper(w[at]) {
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
	x[fDotted] = flag(look&isDotted != 0)
	x[fFileName] = flag(look&isFileName != 0)
	x[fCapitals] = flag(look&isCapitals != 0)
	x[fCamel] = flag(look&isCamel != 0)
	x[fExported] = flag(look&isExported != 0)
}

// isMeasure distinguishes "3.98s", "418ms" and "10KB" from "0o644" and "v1.2".
func isMeasure(w string, n letters) bool {
	few := n.upper+n.lower <= 2
	return few && n.digits >= 4 || few && isDigit(w[0]) && n.dots+n.slashes+n.dashes <= 1 && strings.IndexByte("xob", w[1]) < 0
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
		case isDigit(c):
			t[c] = digitLetter
		case c >= 'a' && c <= 'f':
			t[c] = lowerHex
		case isLower(c):
			t[c] = lowerLetter
		case c >= 'A' && c <= 'F':
			t[c] = upperHex
		case isUpper(c):
			t[c] = upperLetter
		}
	}
	t['.'], t['/'], t[':'], t['-'] = dotLetter, slashLetter, colonLetter, dashLetter
	return t
}()
