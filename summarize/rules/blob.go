package rules

import "strings"

// leastBlob is the minimum length of encoded data, in bytes; base64 usually comes in lines of 64 or 76.
// Ids that agents use are shorter, or hexadecimal.
const leastBlob = 60

// isBlob recognizes base64 and similar: one run of lower case, upper case and digits, in which at least two of five
// characters differ in kind from the one before (two of three if random). In names and between joints most don't.
func isBlob(text string) bool {
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
var blobSigns = setOf("+/=-_")
