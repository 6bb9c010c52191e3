package rules

// leastBlob is the length from which a text may be encoded data, in bytes; base64 is mostly printed in lines of 64 or 76.
// Ids that agents use are shorter, or hexadecimal.
const leastBlob = 60

// isBlob tells base64 and its like: one run of small letters, capitals and digits, in which every other character or more
// is of another kind than the one before. In names and paths most are of the same.
func isBlob(text string) bool {
	if len(text) < leastBlob {
		return false
	}
	var kinds, before uint8
	changes := 0
	for i := 0; i < len(text); i++ {
		kind := wordKinds[text[i]]
		if kind == otherKind {
			if !blobSigns[text[i]] {
				return false
			}
			continue
		}
		if kind != before {
			changes++
		}
		kinds |= kind
		before = kind
	}
	return kinds == smallKind|capitalKind|digitKind && changes*2 >= len(text)
}

// blobSigns stand in base64 beside letters and digits.
var blobSigns = setOf("+/=-_")
