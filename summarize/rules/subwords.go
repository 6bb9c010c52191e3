package rules

// nextSubword finds the first subword in text from byte i on; start is end where there is none. Text is cut into
// words at everything that is no letter or digit, and at changes of case: getHTTPServer_name gives get, HTTP,
// Server, name. Words under three characters say nothing.
func nextSubword(text string, i int) (start, end int) {
	for i < len(text) {
		if !alphanumeric[text[i]] {
			i++
			continue
		}
		start = i
		for i++; i < len(text) && alphanumeric[text[i]] && !(isUpper(text[i]) && beginsSubword(text, i)); {
			i++
		}
		if i-start >= shortestSubword {
			return start, i
		}
	}
	return len(text), len(text)
}

// beginsSubword tells of a capital that the word before it ends, or whose own word follows.
func beginsSubword(text string, i int) bool {
	return !isUpper(text[i-1]) || i+1 < len(text) && isLower(text[i+1])
}

var alphanumeric = setOf("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")

const shortestSubword = 3

func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }
func isLower(c byte) bool { return c >= 'a' && c <= 'z' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// fold lowers a letter.
func fold(c byte) byte {
	if isUpper(c) {
		return c + 'a' - 'A'
	}
	return c
}

// lexicon numbers the subwords of a document, case folded, and remembers the pairs that its identifiers are made of.
type lexicon struct {
	index     table
	filter    filter
	subwords  []string // in any case
	pairIndex table
	pairBits  pairFilter
	pairs     []pair
}

// pair is two neighbouring subwords.
type pair struct{ first, second int32 }

// reset empties the lexicon, for a number of subwords.
func (x *lexicon) reset(size int) {
	x.index.reset(size)
	x.pairIndex.reset(size)
	x.subwords, x.pairs = x.subwords[:0], x.pairs[:0]
	x.filter, x.pairBits = filter{}, pairFilter{}
}

// find is the number of a subword; none where the document does not have it.
func (x *lexicon) find(s string) int32 {
	if !x.filter.has(s) {
		return none
	}
	id, _ := x.look(s)
	return id
}

// look finds a subword, and the key that it has or would have.
func (x *lexicon) look(s string) (id int32, key uint32) {
	for key = foldedHash(s); ; key++ {
		id = x.index.find(key)
		if id == none || sameFolded(x.subwords[id], s) {
			return id, key
		}
	}
}

// add is the number of a subword, a new one where it was not there.
func (x *lexicon) add(s string) int32 {
	id, key := x.look(s)
	if id == none {
		id = int32(len(x.subwords))
		x.subwords = append(roomy(x.subwords), s)
		x.index.add(key, id)
		x.filter.add(s)
	}
	return id
}

// foldedHash is FNV-1a over a subword in lower case: letters have the bit that digits have all.
func foldedHash(s string) uint32 {
	h := uint64(fnvOffset)
	for i := 0; i < len(s); i++ {
		h = (h ^ uint64(s[i]|0x20)) * fnvPrime
	}
	return folded(h)
}

func sameFolded(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := 0; i < len(a); i++ {
		if a[i]|0x20 != b[i]|0x20 {
			return false
		}
	}
	return true
}

// addPair is the number of a pair, a new one where it was not there.
func (x *lexicon) addPair(first, second int32) int32 {
	id, key := x.lookPair(pair{first, second})
	if id == none {
		id = int32(len(x.pairs))
		x.pairs = append(roomy(x.pairs), pair{first, second})
		x.pairIndex.add(key, id)
		x.pairBits.add(pairKey(pair{first, second}))
	}
	return id
}

// findPair is the number of a pair; none where the document's identifiers do not have it.
func (x *lexicon) findPair(first, second int32) int32 {
	p := pair{first, second}
	if first < 0 || second < 0 || !x.pairBits.has(pairKey(p)) {
		return none
	}
	id, _ := x.lookPair(p)
	return id
}

func (x *lexicon) lookPair(p pair) (id int32, key uint32) {
	for key = pairKey(p); ; key++ {
		id = x.pairIndex.find(key)
		if id == none || x.pairs[id] == p {
			return id, key
		}
	}
}

func pairKey(p pair) uint32 { return uint32(p.first)*0x85EBCA6B + uint32(p.second) }

// pairFilter is a bitmap over keys of pairs. Few of the pairs that a text goes through are within an identifier, and
// the bitmap stays in the processor's cache where a table does not.
type pairFilter [1024]uint64

func (f *pairFilter) add(key uint32) {
	bit := spread(key) >> 16
	f[bit/64] |= 1 << (bit % 64)
}

func (f *pairFilter) has(key uint32) bool {
	bit := spread(key) >> 16
	return f[bit/64]&(1<<(bit%64)) != 0
}
