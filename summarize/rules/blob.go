package rules

import "strings"

// leastBlob is the length from which a text may be encoded data, in bytes; base64 is mostly printed in lines of 64 or 76.
// Ids that agents use are shorter, or hexadecimal.
const leastBlob = 60

// isBlob tells base64 and its like: one run of small letters, capitals and digits, in which two of five characters or more
// are of another kind than the one before (of random ones two of three are). In names and between joints most are of the same.
func isBlob(text string) bool {
	if len(text) < leastBlob {
		return false
	}
	if text = strings.Trim(text, "\"'`[]{}(),;+ "); len(text) < leastBlob { // without what quotes it
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

// blobSigns stand in base64 beside letters and digits.
var blobSigns = setOf("+/=-_")
