package rules

import (
	"bytes"
	"hash/maphash"
	"math"

	"precis/summarize/rules/outline"
	"precis/summarize/rules/words"
)

// feature is one property of an identifier in its text and its thread.
type feature int

const (
	fBias feature = iota
	// How often and where it occurs.
	fCount      // log of the count
	fCountInBig // the same, more the larger the document
	fPosition   // 0 at the beginning, 1 at the end
	fIndent
	fVocabulary // log of how many identifiers there are
	fAlike      // log of how many lines are like its first
	fLineNew    // log of how many new identifiers its line has
	// What it looks like.
	fPath
	fFileName
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
		doc: doc, words: v, memory: m, focus: v.focusOf(doc, m), lineNew: v.ints.Take(len(doc.lines)),
		nearMax: v.floats.Take(len(v.words)), wideMax: v.floats.Take(len(v.words)),
		variants: v.variants(), pairs: v.ints.Take(len(v.lexicon.Pairs)), size: math.Log(float64(len(v.words) + 1)),
	}
	seen := v.flags.Take(len(v.words)) // a separate slice stays in the CPU cache
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
		if p := s.words.lexicon.FindPair(subs[k-1], subs[k]); p >= 0 {
			s.pairs[p]++
		}
	}
}

// variants marks the identifiers from which another one differs only in case or separators.
func (v *vocabulary) variants() []bool {
	same := v.flags.Take(len(v.words))
	index := &v.squeezed
	index.Reset(len(v.words))
	var own, other []byte
	for id := range v.words {
		own = words.AppendSqueezed(own[:0], v.words[id].text)
		for key := uint32(maphash.Bytes(v.terms.Seed, own)); ; key++ {
			first := index.Find(key)
			if first == words.None {
				index.Add(key, int32(id))
				break
			}
			if other = words.AppendSqueezed(other[:0], v.words[first].text); bytes.Equal(own, other) {
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
	x[fPosition] = float64(w.first) / float64(max(1, lines))
	x[fIndent] = float64(min(s.doc.lines[w.first].indent/4, 6)) // levels
	x[fVocabulary] = s.size
	x[fAlike] = logOf(1 + s.doc.lines[w.first].alike)
	x[fLineNew] = logOf(1 + s.lineNew[w.first])
}

func standing(how uint32, x *vector) {
	x[fCalled] = flag(how&words.IsCalled != 0)
	x[fAssigned] = flag(how&words.IsAssigned != 0)
	x[fQuoted] = flag(how&words.IsQuoted != 0)
	x[fComment] = flag(how&words.InComment != 0)
	x[fImport] = flag(how&words.InImport != 0)
	x[fHeading] = flag(how&words.InHeading != 0)
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

// focus measures how close each line is to the current subject of the thread: the words of its newest
// short messages (a request, a thought, a call), weighted by rarity. An agent that reads a file continues
// with the part that it was looking for.
type focus struct {
	line   []float64 // of the line itself, 0 to 1
	near   []float64 // smoothed over a few lines, 0 to 1
	wide   []float64 // smoothed over a screenful, 0 to 1
	said   []bool    // the line has an identifier from the talk
	toSaid []float64 // distance in lines to the nearest such line
	block  []block   // the declaration that contains the line
	sub    []float64 // by subword
}

// block is the relation of a declaration's own line to the talk.
type block struct {
	said  bool
	share float64 // of its words
}

const (
	focusDecay = 5.0  // messages over which a word's weight falls by two thirds
	nearLines  = 3.0  // e-folding lengths of the smoothing
	wideLines  = 15.0 //
	outermost  = 7    // maximum indentation, in columns, of a declaration that opens a block
)

func (v *vocabulary) focusOf(doc *document, m *memory) *focus {
	n := len(doc.lines)
	f := &focus{
		line: v.floats.Take(n), near: v.floats.Take(n), wide: v.floats.Take(n),
		said: v.flags.Take(n), toSaid: v.floats.Take(n), block: v.blocks.Take(n),
	}
	words, subs := v.saidIn(m.talk)
	f.sub = v.weighSaid(m)
	f.readLines(doc, v, words, subs)
	f.smooth(f.near, nearLines)
	f.smooth(f.wide, wideLines)
	normalize(f.line)
	normalize(f.near)
	normalize(f.wide)
	f.distances()
	return f
}

// saidIn marks the identifiers and subwords of the talk.
func (v *vocabulary) saidIn(talk []said) (words, subs []bool) {
	words, subs = v.flags.Take(len(v.words)), v.flags.Take(len(v.lexicon.Subwords))
	for _, t := range talk {
		for _, id := range t.words {
			words[id] = true
		}
		for _, id := range t.subs {
			subs[id] = true
		}
	}
	return words, subs
}

// weighSaid weighs every subword of the talk by recency and by its rarity in the thread and the document.
func (v *vocabulary) weighSaid(m *memory) []float64 {
	weight := v.floats.Take(len(v.lexicon.Subwords))
	here := v.ints.Take(len(v.lexicon.Subwords))
	for _, id := range v.lineSubs {
		here[id]++
	}
	for k, t := range m.talk {
		decay := math.Exp(-float64(k) / focusDecay)
		for _, id := range t.subs {
			if weight[id] == 0 {
				weight[id] = decay / math.Log(3+float64(m.subs[id].count)+float64(here[id]))
			}
		}
	}
	return weight
}

func (f *focus) readLines(doc *document, v *vocabulary, words, subs []bool) {
	lastLine := v.ints.Take(len(v.lexicon.Subwords)) // by subword: the last line + 1 that it was counted in
	var open block
	for i := range doc.lines {
		in := 0
		all := v.subs(i)
		for _, id := range all {
			if subs[id] {
				in++
			}
			if lastLine[id] != int32(i+1) {
				lastLine[id] = int32(i + 1)
				f.line[i] += f.sub[id]
			}
		}
		for _, m := range v.of(i) {
			f.said[i] = f.said[i] || words[m.id]
		}
		if doc.lines[i].kind == outline.DeclarationLine && doc.lines[i].indent <= outermost {
			open = block{said: f.said[i], share: float64(in) / float64(max(1, len(all)))}
		}
		f.block[i] = open
	}
}

// smooth adds to every line the values of the lines around it, decreasing with distance.
func (f *focus) smooth(out []float64, length float64) {
	decay := math.Exp(-1 / length)
	sum := 0.0
	for i := range out {
		sum = faded(sum*decay) + f.line[i]
		out[i] = sum
	}
	sum = 0
	for i := len(out) - 1; i >= 0; i-- {
		sum = faded(sum * decay)
		out[i] += sum
		sum += f.line[i]
	}
}

// faded returns 0 for negligible values: they would decay to denormal numbers, on which a CPU takes a hundred times as
// long.
func faded(x float64) float64 {
	if x < 1e-30 {
		return 0
	}
	return x
}

func normalize(x []float64) {
	top := 0.0
	for _, v := range x {
		top = max(top, v)
	}
	if top == 0 {
		return
	}
	for i := range x {
		x[i] /= top
	}
}

func (f *focus) distances() {
	d := math.Inf(1)
	for i := range f.toSaid {
		if f.said[i] {
			d = 0
		}
		f.toSaid[i] = d
		d++
	}
	d = math.Inf(1)
	for i := len(f.toSaid) - 1; i >= 0; i-- {
		if f.said[i] {
			d = 0
		}
		f.toSaid[i] = min(f.toSaid[i], d)
		d++
	}
}

// looks sets the features of a spelling.
func looks(look uint32, x *vector) {
	x[fDigits] = flag(look&words.IsDigits != 0)
	x[fDate] = flag(look&words.IsDate != 0)
	x[fHex] = flag(look&words.IsHex != 0)
	x[fPath] = flag(look&words.IsPathName != 0)
	x[fFileName] = flag(look&words.IsFileName != 0)
	x[fCapitals] = flag(look&words.IsCapitals != 0)
	x[fCamel] = flag(look&words.IsCamel != 0)
	x[fExported] = flag(look&words.IsExported != 0)
}

// weights are what a logistic regression made of real transcripts (TestTrain): how much each feature
// speaks for an identifier's being written again by the agent.
var weights = vector{
	fBias:          0.07,
	fCount:         0.30,
	fCountInBig:    0.09,
	fPosition:      -0.41,
	fIndent:        0.05,
	fVocabulary:    -0.60,
	fAlike:         -0.17,
	fLineNew:       -0.41,
	fPath:          0.25,
	fFileName:      0.11,
	fCamel:         0.13,
	fCapitals:      0.14,
	fDigits:        -0.37,
	fHex:           -0.34,
	fDate:          -0.64,
	fExported:      0.20,
	fSingle:        -0.09,
	fPathInListing: -0.17,
	fCalled:        0.19,
	fAssigned:      -0.22,
	fQuoted:        0.28,
	fComment:       -0.21,
	fImport:        0.18,
	fHeading:       0.20,
	fVariant:       0.23,
	fPairHere:      -0.25,
	fRecentAll:     0.24,
	fPairAge:       0.26,
	fPairRecent:    0.20,
	fPairTalk:      0.20,
	fFocusWord:     0.12,
	fFocusLine:     0.09,
	fFocusWide:     0.12,
	fFocusNearMax:  0.27,
	fFocusWideMax:  0.25,
	fNearSaid:      0.21,
	fSaidBlock:     0.19,
	fBlockShare:    0.36,
}

// seenWorth is the worth of an identifier that the thread has seen, relative to a new one.
const seenWorth = 0.01

// nameWorth is the worth of a listing's entry that is spelled like an ordinary word.
const nameWorth = 0.02

// weigh sets the worth of every identifier: the probability that the thread uses it again.
func (v *vocabulary) weigh(doc *document, in Input) {
	s := newScene(doc, v, v.recall(in.Earlier, in.Seen))
	v.lookedFor(doc, s.memory.talk)
	for id := range v.words {
		w := &v.words[id]
		x := s.vector(int32(id))
		w.worth = probability(&x, &weights)
		switch {
		case w.how&words.IsName != 0 && !words.Specific(w.text):
			w.worth = nameWorth
		case doc.shape == shapeSnapshot && doc.lines[w.first].dull():
			w.worth *= seenWorth
		case w.seen:
			w.worth *= seenWorth
		}
	}
}

const (
	// lookedForWorth is the worth of a declaration that the talk names, askedWorth that of a line that has what the newest of it names: the file is
	// read for them. With 0.12 for such lines, those that are shown hold 0.011 less of the recall. Of lines around matches, those with what the newest
	// message names have newestWorth: a search with context is made for them.
	lookedForWorth, askedWorth, newestWorth = 0.12, 0.05, 0.2
	// lookedForTexts is how many messages of the talk tell what is looked for; what occurs in more than rareLines mentions is what the file is about.
	lookedForTexts, rareLines = 3, 3
)

// lookedFor weighs the declarations that the talk names, and notes the lines that have what the newest of it names.
func (v *vocabulary) lookedFor(doc *document, talk []said) {
	if len(talk) == 0 || !doc.steps && !doc.around && doc.shape != shapeOneFile {
		return
	}
	names, rare := map[int32]bool{}, map[int32]float64{}
	for i, t := range talk {
		for _, id := range t.words {
			names[id] = true
			if i < lookedForTexts && v.words[id].count <= rareLines {
				if rare[id] = max(rare[id], askedWorth); i == 0 && !doc.steps {
					rare[id] = newestWorth
				}
			}
		}
	}
	for i := range doc.landmarks {
		if m := &doc.landmarks[i]; doc.steps && !m.file && !m.place {
			if id := v.find(m.name); id != words.None && names[id] {
				m.worth = lookedForWorth
			}
		}
	}
	if len(rare) == 0 {
		return
	}
	doc.asked = make([]float64, len(doc.lines))
	for i := range doc.lines {
		for _, m := range v.of(i) {
			doc.asked[i] = max(doc.asked[i], rare[m.id])
		}
	}
}

// shown takes their worth from the identifiers of a text that is shown in any case.
func (v *vocabulary) shown(text string) {
	words.EachWord(text, func(start, end int) {
		if id := v.find(text[start:end]); id != words.None {
			v.words[id].worth = 0
		}
	})
}

func probability(x, w *vector) float64 {
	sum := 0.0
	for i := range x {
		sum += x[i] * w[i]
	}
	return 1 / (1 + math.Exp(-sum))
}
