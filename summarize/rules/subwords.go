package rules

// eachSubword cuts text into words at everything that is no letter or digit, and at changes of case:
// getHTTPServer_name gives get, HTTP, Server, name. Words under three characters say nothing.
func eachSubword(text string, found func(start, end int)) {
	start := -1
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case !wordByte[c] || c == '_':
			if start >= 0 && i-start >= shortestSubword {
				found(start, i)
			}
			start = -1
		case start < 0:
			start = i
		case isUpper(c) && (!isUpper(text[i-1]) || i+1 < len(text) && isLower(text[i+1])):
			if i-start >= shortestSubword {
				found(start, i)
			}
			start = i
		}
	}
	if start >= 0 && len(text)-start >= shortestSubword {
		found(start, len(text))
	}
}

const shortestSubword = 3

func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }
func isLower(c byte) bool { return c >= 'a' && c <= 'z' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// lexicon numbers the subwords of a document, case folded, and remembers the pairs that its identifiers are made of.
type lexicon struct {
	ids    map[string]int32
	pairs  map[uint64]int32
	filter [filterBits / 64]uint64
	lower  []byte
}

// filterBits is the size of a bitmap over length, first and last letter, which spares most look-ups.
const filterBits = 1 << 12

func newLexicon() *lexicon {
	return &lexicon{ids: make(map[string]int32, 256), pairs: make(map[uint64]int32, 256)}
}

func fold(c byte) byte {
	if isUpper(c) {
		return c + 'a' - 'A'
	}
	return c
}

func filterBit(s string) uint {
	return (uint(fold(s[0]))*37 + uint(fold(s[len(s)-1]))*7 + uint(len(s))*401) % filterBits
}

// add is the number of a subword, a new one where it was not there.
func (x *lexicon) add(s string) int32 {
	x.fold(s)
	id, ok := x.ids[string(x.lower)]
	if !ok {
		id = int32(len(x.ids))
		x.ids[string(x.lower)] = id
		bit := filterBit(s)
		x.filter[bit/64] |= 1 << (bit % 64)
	}
	return id
}

// find is the number of a subword; -1 where the document does not have it.
func (x *lexicon) find(s string) int32 {
	bit := filterBit(s)
	if x.filter[bit/64]&(1<<(bit%64)) == 0 {
		return -1
	}
	x.fold(s)
	if id, ok := x.ids[string(x.lower)]; ok {
		return id
	}
	return -1
}

func (x *lexicon) fold(s string) {
	x.lower = x.lower[:0]
	for i := 0; i < len(s); i++ {
		x.lower = append(x.lower, fold(s[i]))
	}
}

func pairKey(a, b int32) uint64 { return uint64(uint32(a))<<32 | uint64(uint32(b)) }

// addPair is the number of a pair of neighbouring subwords.
func (x *lexicon) addPair(a, b int32) int32 {
	key := pairKey(a, b)
	id, ok := x.pairs[key]
	if !ok {
		id = int32(len(x.pairs))
		x.pairs[key] = id
	}
	return id
}

func (x *lexicon) findPair(a, b int32) int32 {
	if a < 0 || b < 0 {
		return -1
	}
	if id, ok := x.pairs[pairKey(a, b)]; ok {
		return id
	}
	return -1
}
