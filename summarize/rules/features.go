package rules

import (
	"bytes"
	"hash/maphash"
	"math"
)

// feature is one property of an identifier in its text and its thread.
type feature int

const (
	fBias feature = iota
	// How often and where it occurs.
	fCount      // log of the count
	fCountInBig // the same, more the larger the document
	fOnce
	fPosition // 0 at the beginning, 1 at the end
	fOffCenter
	fIndent
	fVocabulary // log of how many identifiers there are
	fAlike      // log of how many lines are like its first
	fLineNew    // log of how many new identifiers its line has
	// What it looks like.
	fPath
	fFileName
	fDotted
	fCamel
	fCapitals
	fDigits
	fHex
	fDate
	fExported
	fSingle // of one subword
	fPathInListing
	// How it occurs.
	fCalled
	fAssigned
	fQuoted
	fComment
	fImport
	fHeading
	// Its relation to the rest of the document.
	fVariant // another identifier differs in case or separators only
	fPairHere
	// Its relation to the thread.
	fRecentAll // all of its subwords occur in the newest messages
	fSubAge
	fPairAge
	fPairRecent
	fPairTalk
	// Its relation to the most recent talk.
	fFocusWord
	fFocusLine
	fFocusWide
	fFocusNearMax
	fFocusWideMax
	fNearSaid
	fSaidLine
	fSaidBlock
	fBlockShare
	numFeatures
)

// vector holds a value, or a weight, for each feature.
type vector [numFeatures]float64

// scene is the data from which the features of a document's identifiers are computed.
type scene struct {
	doc      *document
	words    *vocabulary
	memory   *memory
	focus    *focus
	lineNew  []int32
	nearMax  []float64 // by identifier: the highest focus of its lines
	wideMax  []float64
	variants []bool  // by identifier: another one differs in case or separators only
	pairs    []int32 // count of each pair in the document
	size     float64 // log of how many identifiers there are
}

func newScene(doc *document, v *vocabulary, m *memory) *scene {
	s := &scene{
		doc: doc, words: v, memory: m, focus: v.focusOf(doc, m), lineNew: v.ints.take(len(doc.lines)),
		nearMax: v.floats.take(len(v.words)), wideMax: v.floats.take(len(v.words)),
		variants: v.variants(), pairs: v.ints.take(len(v.lexicon.pairs)), size: math.Log(float64(len(v.words) + 1)),
	}
	seen := v.flags.take(len(v.words)) // a separate slice stays in the CPU cache
	for id := range v.words {
		seen[id] = v.words[id].seen
	}
	for i := range doc.lines {
		near, wide := s.focus.near[i], s.focus.wide[i]
		for _, m := range v.of(i) {
			if near > 0 || wide > 0 {
				s.nearMax[m.id] = max(s.nearMax[m.id], near)
				s.wideMax[m.id] = max(s.wideMax[m.id], wide)
			}
			if !seen[m.id] {
				s.lineNew[i]++
			}
		}
		s.countPairs(v.subs(i))
	}
	return s
}

func (s *scene) countPairs(subs []int32) {
	for k := 1; k < len(subs); k++ {
		if p := s.words.lexicon.findPair(subs[k-1], subs[k]); p >= 0 {
			s.pairs[p]++
		}
	}
}

// variants marks the identifiers from which another one differs only in case or separators.
func (v *vocabulary) variants() []bool {
	same := v.flags.take(len(v.words))
	index := &v.squeezed
	index.reset(len(v.words))
	var own, other []byte
	for id := range v.words {
		own = appendSqueezed(own[:0], v.words[id].text)
		for key := uint32(maphash.Bytes(v.terms.seed, own)); ; key++ {
			first := index.find(key)
			if first == none {
				index.add(key, int32(id))
				break
			}
			if other = appendSqueezed(other[:0], v.words[first].text); bytes.Equal(own, other) {
				same[first], same[id] = true, true
				break
			}
		}
	}
	return same
}

func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func (s *scene) vector(id int32) (x vector) {
	w := &s.words.words[id]
	x[fBias] = 1
	s.place(w, &x)
	looks(w.look, &x)
	x[fPathInListing] = flag(s.doc.shape == shapePaths) * x[fPath]
	standing(w.how, &x)
	x[fVariant] = flag(s.variants[id])
	s.relate(w, &x)
	s.said(id, w, &x)
	return x
}

// place sets how often and where it occurs.
func (s *scene) place(w *word, x *vector) {
	lines := len(s.doc.lines)
	x[fCount] = logOf(w.count)
	x[fCountInBig] = x[fCount] * (s.size - 4)
	x[fOnce] = flag(w.count == 1)
	x[fPosition] = float64(w.first) / float64(max(1, lines))
	if lines < oneScreen {
		x[fOffCenter] = math.Abs(x[fPosition] - 0.5)
	}
	x[fIndent] = float64(min(s.doc.lines[w.first].indent/4, 6)) // levels
	x[fVocabulary] = s.size
	x[fAlike] = logOf(1 + s.doc.lines[w.first].alike)
	x[fLineNew] = logOf(1 + s.lineNew[w.first])
}

// oneScreen is the number of lines up to which a view is assumed to be centered on its target.
const oneScreen = 150

func standing(how uint32, x *vector) {
	x[fCalled] = flag(how&isCalled != 0)
	x[fAssigned] = flag(how&isAssigned != 0)
	x[fQuoted] = flag(how&isQuoted != 0)
	x[fComment] = flag(how&inComment != 0)
	x[fImport] = flag(how&inImport != 0)
	x[fHeading] = flag(how&inHeading != 0)
}

// relate compares a word's subwords and their pairs with the thread and the document.
func (s *scene) relate(w *word, x *vector) {
	subs, pairs := s.words.subsOf(w), s.words.pairsOf(w)
	x[fSingle] = flag(len(pairs) == 0)
	if n := float64(len(subs)); n > 0 {
		recent := true
		for _, id := range subs {
			t := s.memory.subs[id]
			recent = recent && t.age > 0 && t.age <= recentTexts
			x[fSubAge] += nearness(t.age) / n
		}
		x[fRecentAll] = flag(recent)
	}
	n := float64(len(pairs))
	for _, id := range pairs {
		t := s.memory.pairs[id]
		x[fPairHere] += logOf(1+s.pairs[id]) / n
		x[fPairAge] += nearness(t.age) / n
		x[fPairRecent] += flag(t.age > 0 && t.age <= recentTexts) / n
		x[fPairTalk] += flag(t.talk) / n
	}
}

// nearness falls with the logarithm of the age: 1 for the newest message, 0 for never.
func nearness(age int32) float64 {
	if age == 0 {
		return 0
	}
	return 1 / (1 + logOf(age))
}

func (s *scene) said(id int32, w *word, x *vector) {
	f := s.focus
	subs := s.words.subsOf(w)
	for _, sub := range subs {
		x[fFocusWord] += f.sub[sub] / float64(len(subs))
	}
	x[fFocusLine] = f.line[w.first]
	x[fFocusWide] = f.wide[w.first]
	x[fFocusNearMax] = s.nearMax[id]
	x[fFocusWideMax] = s.wideMax[id]
	x[fNearSaid] = 1 / (1 + f.toSaid[w.first])
	x[fSaidLine] = flag(f.said[w.first])
	x[fSaidBlock] = flag(f.block[w.first].said)
	x[fBlockShare] = f.block[w.first].share
}

// logOf returns the logarithm of a count; most are small.
func logOf(n int32) float64 {
	if uint32(n) < uint32(len(smallLogs)) {
		return smallLogs[n]
	}
	return math.Log(float64(n))
}

var smallLogs = func() (t [256]float64) {
	for n := range t {
		t[n] = math.Log(float64(n))
	}
	return t
}()
