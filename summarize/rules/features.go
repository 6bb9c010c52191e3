package rules

import (
	"math"
	"strings"
)

// feature is one thing that can be said of an identifier in its text and its thread.
type feature int

const (
	fBias feature = iota
	// How often and where it stands.
	fCount      // log of the count
	fCountInBig // the same, more the larger the document
	fOnce
	fPosition // 0 at the beginning, 1 at the end
	fOffCenter
	fLate
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
	// How it stands.
	fCalled
	fAssigned
	fQuoted
	fComment
	fImport
	fHeading
	// What it has to do with the rest of the document.
	fVariant // another identifier differs in case or separators only
	fPairHere
	// What it has to do with the thread.
	fThreadWords // mean log count of its subwords
	fRecentAll   // all of its subwords stand in the newest messages
	fSubAge
	fPairAge
	fPairRecent
	fPairTalk
	// What it has to do with what was said last.
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

// scene is what the features of a document's identifiers are read from.
type scene struct {
	doc      *document
	words    *vocabulary
	memory   *memory
	focus    *focus
	lineNew  []int32
	nearMax  []float64 // by identifier: the highest focus of its lines
	wideMax  []float64
	variants map[string]int32
	pairs    []int32 // count of each pair in the document
}

func newScene(doc *document, v *vocabulary, m *memory) *scene {
	s := &scene{
		doc: doc, words: v, memory: m, focus: v.focusOf(doc, m), lineNew: make([]int32, len(doc.lines)),
		nearMax: make([]float64, len(v.words)), wideMax: make([]float64, len(v.words)),
		variants: make(map[string]int32, len(v.words)), pairs: make([]int32, len(v.lexicon.pairs)),
	}
	for i := range doc.lines {
		for _, m := range v.of(i) {
			s.nearMax[m.id] = max(s.nearMax[m.id], s.focus.near[i])
			s.wideMax[m.id] = max(s.wideMax[m.id], s.focus.wide[i])
			if !v.words[m.id].seen {
				s.lineNew[i]++
			}
		}
		s.countPairs(v.subs(i))
	}
	for i := range v.words {
		s.variants[squeeze(v.words[i].text)]++
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
	form(w.text, &x)
	x[fPathInListing] = flag(s.doc.shape == shapePaths) * x[fPath]
	standing(w.how, &x)
	x[fVariant] = flag(s.variants[squeeze(w.text)] > 1)
	s.relate(w, &x)
	s.said(id, w, &x)
	return x
}

// place says how often and where.
func (s *scene) place(w *word, x *vector) {
	lines := len(s.doc.lines)
	size := math.Log(float64(len(s.words.words) + 1))
	x[fCount] = math.Log(float64(w.count))
	x[fCountInBig] = x[fCount] * (size - 4)
	x[fOnce] = flag(w.count == 1)
	x[fPosition] = float64(w.first) / float64(max(1, lines))
	if lines < oneScreen {
		x[fOffCenter] = math.Abs(x[fPosition] - 0.5)
	}
	x[fLate] = flag(int(w.first) >= lines-5)
	x[fIndent] = float64(min(s.doc.lines[w.first].indent/4, 6)) // levels
	x[fVocabulary] = size
	x[fAlike] = math.Log(1 + float64(s.doc.lines[w.first].alike))
	x[fLineNew] = math.Log(1 + float64(s.lineNew[w.first]))
}

// oneScreen is the number of lines up to which a view is one that was aimed at its middle.
const oneScreen = 150

func standing(how uint32, x *vector) {
	x[fCalled] = flag(how&isCalled != 0)
	x[fAssigned] = flag(how&isAssigned != 0)
	x[fQuoted] = flag(how&isQuoted != 0)
	x[fComment] = flag(how&inComment != 0)
	x[fImport] = flag(how&inImport != 0)
	x[fHeading] = flag(how&inHeading != 0)
}

// relate compares its subwords and their pairs with the thread and the document.
func (s *scene) relate(w *word, x *vector) {
	x[fSingle] = flag(len(w.pairs) == 0)
	if n := float64(len(w.subs)); n > 0 {
		recent := true
		for _, id := range w.subs {
			t := s.memory.subs[id]
			c := math.Log(1 + float64(t.count))
			recent = recent && t.age > 0 && t.age <= recentTexts
			x[fThreadWords] += c / n
			x[fSubAge] += nearness(t.age) / n
		}
		x[fRecentAll] = flag(recent)
	}
	n := float64(len(w.pairs))
	for _, id := range w.pairs {
		t := s.memory.pairs[id]
		x[fPairHere] += math.Log(1+float64(s.pairs[id])) / n
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
	return 1 / (1 + math.Log(float64(age)))
}

func (s *scene) said(id int32, w *word, x *vector) {
	f := s.focus
	for _, sub := range w.subs {
		x[fFocusWord] += f.sub[sub] / float64(len(w.subs))
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

// form says what an identifier looks like.
func form(w string, x *vector) {
	n := countLetters(w)
	switch {
	case n.digits == len(w):
		x[fDigits] = 1
	case n.upper+n.lower == 0 || isMeasure(w, n):
		x[fDate] = 1
	case n.hex+n.dashes == len(w) && n.digits > 0 && len(w) >= 7:
		x[fHex] = 1
	case n.slashes > 0:
		x[fPath] = 1
	case n.colons > 0:
	case n.dots > 0:
		x[fDotted] = 1
		x[fFileName] = flag(fileTypes[w[strings.LastIndexByte(w, '.')+1:]] != "")
	case n.dashes > 0:
	case n.lower == 0:
		x[fCapitals] = 1
	case n.unders > 0:
	case !isUpper(w[0]):
		x[fCamel] = 1
	}
	at := 0
	if i := strings.IndexAny(w, "./"); i > 0 {
		at = min(i+1, len(w)-1)
	}
	x[fExported] = flag(isUpper(w[at]))
}

// isMeasure tells "3.98s", "418ms" and "10KB" from "0o644" and "v1.2".
func isMeasure(w string, n letters) bool {
	few := n.upper+n.lower <= 2
	return few && n.digits >= 4 || few && isDigit(w[0]) && n.dots+n.slashes+n.dashes <= 1 && strings.IndexByte("xob", w[1]) < 0
}

// letters counts the kinds of characters in an identifier.
type letters struct{ digits, hex, upper, lower, dots, slashes, colons, dashes, unders int }

func countLetters(w string) (n letters) {
	for i := 0; i < len(w); i++ {
		c := w[i]
		switch {
		case isDigit(c):
			n.digits++
			n.hex++
		case isLower(c):
			n.lower++
		case isUpper(c):
			n.upper++
		case c == '.':
			n.dots++
		case c == '/':
			n.slashes++
		case c == ':':
			n.colons++
		case c == '-':
			n.dashes++
		default:
			n.unders++
		}
		if c := fold(c); c >= 'a' && c <= 'f' {
			n.hex++
		}
	}
	return n
}
