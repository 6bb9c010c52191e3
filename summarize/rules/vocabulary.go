package rules

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync"

	"precis/summarize/lex"
	"precis/summarize/rules/words"
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
	pairs words.Span // of vocabulary.pairs: its pairs of neighbouring subwords
	parts words.Span // of vocabulary.parts: the identifiers that are its parts
}

// mention is one occurrence of an identifier in a line's text.
type mention struct {
	id         int32 // in vocabulary
	start, end int32 // bytes
	again      bool  // it also occurs earlier in the line
}

// vocabulary holds the identifiers of a document, their occurrences and their worth.
type vocabulary struct {
	terms    *words.Terms
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
	lexicon  *words.Lexicon
	lineSubs []int32 // by line, in order
	subFrom  []int32 // line i has lineSubs[subFrom[i]:subFrom[i+1]]

	squeezed words.Table // words without case and separators
	// Memory for computations by line and by word.
	floats words.Arena[float64]
	ints   words.Arena[int32]
	flags  words.Arena[bool]
	traces words.Arena[trace]
	blocks words.Arena[block]
}

// vocabularies are reused: that of a large output takes megabytes, which would be cleared and collected each time.
var vocabularies = sync.Pool{New: func() any {
	terms := &words.Terms{Seed: maphash.MakeSeed(), Lexicon: new(words.Lexicon)}
	return &vocabulary{terms: terms, lexicon: terms.Lexicon}
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
		v.foundIn(doc, i)
	}
	v.from = append(v.from, int32(len(v.mentions)))
	v.subFrom = append(v.subFrom, int32(len(v.lineSubs)))
	for i := range v.words {
		v.take(&v.words[i])
	}
	return v
}

// foundIn lets an identifier that is first around a change be found where it changed: only there may it be listed.
func (v *vocabulary) foundIn(doc *document, line int) {
	if doc.shape != shapeDiff || doc.lines[line].around {
		return
	}
	for _, m := range v.mentions[v.from[line]:] {
		if w := &v.words[m.id]; doc.lines[w.first].around {
			w.first = int32(line)
		}
	}
}

// reset empties the vocabulary for a document of a number of lines and bytes, with the room that code of that size needs.
func (v *vocabulary) reset(lines, size int) {
	likely := min(size/40, maxWords)
	v.terms.Reset(likely)
	v.words = slices.Grow(v.words[:0], likely)
	v.pairs, v.parts, v.numbers, v.asked = v.pairs[:0], v.parts[:0], 0, words.None
	v.mentions = slices.Grow(v.mentions[:0], size/10)
	v.from = slices.Grow(v.from[:0], lines+1)
	v.lineSubs = slices.Grow(v.lineSubs[:0], size/8)
	v.subFrom = slices.Grow(v.subFrom[:0], lines+1)
	v.floats.Reset()
	v.ints.Reset()
	v.flags.Reset()
	v.traces.Reset()
	v.blocks.Reset()
}

// release returns the vocabulary to the pool, without the texts it was built from.
func (v *vocabulary) release() {
	clear(v.words)
	clear(v.terms.List)
	clear(v.lexicon.Subwords)
	v.earlier, v.talk = nil, nil
	vocabularies.Put(v)
}

// read collects the identifiers and the subwords of a line; encoded data has none.
func (v *vocabulary) read(i int, l *line) {
	if l.aside || words.IsBlob(l.text) {
		return
	}
	if v.numbers >= maxNumbers && v.speaksOf(l.text) {
		v.asked = i
	}
	for at := 0; ; {
		start, end, _ := words.NextWord(l.text, at)
		if start == end {
			break
		}
		if at = end; end-start >= words.ShortestSubword {
			v.readTerm(i, l, v.terms.Add(l.text[start:end]), start)
		}
	}
	if v.listing {
		v.readName(i, l)
	}
}

// readTerm adds the term at byte start of a line: a whole, then its parts.
func (v *vocabulary) readTerm(i int, l *line, n int32, start int) {
	if v.terms.List[n].Specific {
		v.mention(n, i, start, 1+l.repeat, words.ContextOf(l.text, start, start+len(v.terms.List[n].Text), l.kind))
	}
	for _, p := range v.terms.PartsOf(n) {
		if t := &v.terms.List[p.Term]; t.Specific {
			from := start + int(p.Start)
			v.mention(p.Term, i, from, 1+l.repeat, words.ContextOf(l.text, from, from+len(t.Text), l.kind))
		}
	}
	v.lineSubs = append(v.lineSubs, v.terms.SubsOf(n)...)
}

// readName adds an entry's own name to those of a listing, whatever its spelling: a truncated listing
// still names other entries.
func (v *vocabulary) readName(i int, l *line) {
	path := strings.TrimRight(l.text, "/")
	start := strings.LastIndexAny(path, "/ ") + 1
	name := path[start:]
	if len(name) < words.ShortestSubword || len(name) > words.MaxWord || !lex.WordByte[name[len(name)-1]] {
		return
	}
	if id := v.find(name); id != words.None && v.mentioned(id, int32(start)) {
		v.words[id].how |= words.IsName
	} else {
		v.mention(v.terms.Add(name), i, start, 1, words.IsName)
	}
	if dot := strings.LastIndexByte(name, '.'); dot > 0 {
		if id := v.find(name[:dot]); id != words.None {
			v.words[id].how |= words.IsStem
		}
	}
}

// find returns the number of an identifier, or none if the document does not contain it.
func (v *vocabulary) find(text string) int32 {
	if n := v.terms.Find(text); n != words.None {
		return v.terms.List[n].Word
	}
	return words.None
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
	t := &v.terms.List[n]
	if t.Word == words.None {
		if t.Refused && v.asked != line {
			return
		}
		look := words.LookOf(t.Text)
		if t.Refused = !v.admits(look, line); t.Refused {
			return
		}
		t.Word = int32(len(v.words))
		v.words = append(words.Roomy(v.words), word{text: t.Text, first: int32(line), last: words.None, look: look, term: n})
	}
	w := &v.words[t.Word]
	w.count += int32(times)
	w.how |= how
	v.mentions = append(words.Roomy(v.mentions), mention{id: t.Word, start: int32(start), end: int32(start + len(t.Text)), again: w.last == int32(line)})
	w.last = int32(line)
}

// admits reports whether there is room for another identifier. On a line with identifiers from the talk all numbers fit.
func (v *vocabulary) admits(look uint32, line int) bool {
	switch {
	case len(v.words) >= maxWords:
		return false
	case look&(words.IsDigits|words.IsDate|words.IsHex) == 0 || v.asked == line:
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
	words.EachWord(text, func(start, end int) {
		if !found && end-start >= words.ShortestWord {
			_, found = v.talk[text[start:end]]
		}
	})
	return found
}

// take sets a word's pairs of subwords and its parts.
func (v *vocabulary) take(w *word) {
	from := len(v.pairs)
	subs := v.terms.SubsOf(w.term)
	for k := 1; k < len(subs); k++ {
		v.pairs = append(words.Roomy(v.pairs), v.lexicon.AddPair(subs[k-1], subs[k]))
	}
	w.pairs = words.Span{From: int32(from), To: int32(len(v.pairs))}
	from = len(v.parts)
	for _, p := range v.terms.PartsOf(w.term) {
		if id := v.terms.List[p.Term].Word; id != words.None {
			v.parts = append(v.parts, id)
		}
	}
	w.parts = words.Span{From: int32(from), To: int32(len(v.parts))}
}

func (v *vocabulary) of(line int) []mention { return v.mentions[v.from[line]:v.from[line+1]] }

// subs returns the subwords of a line.
func (v *vocabulary) subs(line int) []int32 { return v.lineSubs[v.subFrom[line]:v.subFrom[line+1]] }

// subsOf returns the subwords of an identifier, in order.
func (v *vocabulary) subsOf(w *word) []int32 { return v.terms.SubsOf(w.term) }

func (v *vocabulary) pairsOf(w *word) []int32 { return v.pairs[w.pairs.From:w.pairs.To] }

func (v *vocabulary) partsOf(w *word) []int32 { return v.parts[w.parts.From:w.parts.To] }
