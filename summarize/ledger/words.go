package ledger

// An identifier, a path or a number: ASCII letters, digits and underscores, joined by single . / : -
// Both the whole and its parts count: people repeat the last name of a path.

// maxWord bounds an identifier, in bytes: a longer one (a hash, base64) would use up a
// budget alone.
const maxWord = 120

// leastWord is the minimum length of an identifier, in bytes.
const leastWord = 4

// class is the role of a byte in an identifier: in it, a joint between two parts, or neither.
var class = func() (of [256]byte) {
	for c := range of {
		switch {
		case wordByte(byte(c)):
			of[c] = inWord
		case joint(byte(c)):
			of[c] = joins
		}
	}
	return of
}()

const (
	inWord = 1 + iota
	joins
)

// eachWord calls found for the identifiers in s, in order, wholes before their parts, and again
// for each occurrence.
func eachWord(s string, found func(w string)) {
	eachWordAt(s, func(start, end int) { found(s[start:end]) })
}

// eachWordAt is eachWord with positions.
func eachWordAt(s string, found func(start, end int)) {
	data := encodings{text: s}
	eachCandidate(s, func(start, end int) {
		if w := s[start:end]; specific(w) && !hashed(w) && !data.hold(start) {
			found(start, end)
		}
	})
}

// eachCandidate calls found for everything that has the length of an identifier. A caller that looks for known
// identifiers need not check more.
func eachCandidate(s string, found func(start, end int)) {
	var room [16]extent
	for i := 0; i < len(s); {
		list := room[:0]
		list, i = candidates(list, s, i)
		for _, c := range list {
			found(c.start, c.end)
		}
	}
}

// controlEnd returns the end of the terminal control at i (ECMA-48, CSI): "\x1b[1mPlan" has the word Plan, not 1mPlan.
func controlEnd(s string, i int) int {
	if i++; i == len(s) || s[i] != '[' {
		return i
	}
	for i++; i < len(s) && (s[i] >= '0' && s[i] <= '9' || s[i] == ';' || s[i] == '?'); i++ {
	}
	if i < len(s) && (s[i] >= 'A' && s[i] <= 'Z' || s[i] >= 'a' && s[i] <= 'z') {
		i++
	}
	return i
}

// escapeEnd returns the end of the escaped line end or tab at i, as programs write it: "\n\tPhase" has the word Phase.
// Before a lower-case letter, and after a drive, it may be part of a path: C:\temp; a tab also after a word: src\tRPC.
func escapeEnd(s string, i int) int {
	slash := i - 1
	if slash < 0 || s[slash] != '\\' || i+1 >= len(s) || s[i+1] < 'A' || s[i+1] > 'Z' {
		return i
	}
	switch s[i] {
	case 'n':
		if slash == 0 || s[slash-1] != ':' {
			return i + 1
		}
	case 'r', 't':
		escaped := slash > 1 && s[slash-2] == '\\' // preceded by another one
		if slash == 0 || class[s[slash-1]] == 0 || escaped {
			return i + 1
		}
	}
	return i
}

// extent is a range of a text.
type extent struct{ start, end int }

// candidates appends the potential identifiers of the first run of words in s at or after i, the whole before
// its parts, and returns the end of the run.
func candidates(list []extent, s string, i int) (_ []extent, end int) {
	for i < len(s) && class[s[i]] != inWord {
		if s[i] == '\x1b' {
			i = controlEnd(s, i)
			continue
		}
		i++
	}
	i = escapeEnd(s, i)
	end, parts := wordEnd(s, i)
	list = candidate(list, i, end)
	if !parts {
		return list, end
	}
	from := i
	for ; i < end; i++ {
		if class[s[i]] == joins {
			list = candidate(list, from, i)
			from = i + 1
		}
	}
	return candidate(list, from, end), end
}

func candidate(list []extent, start, end int) []extent {
	if n := end - start; n < leastWord || n > maxWord {
		return list
	}
	return append(list, extent{start, end})
}

func wordEnd(s string, i int) (end int, parts bool) {
	for {
		for i < len(s) && class[s[i]] == inWord {
			i++
		}
		if i+1 >= len(s) || class[s[i]] != joins || class[s[i+1]] != inWord {
			return i, parts
		}
		i++
		parts = true
	}
}

// specific distinguishes an identifier from a word of prose: four bytes or more, with a change of case, a
// digit, an underscore or a joint inside, or all capitals.
func specific(w string) bool {
	if len(w) < leastWord || len(w) > maxWord {
		return false
	}
	k := kindOf(w)
	return k.inner || k.digit || k.upper && !k.lower
}

// kind is the kinds of characters in an identifier.
type kind struct {
	lower, upper, digit, inner, slash, dot, under bool
	letters                                       int
}

// What a byte contributes to an identifier.
const (
	hasLower = 1 << iota
	hasUpper
	hasDigit
	hasInner
	hasSlash
	hasDot
	hasUnder
)

// brings maps each byte to its contribution.
var brings = func() (of [256]uint8) {
	for c := range of {
		switch c := byte(c); {
		case c >= 'a' && c <= 'z':
			of[c] = hasLower
		case c >= 'A' && c <= 'Z':
			of[c] = hasUpper
		case c >= '0' && c <= '9':
			of[c] = hasDigit
		default:
			of[c] = hasInner
		}
	}
	of['/'] |= hasSlash
	of['.'] |= hasDot
	of['_'] |= hasUnder
	return of
}()

func kindOf(w string) (k kind) {
	var all, before uint8
	for i := range len(w) {
		b := brings[w[i]]
		if b == hasUpper && before == hasLower {
			all |= hasInner
		}
		if b <= hasUpper {
			k.letters++
		}
		all, before = all|b, b
	}
	has := func(b uint8) bool { return all&b != 0 }
	k.lower, k.upper, k.digit, k.inner = has(hasLower), has(hasUpper), has(hasDigit), has(hasInner)
	k.slash, k.dot, k.under = has(hasSlash), has(hasDot), has(hasUnder)
	return k
}

// number reports whether it consists of digits and joints, and at most a unit: 1.4k, 112s.
func (k kind) number() bool { return k.digit && k.letters < 2 && !k.under }

func joint(c byte) bool { return c == '.' || c == '/' || c == ':' || c == '-' }

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
