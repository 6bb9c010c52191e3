package rules

import (
	"hash/maphash"
	"math/bits"
	"slices"
	"strings"

	"precis/summarize/lex"
)

// term is a word of a document: a whole as nextWord finds it, a part of one, or a listing's name. It is split
// once, however often it occurs.
type term struct {
	text     string
	word     int32 // its number among the identifiers; none if it is not one
	specific bool  // spelled like an identifier
	refused  bool  // did not fit among the identifiers
	subs     span  // of terms.subs: its subwords, in order
	parts    span  // of terms.parts
}

// span is a range of a list.
type span struct{ from, to int32 }

// part is a part of a term that is long enough to count.
type part struct {
	term  int32
	start int32 // byte offset in the whole
}

// terms numbers the words of a document.
type terms struct {
	seed    maphash.Seed
	index   table
	filter  filter
	list    []term
	subs    []int32 // in lexicon
	parts   []part
	lexicon *lexicon
}

// reset empties the list, with room for a number of terms.
func (t *terms) reset(size int) {
	t.index.reset(size)
	t.lexicon.reset(size)
	t.filter = filter{}
	t.list, t.subs, t.parts = slices.Grow(t.list[:0], size), slices.Grow(t.subs[:0], 2*size), slices.Grow(t.parts[:0], size)
}

func (t *terms) subsOf(n int32) []int32 { return t.subs[t.list[n].subs.from:t.list[n].subs.to] }

func (t *terms) partsOf(n int32) []part { return t.parts[t.list[n].parts.from:t.list[n].parts.to] }

// find returns the number of a term, or none if the document does not contain it.
func (t *terms) find(text string) int32 {
	if !t.filter.has(text) {
		return none
	}
	n, _ := t.look(text)
	return n
}

// look finds a term, and the key that it has or would have.
func (t *terms) look(text string) (n int32, key uint32) {
	for key = uint32(maphash.String(t.seed, text)); ; key++ {
		n = t.index.find(key)
		if n == none || t.list[n].text == text {
			return n, key
		}
	}
}

// add returns the number of a term, a new one if it is unknown.
func (t *terms) add(text string) int32 {
	n, key := t.look(text)
	if n == none {
		n = int32(len(t.list))
		t.list = append(roomy(t.list), term{text: text, word: none, specific: specific(text) && strings.Trim(text, "_") != ""})
		t.index.add(key, n)
		t.filter.add(text)
		t.cut(n, text)
	}
	return n
}

// cut finds a new term's parts and subwords.
func (t *terms) cut(n int32, text string) {
	if !hasJoint(text) {
		from := len(t.subs)
		for start, end := nextSubword(text, 0); start < end; start, end = nextSubword(text, end) {
			t.subs = append(roomy(t.subs), t.lexicon.add(text[start:end]))
		}
		t.list[n].subs = span{int32(from), int32(len(t.subs))}
		return
	}
	from := len(t.parts)
	eachPart(text, 0, len(text), func(start, end int) {
		if end-start >= shortestSubword {
			t.parts = append(t.parts, part{t.add(text[start:end]), int32(start)})
		}
	})
	t.list[n].parts = span{int32(from), int32(len(t.parts))}
	from = len(t.subs)
	for _, p := range t.partsOf(n) { // no subword extends beyond a part
		t.subs = append(t.subs, t.subsOf(p.term)...)
	}
	t.list[n].subs = span{int32(from), int32(len(t.subs))}
}

func hasJoint(text string) bool {
	for i := range len(text) {
		if joint(text[i]) {
			return true
		}
	}
	return false
}

// table is a hash table of numbers from 0 on. It takes half the time and memory of a map: a
// large output needs some hundred thousand lookups. The user of a table holds what the numbers stand for: if
// two things have the same key, the second one takes the next free key.
type table struct {
	slots []slot // a power of two, at most half full
	shift uint8  // of a spread key, so that its highest bits number a slot
	used  int
}

type slot struct {
	key   uint32
	value int32 // plus one; 0: the slot is free
}

// none is the number of a missing entry.
const none = -1

// newTable returns a table with room for a number of keys before it grows.
func newTable(keys int) table {
	var t table
	t.reset(keys)
	return t
}

// reset empties the table, with room for a number of keys.
func (t *table) reset(keys int) {
	n := bits.Len(uint(max(keys, 16)*2 - 1))
	t.slots = slices.Grow(t.slots[:0], 1<<n)[:1<<n]
	clear(t.slots)
	t.shift, t.used = uint8(32-n), 0
}

// spread distributes consecutive keys, and those with equal low bits, by the golden ratio.
func spread(key uint32) uint32 { return key * 0x9E3779B1 }

// at returns the slot of a key, or the free one for it.
func (t *table) at(key uint32) *slot {
	mask := uint(len(t.slots) - 1)
	for i := uint(spread(key) >> t.shift); ; i++ {
		if s := &t.slots[i&mask]; s.value == 0 || s.key == key {
			return s
		}
	}
}

// find returns the number of a key, or none if it is free.
func (t *table) find(key uint32) int32 { return t.at(key).value - 1 }

// add assigns a number to a free key.
func (t *table) add(key uint32, number int32) {
	if t.used++; t.used*2 > len(t.slots) {
		t.grow()
	}
	*t.at(key) = slot{key, number + 1}
}

func (t *table) grow() {
	old := t.slots
	t.slots, t.shift = make([]slot, 2*len(old)), t.shift-1
	for _, s := range old {
		if s.value != 0 {
			*t.at(s.key) = s
		}
	}
}

// filter is a bitmap over the length, the first and the last character of texts: it saves most lookups of texts
// that a small document does not contain.
type filter [64]uint64

func (f *filter) add(s string) {
	bit := filterBit(s)
	f[bit/64] |= 1 << (bit % 64)
}

func (f *filter) has(s string) bool {
	bit := filterBit(s)
	return f[bit/64]&(1<<(bit%64)) != 0
}

// filterBit ignores case.
func filterBit(s string) uint {
	return (uint(s[0]|0x20)*37 + uint(s[len(s)-1]|0x20)*7 + uint(len(s))*401) % (64 * 64)
}

// roomy returns a list with room for one more. A full list doubles: append grows a long one by a
// quarter, and so copies it five times before all of a large output is in it.
func roomy[T any](list []T) []T {
	if len(list) == cap(list) {
		return slices.Grow(list, max(len(list), 16))
	}
	return list
}

// FNV-1a's constants.
const fnvOffset, fnvPrime = 14695981039346656037, 1099511628211

// folded folds a hash to 32 bits.
func folded(hash uint64) uint32 { return uint32(hash>>32) ^ uint32(hash) }

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
		for i++; i < len(text) && alphanumeric[text[i]] && !(lex.IsUpper(text[i]) && beginsSubword(text, i)); {
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
	return !lex.IsUpper(text[i-1]) || i+1 < len(text) && lex.IsLower(text[i+1])
}

var alphanumeric = lex.SetOf("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")

const shortestSubword = 3

// fold returns a letter in lower case.
func fold(c byte) byte {
	if lex.IsUpper(c) {
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

// arena allocates zeroed slices that are all released at once.
type arena[T any] struct {
	room []T // the allocated part is in front, up to its length
}

// take returns a slice of n zeros.
func (a *arena[T]) take(n int) []T {
	if len(a.room)+n > cap(a.room) { // earlier slices keep the old array
		a.room = make([]T, 0, 2*(cap(a.room)+n))
	}
	from := len(a.room)
	a.room = a.room[:from+n]
	list := a.room[from : from+n : from+n]
	clear(list)
	return list
}

// reset releases all slices.
func (a *arena[T]) reset() { a.room = a.room[:0] }
