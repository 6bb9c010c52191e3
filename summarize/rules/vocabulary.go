package rules

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync"

	"precis/summarize/lex"
)

// word is one identifier of a document.
type word struct {
	text  string
	count int32 // occurrences in the source
	first int32 // the line (index) of its first occurrence
	last  int32 // the line of its last occurrence
	how   uint32
	look  uint32
	seen  bool // in an earlier message of the thread
	worth float64

	term  int32
	pairs span // of vocabulary.pairs: its pairs of neighbouring subwords
	parts span // of vocabulary.parts: the identifiers that are its parts
}

// mention is one occurrence of an identifier in a line's text.
type mention struct {
	id         int32 // in vocabulary
	start, end int32 // bytes
	again      bool  // it also occurs earlier in the line
}

// vocabulary holds the identifiers of a document, their occurrences and their worth.
type vocabulary struct {
	terms    *terms
	words    []word
	pairs    []int32   // in lexicon
	parts    []int32   // in words
	mentions []mention // by line
	from     []int32   // line i has mentions[from[i]:from[i+1]]

	numbers  int                 // identifiers that are numbers, dates and hashes
	earlier  []string            // Input.Earlier
	talk     map[string]struct{} // identifiers of the newest short ones; nil until needed
	asked    int                 // the last line that has one of them
	listing  bool
	lexicon  *lexicon
	lineSubs []int32 // by line, in order
	subFrom  []int32 // line i has lineSubs[subFrom[i]:subFrom[i+1]]

	squeezed table // words without case and separators
	// Memory for computations by line and by word.
	floats arena[float64]
	ints   arena[int32]
	flags  arena[bool]
	traces arena[trace]
	blocks arena[block]
}

// vocabularies are reused: that of a large output takes megabytes, which would be cleared and collected each time.
var vocabularies = sync.Pool{New: func() any {
	terms := &terms{seed: maphash.MakeSeed(), lexicon: new(lexicon)}
	return &vocabulary{terms: terms, lexicon: terms.lexicon}
}}

// newVocabulary reads a document; the caller must release the vocabulary.
func newVocabulary(doc *document, earlier []string) *vocabulary {
	n, size := len(doc.lines), 0
	for i := range doc.lines {
		size += len(doc.lines[i].text)
	}
	v := vocabularies.Get().(*vocabulary)
	v.listing, v.earlier = doc.listing, earlier
	v.reset(n, size)
	for i := range doc.lines {
		v.from = append(v.from, int32(len(v.mentions)))
		v.subFrom = append(v.subFrom, int32(len(v.lineSubs)))
		v.read(i, &doc.lines[i])
	}
	v.from = append(v.from, int32(len(v.mentions)))
	v.subFrom = append(v.subFrom, int32(len(v.lineSubs)))
	for i := range v.words {
		v.take(&v.words[i])
	}
	return v
}

// reset empties the vocabulary for a document of a number of lines and bytes, with the room that code of that size needs.
func (v *vocabulary) reset(lines, size int) {
	words := min(size/40, maxWords)
	v.terms.reset(words)
	v.words = slices.Grow(v.words[:0], words)
	v.pairs, v.parts, v.numbers, v.asked = v.pairs[:0], v.parts[:0], 0, none
	v.mentions = slices.Grow(v.mentions[:0], size/10)
	v.from = slices.Grow(v.from[:0], lines+1)
	v.lineSubs = slices.Grow(v.lineSubs[:0], size/8)
	v.subFrom = slices.Grow(v.subFrom[:0], lines+1)
	v.floats.reset()
	v.ints.reset()
	v.flags.reset()
	v.traces.reset()
	v.blocks.reset()
}

// release returns the vocabulary to the pool, without the texts it was built from.
func (v *vocabulary) release() {
	clear(v.words)
	clear(v.terms.list)
	clear(v.lexicon.subwords)
	v.earlier, v.talk = nil, nil
	vocabularies.Put(v)
}

// read collects the identifiers and the subwords of a line; encoded data has none.
func (v *vocabulary) read(i int, l *line) {
	if isBlob(l.text) {
		return
	}
	if v.numbers >= maxNumbers && v.speaksOf(l.text) {
		v.asked = i
	}
	for at := 0; ; {
		start, end, _ := nextWord(l.text, at)
		if start == end {
			break
		}
		if at = end; end-start >= shortestSubword {
			v.readTerm(i, l, v.terms.add(l.text[start:end]), start)
		}
	}
	if v.listing {
		v.readName(i, l)
	}
}

// readTerm adds the term at byte start of a line: a whole, then its parts.
func (v *vocabulary) readTerm(i int, l *line, n int32, start int) {
	if v.terms.list[n].specific {
		v.mention(n, i, start, 1+l.repeat, contextOf(l.text, start, start+len(v.terms.list[n].text), l.kind))
	}
	for _, p := range v.terms.partsOf(n) {
		if t := &v.terms.list[p.term]; t.specific {
			from := start + int(p.start)
			v.mention(p.term, i, from, 1+l.repeat, contextOf(l.text, from, from+len(t.text), l.kind))
		}
	}
	v.lineSubs = append(v.lineSubs, v.terms.subsOf(n)...)
}

// readName adds an entry's own name to those of a listing, whatever its spelling: a truncated listing
// still names other entries.
func (v *vocabulary) readName(i int, l *line) {
	path := strings.TrimRight(l.text, "/")
	start := strings.LastIndexAny(path, "/ ") + 1
	name := path[start:]
	if len(name) < shortestSubword || len(name) > maxWord || !lex.WordByte[name[len(name)-1]] {
		return
	}
	if id := v.find(name); id != none && v.mentioned(id, int32(start)) {
		v.words[id].how |= isName
	} else {
		v.mention(v.terms.add(name), i, start, 1, isName)
	}
	if dot := strings.LastIndexByte(name, '.'); dot > 0 {
		if id := v.find(name[:dot]); id != none {
			v.words[id].how |= isStem
		}
	}
}

// find returns the number of an identifier, or none if the document does not contain it.
func (v *vocabulary) find(text string) int32 {
	if n := v.terms.find(text); n != none {
		return v.terms.list[n].word
	}
	return none
}

// mentioned reports whether the line being read already contains the word at start.
func (v *vocabulary) mentioned(id, start int32) bool {
	for _, m := range v.mentions[v.from[len(v.from)-1]:] {
		if m.id == id && m.start == start {
			return true
		}
	}
	return false
}

const (
	// maxWords bounds the identifiers weighed; 300 KB of code have some 5,000.
	maxWords = 20000
	// maxNumbers bounds how many of them are numbers, dates and hashes. A text with more is data, of which only a few
	// records are shown regardless of worth; real outputs of 300 KB have some hundred.
	maxNumbers = 4000
)

func (v *vocabulary) mention(n int32, line, start, times int, how uint32) {
	t := &v.terms.list[n]
	if t.word == none {
		if t.refused && v.asked != line {
			return
		}
		look := lookOf(t.text)
		if t.refused = !v.admits(look, line); t.refused {
			return
		}
		t.word = int32(len(v.words))
		v.words = append(roomy(v.words), word{text: t.text, first: int32(line), last: none, look: look, term: n})
	}
	w := &v.words[t.word]
	w.count += int32(times)
	w.how |= how
	v.mentions = append(roomy(v.mentions), mention{id: t.word, start: int32(start), end: int32(start + len(t.text)), again: w.last == int32(line)})
	w.last = int32(line)
}

// admits reports whether there is room for another identifier. On a line with identifiers from the talk all numbers fit.
func (v *vocabulary) admits(look uint32, line int) bool {
	switch {
	case len(v.words) >= maxWords:
		return false
	case look&(isDigits|isDate|isHex) == 0 || v.asked == line:
		return true
	case v.numbers < maxNumbers:
		v.numbers++
		return true
	}
	return false
}

// speaksOf reports whether a line has an identifier from the talk.
func (v *vocabulary) speaksOf(text string) (found bool) {
	if v.talk == nil {
		v.talk = wordsOf(talkOf(v.earlier))
	}
	if len(v.talk) == 0 {
		return false
	}
	eachWord(text, func(start, end int) {
		if !found && end-start >= shortestWord {
			_, found = v.talk[text[start:end]]
		}
	})
	return found
}

// take sets a word's pairs of subwords and its parts.
func (v *vocabulary) take(w *word) {
	from := len(v.pairs)
	subs := v.terms.subsOf(w.term)
	for k := 1; k < len(subs); k++ {
		v.pairs = append(roomy(v.pairs), v.lexicon.addPair(subs[k-1], subs[k]))
	}
	w.pairs = span{int32(from), int32(len(v.pairs))}
	from = len(v.parts)
	for _, p := range v.terms.partsOf(w.term) {
		if id := v.terms.list[p.term].word; id != none {
			v.parts = append(v.parts, id)
		}
	}
	w.parts = span{int32(from), int32(len(v.parts))}
}

func (v *vocabulary) of(line int) []mention { return v.mentions[v.from[line]:v.from[line+1]] }

// subs returns the subwords of a line.
func (v *vocabulary) subs(line int) []int32 { return v.lineSubs[v.subFrom[line]:v.subFrom[line+1]] }

// subsOf returns the subwords of an identifier, in order.
func (v *vocabulary) subsOf(w *word) []int32 { return v.terms.subsOf(w.term) }

func (v *vocabulary) pairsOf(w *word) []int32 { return v.pairs[w.pairs.from:w.pairs.to] }

func (v *vocabulary) partsOf(w *word) []int32 { return v.parts[w.parts.from:w.parts.to] }
