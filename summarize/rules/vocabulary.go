package rules

import "strings"

// word is one identifier of a document.
type word struct {
	text  string
	count int32 // how often it stands in the source
	first int32 // the line (index) in which it stands first
	how   uint32
	seen  bool // in an earlier message of the thread
	worth float64

	subs  []int32 // its subwords, in order
	pairs []int32 // its pairs of neighbouring subwords
	parts []int32 // the identifiers that are its parts
}

// vocabulary holds the identifiers of a document: how each stands there, and what it is worth.
type vocabulary struct {
	words    []word
	index    map[string]int32
	mentions []mention // by line
	from     []int32   // line i has mentions[from[i]:from[i+1]]

	listing  bool
	lexicon  *lexicon
	lineSubs []int32 // by line, in order
	subFrom  []int32 // line i has lineSubs[subFrom[i]:subFrom[i+1]]
	kinds    []lineKind
}

func newVocabulary(doc *document) *vocabulary {
	n := len(doc.lines)
	v := &vocabulary{
		index: make(map[string]int32, 256), from: make([]int32, 0, n+1), subFrom: make([]int32, 0, n+1),
		kinds: make([]lineKind, n), lexicon: newLexicon(), listing: doc.listing,
	}
	for i := range doc.lines {
		v.from = append(v.from, int32(len(v.mentions)))
		v.subFrom = append(v.subFrom, int32(len(v.lineSubs)))
		v.read(i, &doc.lines[i], doc.shape)
	}
	v.from = append(v.from, int32(len(v.mentions)))
	v.subFrom = append(v.subFrom, int32(len(v.lineSubs)))
	for i := range v.words {
		v.take(&v.words[i])
	}
	return v
}

// read collects the identifiers and the subwords of a line.
func (v *vocabulary) read(i int, l *line, s shape) {
	kind := kindOf(l.text, s)
	v.kinds[i] = kind
	eachWord(l.text, func(start, end int) {
		if w := l.text[start:end]; specific(w) && strings.Trim(w, "_") != "" {
			v.mention(w, i, start, 1+l.repeat, contextOf(l.text, start, end, kind))
		}
	})
	if v.listing {
		v.readName(i, l)
	}
	eachSubword(l.text, func(start, end int) {
		v.lineSubs = append(v.lineSubs, v.lexicon.add(l.text[start:end]))
	})
}

// readName adds an entry's own name to those of a listing, whatever it looks like: a listing that is cut
// still says what else is there.
func (v *vocabulary) readName(i int, l *line) {
	path := strings.TrimRight(l.text, "/")
	start := strings.LastIndexAny(path, "/ ") + 1
	name := path[start:]
	if len(name) < 3 || len(name) > maxWord || !wordByte[name[len(name)-1]] {
		return
	}
	if id, ok := v.index[name]; ok && v.mentioned(id, int32(start)) {
		v.words[id].how |= isName
	} else {
		v.mention(name, i, start, 1, isName)
	}
	if dot := strings.LastIndexByte(name, '.'); dot > 0 {
		if id, ok := v.index[name[:dot]]; ok {
			v.words[id].how |= isStem
		}
	}
}

// mentioned tells that the line being read has the word at start already.
func (v *vocabulary) mentioned(id, start int32) bool {
	for _, m := range v.mentions[v.from[len(v.from)-1]:] {
		if m.id == id && m.start == start {
			return true
		}
	}
	return false
}

// maxWords bounds the identifiers weighed; 300 KB of code have some 5,000.
const maxWords = 20000

func (v *vocabulary) mention(text string, line, start, times int, how uint32) {
	id, ok := v.index[text]
	if !ok && len(v.words) >= maxWords {
		return
	}
	if !ok {
		id = int32(len(v.words))
		v.index[text] = id
		v.words = append(v.words, word{text: text, first: int32(line)})
	}
	w := &v.words[id]
	w.count += int32(times)
	w.how |= how
	v.mentions = append(v.mentions, mention{id: id, start: int32(start), end: int32(start + len(text))})
}

// take cuts a word into its subwords and its parts.
func (v *vocabulary) take(w *word) {
	last := int32(-1)
	eachSubword(w.text, func(start, end int) {
		id := v.lexicon.add(w.text[start:end])
		w.subs = append(w.subs, id)
		if last >= 0 {
			w.pairs = append(w.pairs, v.lexicon.addPair(last, id))
		}
		last = id
	})
	eachPart(w.text, 0, len(w.text), func(start, end int) {
		if p, ok := v.index[w.text[start:end]]; ok && end-start < len(w.text) {
			w.parts = append(w.parts, p)
		}
	})
}

func (v *vocabulary) of(line int) []mention { return v.mentions[v.from[line]:v.from[line+1]] }

func (v *vocabulary) subs(line int) []int32 { return v.lineSubs[v.subFrom[line]:v.subFrom[line+1]] }
