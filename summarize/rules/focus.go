package rules

import "math"

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
		line: v.floats.take(n), near: v.floats.take(n), wide: v.floats.take(n),
		said: v.flags.take(n), toSaid: v.floats.take(n), block: v.blocks.take(n),
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
	words, subs = v.flags.take(len(v.words)), v.flags.take(len(v.lexicon.subwords))
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
	weight := v.floats.take(len(v.lexicon.subwords))
	here := v.ints.take(len(v.lexicon.subwords))
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
	lastLine := v.ints.take(len(v.lexicon.subwords)) // by subword: the last line + 1 that it was counted in
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
		if doc.lines[i].kind == declarationLine && doc.lines[i].indent <= outermost {
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
