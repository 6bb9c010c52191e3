package rules

// An identifier, a path or a number: letters, digits and underscores, joined by single . / : -
// Both the whole and its parts count: people repeat the last name of a path.

// nextWord finds the first whole in s from byte i on, and whether it has several parts; start is end if there is
// none.
func nextWord(s string, i int) (start, end int, joined bool) {
	for i < len(s) && !wordByte[s[i]] {
		i++
	}
	for start = i; ; i++ {
		for i < len(s) && wordByte[s[i]] {
			i++
		}
		if i+1 >= len(s) || !joint(s[i]) || !wordByte[s[i+1]] {
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

// wordByte: ASCII letters, digits and the underscore.
var wordByte = func() (t [256]bool) {
	for c := range t {
		t[c] = c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	}
	return t
}()

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
		case isLower(c):
			t[c] = smallKind
		case isUpper(c):
			t[c] = capitalKind
		case isDigit(c):
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
