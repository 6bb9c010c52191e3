package words

import (
	"strings"
	"unicode/utf8"

	"precis/summarize/lex"
	"precis/summarize/rules/outline"
)

// AppendSqueezed appends a squeezed name.
func AppendSqueezed(b []byte, name string) []byte {
	from := len(b)
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case c >= utf8.RuneSelf:
			return append(b[:from], lex.Squeeze(name)...)
		case c == '_' || c == '-' || c == ' ' || c == '.':
		default:
			b = append(b, fold(c))
		}
	}
	return b
}

// leastBlob is the minimum length of encoded data, in bytes; base64 usually comes in lines of 64 or 76.
// Ids that agents use are shorter, or hexadecimal.
const leastBlob = 60

// IsBlob recognizes base64 and similar: one run of lower case, upper case and digits, in which at least two of five
// characters differ in kind from the one before (two of three if random). In names and between joints most don't.
func IsBlob(text string) bool {
	if len(text) < leastBlob {
		return false
	}
	if text = strings.Trim(text, "\"'`[]{}(),;+ "); len(text) < leastBlob { // without its quotes
		return false
	}
	kinds, before, changes := uint8(0), otherKind, 0
	for i := 0; i < len(text); i++ {
		kind := wordKinds[text[i]]
		if kind == otherKind {
			if !blobSigns[text[i]] {
				return false
			}
		} else if before != otherKind && kind != before {
			changes++
		}
		kinds |= kind
		before = kind
	}
	const all = smallKind | capitalKind | digitKind
	return kinds&all == all && changes*5 >= 2*len(text)
}

// blobSigns occur in base64 beside letters and digits.
var blobSigns = lex.SetOf("+/=-_")

func DigitAt(s string) int { return strings.IndexAny(s, "0123456789") }

// An identifier, a path or a number: letters, digits and underscores, joined by single . / : -
// Both the whole and its parts count: people repeat the last name of a path.

// NextWord finds the first whole in s from byte i on, and whether it has several parts; start is end if there is
// none.
func NextWord(s string, i int) (start, end int, joined bool) {
	for i < len(s) && !lex.WordByte[s[i]] {
		i++
	}
	for start = i; ; i++ {
		for i < len(s) && lex.WordByte[s[i]] {
			i++
		}
		if i+1 >= len(s) || !Joint(s[i]) || !lex.WordByte[s[i+1]] {
			return start, i, joined
		}
		joined = true
	}
}

// EachWord calls found for every identifier in s, wholes before their parts.
func EachWord(s string, found func(start, end int)) {
	for at := 0; ; {
		start, end, joined := NextWord(s, at)
		if start == end {
			return
		}
		found(start, end)
		if joined {
			EachPart(s, start, end, found)
		}
		at = end
	}
}

func EachPart(s string, start, end int, found func(start, end int)) {
	from := start
	for i := start; i < end; i++ {
		if Joint(s[i]) {
			found(from, i)
			from = i + 1
		}
	}
	found(from, end)
}

func Joint(c byte) bool { return c == '.' || c == '/' || c == ':' || c == '-' }

// Specific distinguishes an identifier from a word of prose: four characters or more, and a change of case, a
// digit, an underscore or a joint inside, or all digits, or all capitals.
func Specific(w string) bool {
	if len(w) < ShortestWord || len(w) > MaxWord {
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
const ShortestWord, MaxWord = 4, 160

// Properties of an identifier's spelling.
const (
	IsDigits uint32 = 1 << iota
	IsDate
	IsHex
	IsPathName
	IsFileName
	IsCapitals
	IsCamel
	IsExported
)

// LookOf returns the properties of an identifier's spelling.
func LookOf(w string) (look uint32) {
	n := countLetters(w)
	switch {
	case n.digits == len(w):
		look = IsDigits
	case n.upper+n.lower == 0 || isMeasure(w, n):
		look = IsDate
	case n.hex+n.dashes == len(w) && n.digits > 0 && len(w) >= 7:
		look = IsHex
	case n.slashes > 0:
		look = IsPathName
	case n.colons > 0:
	case n.dots > 0:
		if fileTypes[w[strings.LastIndexByte(w, '.')+1:]] != "" {
			look |= IsFileName
		}
	case n.dashes > 0:
	case n.lower == 0:
		look = IsCapitals
	case n.unders > 0:
	case !lex.IsUpper(w[0]):
		look = IsCamel
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
		look |= IsExported
	}
	return look
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
	IsCalled   uint32 = 1 << iota // an opening bracket follows
	IsAssigned                    // := or = follows
	IsQuoted                      // in quotes or backticks
	InComment                     // in a comment
	InImport                      // in an import
	InHeading                     // in a heading
	IsEscaped                     // its first letter belongs to an escape
	IsName                        // the last name of a path, with its extension, in a listing
	IsStem                        // the same without its extension
)

// ContextOf returns how text[start:end] occurs in its line.
func ContextOf(text string, start, end int, kind outline.Kind) uint32 {
	var f uint32
	switch kind {
	case outline.CommentLine:
		f |= InComment
	case outline.ImportLine_:
		f |= InImport
	case outline.HeadingLine:
		f |= InHeading
	}
	if start > 0 {
		switch text[start-1] {
		case '\\':
			f |= IsEscaped
		case '"', '\'', '`':
			f |= IsQuoted
		}
	}
	return f | following(text[end:])
}

func following(rest string) uint32 {
	switch {
	case rest == "":
	case rest[0] == '(':
		return IsCalled
	case rest[0] == '=', rest[0] == ':' && len(rest) > 1 && rest[1] == '=':
		return IsAssigned
	case rest[0] == ' ' && len(rest) > 2 && (rest[1] == '=' && rest[2] != '=' || rest[1] == ':' && rest[2] == '='):
		return IsAssigned
	}
	return 0
}
