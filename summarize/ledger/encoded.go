package ledger

// leastEncoded is the length from which a run may be encoded data, in bytes; base64 is mostly printed in lines of 64 or
// 76, or whole. Ids that agents use are shorter.
const leastEncoded = 60

// longestHash is the longest hash that is an identifier, in hexadecimal digits: a commit's (SHA-1). Longer ones are
// checksums, which nobody writes again.
const longestHash = 40

// encodings finds the encoded data in a text, forwards: what stands between its signs looks like identifiers.
type encodings struct {
	text  string
	end   int // of the last that was found
	known int // none begins before it
}

// hold says that an identifier, which begins behind those that were asked for or with them, is a piece of encoded data.
func (e *encodings) hold(start int) bool {
	if start < e.end || start < e.known {
		return start < e.end
	}
	end := start
	for end < len(e.text) && (class[e.text[end]] != 0 || e.text[end] == '+' || e.text[end] == '=') {
		end++
	}
	if e.known = end; isEncoded(e.text[start:end]) {
		e.end = end
	}
	return start < e.end
}

// isEncoded tells base64 and its like: small letters, capitals and digits, in which two of five characters or more are of
// another kind than the one before (of random ones two of three are). In names and paths most are of the same.
func isEncoded(run string) bool {
	if len(run) < leastEncoded {
		return false
	}
	const kinds = hasLower | hasUpper | hasDigit
	var all, before uint8
	changes := 0
	for i := range len(run) {
		kind := brings[run[i]] & kinds
		if kind != 0 && before != 0 && kind != before {
			changes++
		}
		all, before = all|kind, kind
	}
	return all == kinds && changes*5 >= 2*len(run)
}

// hashed says that a longer hash than a commit's stands in an identifier.
func hashed(w string) bool {
	if len(w) <= longestHash {
		return false
	}
	run := 0
	for i := range len(w) {
		if c := w[i]; c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' {
			if run++; run > longestHash {
				return true
			}
			continue
		}
		run = 0
	}
	return false
}
