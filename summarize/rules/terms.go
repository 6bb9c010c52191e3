package rules

import (
	"hash/maphash"
	"slices"
	"strings"
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
