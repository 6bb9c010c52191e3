package words

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
	Text     string
	Word     int32 // its number among the identifiers; none if it is not one
	Specific bool  // spelled like an identifier
	Refused  bool  // did not fit among the identifiers
	subs     Span  // of terms.subs: its subwords, in order
	parts    Span  // of terms.parts
}

// Span is a range of a list.
type Span struct{ From, To int32 }

// part is a part of a term that is long enough to count.
type part struct {
	Term  int32
	Start int32 // byte offset in the whole
}

// Terms numbers the words of a document.
type Terms struct {
	Seed    maphash.Seed
	index   Table
	filter  filter
	List    []term
	subs    []int32 // in lexicon
	parts   []part
	Lexicon *Lexicon
}

// Reset empties the list, with room for a number of terms.
func (t *Terms) Reset(size int) {
	t.index.Reset(size)
	t.Lexicon.reset(size)
	t.filter = filter{}
	t.List, t.subs, t.parts = slices.Grow(t.List[:0], size), slices.Grow(t.subs[:0], 2*size), slices.Grow(t.parts[:0], size)
}

func (t *Terms) SubsOf(n int32) []int32 { return t.subs[t.List[n].subs.From:t.List[n].subs.To] }

func (t *Terms) PartsOf(n int32) []part { return t.parts[t.List[n].parts.From:t.List[n].parts.To] }

// Find returns the number of a term, or none if the document does not contain it.
func (t *Terms) Find(text string) int32 {
	if !t.filter.has(text) {
		return None
	}
	n, _ := t.look(text)
	return n
}

// look finds a term, and the key that it has or would have.
func (t *Terms) look(text string) (n int32, key uint32) {
	for key = uint32(maphash.String(t.Seed, text)); ; key++ {
		n = t.index.Find(key)
		if n == None || t.List[n].Text == text {
			return n, key
		}
	}
}

// Add returns the number of a term, a new one if it is unknown.
func (t *Terms) Add(text string) int32 {
	n, key := t.look(text)
	if n == None {
		n = int32(len(t.List))
		t.List = append(Roomy(t.List), term{Text: text, Word: None, Specific: Specific(text) && strings.Trim(text, "_") != ""})
		t.index.Add(key, n)
		t.filter.add(text)
		t.cut(n, text)
	}
	return n
}

// cut finds a new term's parts and subwords.
func (t *Terms) cut(n int32, text string) {
	if !hasJoint(text) {
		from := len(t.subs)
		for start, end := NextSubword(text, 0); start < end; start, end = NextSubword(text, end) {
			t.subs = append(Roomy(t.subs), t.Lexicon.add(text[start:end]))
		}
		t.List[n].subs = Span{int32(from), int32(len(t.subs))}
		return
	}
	from := len(t.parts)
	EachPart(text, 0, len(text), func(start, end int) {
		if end-start >= ShortestSubword {
			t.parts = append(t.parts, part{t.Add(text[start:end]), int32(start)})
		}
	})
	t.List[n].parts = Span{int32(from), int32(len(t.parts))}
	from = len(t.subs)
	for _, p := range t.PartsOf(n) { // no subword extends beyond a part
		t.subs = append(t.subs, t.SubsOf(p.Term)...)
	}
	t.List[n].subs = Span{int32(from), int32(len(t.subs))}
}

func hasJoint(text string) bool {
	for i := range len(text) {
		if Joint(text[i]) {
			return true
		}
	}
	return false
}

// Table is a hash table of numbers from 0 on. It takes half the time and memory of a map: a
// large output needs some hundred thousand lookups. The user of a table holds what the numbers stand for: if
// two things have the same key, the second one takes the next free key.
type Table struct {
	slots []slot // a power of two, at most half full
	shift uint8  // of a spread key, so that its highest bits number a slot
	used  int
}

type slot struct {
	key   uint32
	value int32 // plus one; 0: the slot is free
}

// None is the number of a missing entry.
const None = -1

// NewTable returns a table with room for a number of keys before it grows.
func NewTable(keys int) Table {
	var t Table
	t.Reset(keys)
	return t
}

// Reset empties the table, with room for a number of keys.
func (t *Table) Reset(keys int) {
	n := bits.Len(uint(max(keys, 16)*2 - 1))
	t.slots = slices.Grow(t.slots[:0], 1<<n)[:1<<n]
	clear(t.slots)
	t.shift, t.used = uint8(32-n), 0
}

// spread distributes consecutive keys, and those with equal low bits, by the golden ratio.
func spread(key uint32) uint32 { return key * 0x9E3779B1 }

// at returns the slot of a key, or the free one for it.
func (t *Table) at(key uint32) *slot {
	mask := uint(len(t.slots) - 1)
	for i := uint(spread(key) >> t.shift); ; i++ {
		if s := &t.slots[i&mask]; s.value == 0 || s.key == key {
			return s
		}
	}
}

// Find returns the number of a key, or none if it is free.
func (t *Table) Find(key uint32) int32 { return t.at(key).value - 1 }

// Add assigns a number to a free key.
func (t *Table) Add(key uint32, number int32) {
	if t.used++; t.used*2 > len(t.slots) {
		t.grow()
	}
	*t.at(key) = slot{key, number + 1}
}

func (t *Table) grow() {
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

// Roomy returns a list with room for one more. A full list doubles: append grows a long one by a
// quarter, and so copies it five times before all of a large output is in it.
func Roomy[T any](list []T) []T {
	if len(list) == cap(list) {
		return slices.Grow(list, max(len(list), 16))
	}
	return list
}

// FNV-1a's constants.
const FnvOffset, FnvPrime = 14695981039346656037, 1099511628211

// Folded folds a hash to 32 bits.
func Folded(hash uint64) uint32 { return uint32(hash>>32) ^ uint32(hash) }

// NextSubword finds the first subword in text from byte i on; start is end if there is none. It splits text into
// words at everything that is not a letter or digit, and at changes of case: getHTTPServer_name gives get, HTTP,
// Server, name. It skips words under three characters.
func NextSubword(text string, i int) (start, end int) {
	for i < len(text) {
		if !alphanumeric[text[i]] {
			i++
			continue
		}
		start = i
		for i++; i < len(text) && alphanumeric[text[i]] && !(lex.IsUpper(text[i]) && beginsSubword(text, i)); {
			i++
		}
		if i-start >= ShortestSubword {
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

const ShortestSubword = 3

// fold returns a letter in lower case.
func fold(c byte) byte {
	if lex.IsUpper(c) {
		return c + 'a' - 'A'
	}
	return c
}

// Lexicon numbers the case-folded subwords of a document, and holds the pairs of which its identifiers consist.
type Lexicon struct {
	index     Table
	filter    filter
	Subwords  []string // in any case
	pairIndex Table
	pairBits  pairFilter
	Pairs     []pair
}

// pair is two adjacent subwords.
type pair struct{ first, second int32 }

// reset empties the lexicon, with room for a number of subwords.
func (x *Lexicon) reset(size int) {
	x.index.Reset(size)
	x.pairIndex.Reset(size)
	x.Subwords, x.Pairs = x.Subwords[:0], x.Pairs[:0]
	x.filter, x.pairBits = filter{}, pairFilter{}
}

// Find returns the number of a subword, or none if the document does not contain it.
func (x *Lexicon) Find(s string) int32 {
	if !x.filter.has(s) {
		return None
	}
	id, _ := x.look(s)
	return id
}

// look finds a subword, and the key that it has or would have.
func (x *Lexicon) look(s string) (id int32, key uint32) {
	for key = foldedHash(s); ; key++ {
		id = x.index.Find(key)
		if id == None || sameFolded(x.Subwords[id], s) {
			return id, key
		}
	}
}

// add returns the number of a subword, a new one if it is unknown.
func (x *Lexicon) add(s string) int32 {
	id, key := x.look(s)
	if id == None {
		id = int32(len(x.Subwords))
		x.Subwords = append(Roomy(x.Subwords), s)
		x.index.Add(key, id)
		x.filter.add(s)
	}
	return id
}

// foldedHash is FNV-1a over a subword in lower case: the bit that it sets for letters is already set in digits.
func foldedHash(s string) uint32 {
	h := uint64(FnvOffset)
	for i := 0; i < len(s); i++ {
		h = (h ^ uint64(s[i]|0x20)) * FnvPrime
	}
	return Folded(h)
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

// AddPair returns the number of a pair, a new one if it is unknown.
func (x *Lexicon) AddPair(first, second int32) int32 {
	id, key := x.lookPair(pair{first, second})
	if id == None {
		id = int32(len(x.Pairs))
		x.Pairs = append(Roomy(x.Pairs), pair{first, second})
		x.pairIndex.Add(key, id)
		x.pairBits.add(pairKey(pair{first, second}))
	}
	return id
}

// FindPair returns the number of a pair, or none if no identifier of the document has it.
func (x *Lexicon) FindPair(first, second int32) int32 {
	p := pair{first, second}
	if first < 0 || second < 0 || !x.pairBits.has(pairKey(p)) {
		return None
	}
	id, _ := x.lookPair(p)
	return id
}

func (x *Lexicon) lookPair(p pair) (id int32, key uint32) {
	for key = pairKey(p); ; key++ {
		id = x.pairIndex.Find(key)
		if id == None || x.Pairs[id] == p {
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

// Arena allocates zeroed slices that are all released at once.
type Arena[T any] struct {
	room []T // the allocated part is in front, up to its length
}

// Take returns a slice of n zeros.
func (a *Arena[T]) Take(n int) []T {
	if len(a.room)+n > cap(a.room) { // earlier slices keep the old array
		a.room = make([]T, 0, 2*(cap(a.room)+n))
	}
	from := len(a.room)
	a.room = a.room[:from+n]
	list := a.room[from : from+n : from+n]
	clear(list)
	return list
}

// Reset releases all slices.
func (a *Arena[T]) Reset() { a.room = a.room[:0] }
