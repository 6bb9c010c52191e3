package rules

// An identifier, a path or a number: letters, digits and underscores, joined by single . / : -
// Both the whole and its parts are of use: a path's last name is what people write again.

// mention is one place where an identifier stands in a line's text.
type mention struct {
	id         int32 // in vocabulary
	start, end int32 // bytes
}

// eachWord calls found for every identifier in s, wholes before their parts.
func eachWord(s string, found func(start, end int)) {
	for i := 0; i < len(s); {
		if !wordByte[s[i]] {
			i++
			continue
		}
		start, parts := i, 0
		for {
			for i < len(s) && wordByte[s[i]] {
				i++
			}
			if i+1 < len(s) && joint(s[i]) && wordByte[s[i+1]] {
				i++
				parts++
				continue
			}
			break
		}
		found(start, i)
		if parts > 0 {
			eachPart(s, start, i, found)
		}
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

// specific tells an identifier from a word of prose: four characters or more, and a change of case, a
// digit, an underscore or a joint inside, or all digits, or all capitals.
func specific(w string) bool {
	if len(w) < 4 || len(w) > maxWord {
		return false
	}
	var lower, upper, digit, inner bool
	for i := 0; i < len(w); i++ {
		c := w[i]
		switch {
		case c >= 'a' && c <= 'z':
			lower = true
		case c >= 'A' && c <= 'Z':
			inner = inner || i > 0 && w[i-1] >= 'a' && w[i-1] <= 'z'
			upper = true
		case c >= '0' && c <= '9':
			digit = true
		default:
			inner = true
		}
	}
	letters := lower || upper
	return inner || digit || letters && !lower
}

// maxWord bounds what is weighed as one identifier, in bytes: a longer one (a hash, base64, a digit
// string) would eat the budget alone.
const maxWord = 160
