package rules

import "math"

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
	for id := range v.words {
		w := &v.words[id]
		x := s.vector(int32(id))
		w.worth = probability(&x)
		switch {
		case w.how&isName != 0 && !specific(w.text):
			w.worth = nameWorth
		case doc.shape == shapeSnapshot && doc.lines[w.first].dull():
			w.worth *= seenWorth
		case w.seen:
			w.worth *= seenWorth
		}
	}
}

// shown takes their worth from the identifiers of a text that is shown in any case.
func (v *vocabulary) shown(text string) {
	eachWord(text, func(start, end int) {
		if id := v.find(text[start:end]); id != none {
			v.words[id].worth = 0
		}
	})
}

func probability(x *vector) float64 {
	sum := 0.0
	for i := range x {
		sum += x[i] * weights[i]
	}
	return 1 / (1 + math.Exp(-sum))
}
