package rules

import "precis/summarize/lex"

// nextSubword finds the first subword in text from byte i on; start is end if there is none. It splits text into
// words at everything that is not a letter or digit, and at changes of case: getHTTPServer_name gives get, HTTP,
// Server, name. It skips words under three characters.
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

// beginsSubword reports whether a capital begins a word: the previous one ends there, or a lower-case letter follows.
func beginsSubword(text string, i int) bool {
	return !isUpper(text[i-1]) || i+1 < len(text) && isLower(text[i+1])
}

var alphanumeric = setOf("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")

const shortestSubword = 3

func isUpper(c byte) bool { return lex.IsUpper(c) }
func isLower(c byte) bool { return lex.IsLower(c) }
func isDigit(c byte) bool { return lex.IsDigit(c) }

// fold returns a letter in lower case.
func fold(c byte) byte {
	if isUpper(c) {
		return c + 'a' - 'A'
	}
	return c
}

// lexicon numbers the case-folded subwords of a document, and holds the pairs of which its identifiers consist.
type lexicon struct {
	index     table
	filter    filter
	subwords  []string // in any case
	pairIndex table
	pairBits  pairFilter
	pairs     []pair
}

// pair is two adjacent subwords.
type pair struct{ first, second int32 }

// reset empties the lexicon, with room for a number of subwords.
func (x *lexicon) reset(size int) {
	x.index.reset(size)
	x.pairIndex.reset(size)
	x.subwords, x.pairs = x.subwords[:0], x.pairs[:0]
	x.filter, x.pairBits = filter{}, pairFilter{}
}

// find returns the number of a subword, or none if the document does not contain it.
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

// add returns the number of a subword, a new one if it is unknown.
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

// foldedHash is FNV-1a over a subword in lower case: the bit that it sets for letters is already set in digits.
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

// addPair returns the number of a pair, a new one if it is unknown.
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

// findPair returns the number of a pair, or none if no identifier of the document has it.
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

// pairFilter is a bitmap over keys of pairs. Few of the pairs that a text goes through occur within an identifier, and
// the bitmap stays in the CPU cache, unlike a table.
type pairFilter [1024]uint64

func (f *pairFilter) add(key uint32) {
	bit := spread(key) >> 16
	f[bit/64] |= 1 << (bit % 64)
}

func (f *pairFilter) has(key uint32) bool {
	bit := spread(key) >> 16
	return f[bit/64]&(1<<(bit%64)) != 0
}
