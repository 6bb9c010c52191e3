package ledger

// leastEncoded is the minimum length of a run of encoded data, in bytes; base64 usually comes in lines of 64 or
// 76, or unwrapped. Ids that agents use are shorter.
const leastEncoded = 60

// longestHash is the longest hash that counts as an identifier, in hexadecimal digits: a commit's (SHA-1). Longer ones
// are checksums, which are not written again.
const longestHash = 40

// encodings finds the encoded data in a text, from left to right: the parts between its signs look like identifiers.
type encodings struct {
	text  string
	end   int // of the last run found
	known int // no run begins before it
}

// hold reports whether an identifier is part of encoded data. Calls must be in ascending order of start.
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

// isEncoded recognizes base64 and similar: lower case, upper case and digits, in which at least two of five characters
// differ in kind from the one before (two of three if random). In names and paths most don't.
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

// hashed reports whether an identifier contains a hash longer than a commit's.
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
