package ledger

// An identifier, a path or a number: ASCII letters, digits and underscores, joined by single . / : -
// Both the whole and its parts count: a path's last name is what people write again.

// maxWord bounds what counts as one identifier, in bytes: a longer one (a hash, base64) would eat a
// budget alone.
const maxWord = 120

// eachWord calls found for the identifiers in s, in order, wholes before their parts; the same one
// each time it stands there.
func eachWord(s string, found func(w string)) {
	eachWordAt(s, func(start, end int) { found(s[start:end]) })
}

// eachWordAt is eachWord by position.
func eachWordAt(s string, found func(start, end int)) {
	for i := 0; i < len(s); {
		if !wordByte(s[i]) {
			i++
			continue
		}
		end, parts := wordEnd(s, i)
		accept(s, i, end, found)
		if parts {
			eachPart(s, i, end, found)
		}
		i = end
	}
}

func wordEnd(s string, i int) (end int, parts bool) {
	for {
		for i < len(s) && wordByte(s[i]) {
			i++
		}
		if i+1 >= len(s) || !joint(s[i]) || !wordByte(s[i+1]) {
			return i, parts
		}
		i++
		parts = true
	}
}

func eachPart(s string, from, end int, found func(start, end int)) {
	for i := from; i < end; i++ {
		if joint(s[i]) {
			accept(s, from, i, found)
			from = i + 1
		}
	}
	accept(s, from, end, found)
}

func accept(s string, start, end int, found func(start, end int)) {
	if specific(s[start:end]) {
		found(start, end)
	}
}

// specific tells an identifier from a word of prose: four bytes or more, with a change of case, a
// digit, an underscore or a joint inside, or all capitals.
func specific(w string) bool {
	if len(w) < 4 || len(w) > maxWord {
		return false
	}
	k := kindOf(w)
	return k.inner || k.digit || k.upper && !k.lower
}

// kind is what an identifier is made of.
type kind struct {
	lower, upper, digit, inner, slash, dot, under bool
	letters                                       int
}

func kindOf(w string) (k kind) {
	for i := range len(w) {
		switch c := w[i]; {
		case c >= 'a' && c <= 'z':
			k.lower = true
			k.letters++
		case c >= 'A' && c <= 'Z':
			k.inner = k.inner || i > 0 && w[i-1] >= 'a' && w[i-1] <= 'z'
			k.upper = true
			k.letters++
		case c >= '0' && c <= '9':
			k.digit = true
		default:
			k.inner = true
			k.slash, k.dot, k.under = k.slash || c == '/', k.dot || c == '.', k.under || c == '_'
		}
	}
	return k
}

// number says that nothing but digits and joints are in it, and at most a unit: 1.4k, 112s.
func (k kind) number() bool { return k.digit && k.letters < 2 && !k.under }

func joint(c byte) bool { return c == '.' || c == '/' || c == ':' || c == '-' }

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
