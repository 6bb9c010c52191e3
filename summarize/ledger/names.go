package ledger

// Bounds of an identifier, in bytes: what is longer is a hash or data.
const leastName, longestName = 4, 60

// eachWord calls found for the identifiers of a text: ASCII words joined by single . / : - that a plain word is not, and
// no numbers.
func eachWord(s string, found func(w string)) {
	for i := 0; i < len(s); {
		if !wordByte(s[i]) {
			i++
			continue
		}
		start, end := i, i
		for end < len(s) && (wordByte(s[end]) || end+1 < len(s) && joint(s[end]) && wordByte(s[end+1])) {
			end++
		}
		if w := s[start:end]; len(w) >= leastName && len(w) <= longestName && specific(w) {
			found(w)
		}
		i = end
	}
}

// specific distinguishes an identifier from a word of prose and from a number: a change of case, a digit or a joint
// inside, or all capitals.
func specific(w string) bool {
	lower, upper, digit, inner := 0, 0, 0, 0
	for i := range len(w) {
		switch c := w[i]; {
		case c >= 'a' && c <= 'z':
			lower++
		case c >= 'A' && c <= 'Z':
			upper++
			if i > 0 && w[i-1] >= 'a' && w[i-1] <= 'z' {
				inner++
			}
		case c >= '0' && c <= '9':
			digit++
		default:
			inner++
		}
	}
	letters := lower + upper
	return letters > 2 && digit <= letters && (inner > 0 || digit > 0 || lower == 0)
}

func joint(c byte) bool { return c == '.' || c == '/' || c == ':' || c == '-' }

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
