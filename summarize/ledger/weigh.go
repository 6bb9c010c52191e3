package ledger

import (
	"math"
	"slices"
)

// weights of a logistic model for the probability that the assistant writes an identifier again after the
// compaction, although it occurs in none of the kept messages. Fitted on half of the threads of real
// coding agents and validated on the other half (docs/threads.md); no feature depends on the word itself.
const (
	wBias      = -3.27
	wSeen      = 2.00  // ln of the messages that contain it; the fit gives 1.40, but texts retain more with 2 (in either half)
	wSaid      = -0.13 // ln 1 + the assistant's messages
	wResults   = -1.01 // ln 1 + tool results: an identifier in all outputs is noise
	wLast      = 0.65  // recency of its last mention, 1 to 0
	wSaidLast  = 1.24  // … and the assistant's last
	wWritten   = 1.70
	wSlash     = 0.16
	wNumber    = -2.23
	wLength    = -0.64 // per 20 bytes
	wCamel     = 0.48
	wSaidOnly  = -0.40
	wFirst     = 0.73 // recency of its first mention
	wNearBest  = 0.88 // overlap of the messages around it with the kept ones, maximum
	wNearMean  = 0.50 // … and mean
	wKin       = 0.56 // share of its subwords that occur in the kept messages
	freshScale = 60   // messages over which freshness falls to 1/e
)

// weigher knows the messages after the summary, and how much each older message has in common with them. One ledger is
// written at many lengths: its identifiers are weighed, and located in its lines, once. A weigher can be reused for
// one ledger after another, and then allocates nothing new.
type weigher struct {
	to       uint64
	messages float64
	kept     map[string]bool // identifiers of the kept messages, which need no repetition
	near     map[uint64]float64
	kin      kinship
	at       *index    // finds the identifiers of the current ledger
	all      []name    // those identifiers, in order
	left     []int32   // positions of those that Trim has kept; nil before
	lines    []reach   // ranges of identifiers in the ledger's lines; nil if not computed yet
	found    []stretch // those identifiers, line by line
	places   index     // the places of the lines
	asked    []Request // the ledger's requests by rank; nil if not computed yet
	errors   []Error   // likewise
	commands []Command // likewise
	words    []int32   // positions of the ledger's words, best value for their length first; nil if not computed yet
	ranks    []ranked[float64]
	pick     picker
	faded    [256]struct {
		n     int
		value float64
	}
}

// name is an identifier of a ledger.
type name struct {
	chance float64
	said   int32 // the last picker that mentioned it
	when   int32 // that picker's number of excerpts at the time
}

// newWeigher compares a ledger's identifiers with those of the messages kept after it.
func newWeigher(l Ledger, kept hint) *weigher {
	m, w := merger{}, &weigher{}
	m.of(l.Words)
	w.begin(l, &m.at, kept)
	return w
}

// begin switches to a ledger, whose identifiers at finds.
func (w *weigher) begin(l Ledger, at *index, kept hint) {
	w.at, w.all = at, grown(w.all, len(l.Words))[:len(l.Words)]
	clear(w.all)
	w.left, w.lines, w.words = nil, nil, nil
	w.asked, w.errors, w.commands = nil, nil, nil
	w.pick.number = 0
	w.weigh(l, kept)
}

// weigh computes the probability of each identifier of a ledger.
func (w *weigher) weigh(l Ledger, kept hint) {
	w.to, w.messages = l.To, float64(max(l.Messages, 2))
	w.kept, w.kin, w.near = kept.words, newKinship(l.Words, kept), nil
	if len(kept.said) > 0 {
		w.near = w.shared(l.Words, kept.said)
	}
	for i := range l.Words {
		w.of(i).chance = w.reckon(&l.Words[i])
	}
}

// order ranks the ledger's identifiers; only the first room of them are sorted.
func (w *weigher) order(n, room int, rank func(i int) float64) []ranked[float64] {
	w.ranks = grown(w.ranks, n)
	for i := range n {
		w.ranks = append(w.ranks, ranked[float64]{rank(i), int32(i)})
	}
	first(w.ranks, room)
	slices.SortFunc(w.ranks[:room], ranked[float64].compare)
	return w.ranks
}

// of returns the data of the ledger's i-th identifier.
func (w *weigher) of(i int) *name {
	if w.left != nil {
		i = int(w.left[i])
	}
	return &w.all[i]
}

// shared computes the share of each message's content that the assistant also says in the kept messages.
func (w *weigher) shared(words []Word, said map[string]bool) map[uint64]float64 {
	near, common, all := map[uint64]float64{}, map[uint64]float64{}, map[uint64]float64{}
	for i := range words {
		word := &words[i]
		rare := w.rarity(word)
		for _, at := range word.Near {
			if at == 0 {
				break
			}
			all[at] += rare
			if said[word.Text] {
				common[at] += rare
			}
		}
	}
	for at, c := range common {
		near[at] = c / (all[at] + 5)
	}
	return near
}

func (w *weigher) rarity(word *Word) float64 {
	return math.Max(0, math.Log(w.messages/float64(max(word.Seen, 1))))
}

// reckon returns the probability that a word of the ledger is written again and is missed if the summary does not
// contain it.
func (w *weigher) reckon(word *Word) float64 {
	if w.kept[word.Text] {
		return 0
	}
	z := wBias + wSeen*logs.of(max(word.Seen, 1)) +
		wSaid*logs1.of(word.Said) + wResults*logs1.of(word.Results) +
		w.freshness(word) + w.nearness(word) + wKin*w.kin.of(word.Text) + shapeWeight(word)
	return 1 / (1 + math.Exp(-z))
}

func (w *weigher) freshness(word *Word) float64 {
	z := wLast*w.fresh(word.Last) + wFirst*w.fresh(word.First)
	if word.Said > 0 {
		z += wSaidLast * w.fresh(word.SaidAt)
	}
	return z
}

func (w *weigher) fresh(at uint64) float64 {
	n := int(w.to - min(at, w.to))
	if n < len(fades.known) {
		return fades.known[n]
	}
	// All words of one message have the same recency, and a message has many.
	last := &w.faded[n%len(w.faded)]
	if last.n != n {
		last.n, last.value = n, fades.f(float64(n))
	}
	return last.value
}

// table caches a function of mostly small numbers: a lookup takes a tenth of the time.
type table struct {
	f     func(float64) float64
	known [1024]float64
}

var (
	logs  = tableOf(math.Log)
	logs1 = tableOf(math.Log1p)
	fades = tableOf(func(n float64) float64 { return math.Exp(-n / freshScale) })
)

func tableOf(f func(float64) float64) *table {
	t := &table{f: f}
	for n := range t.known {
		t.known[n] = f(float64(n))
	}
	return t
}

func (t *table) of(n int) float64 {
	if n >= 0 && n < len(t.known) {
		return t.known[n]
	}
	return t.f(float64(n))
}

func (w *weigher) nearness(word *Word) float64 {
	if len(w.near) == 0 {
		return 0
	}
	best, sum, n := 0.0, 0.0, 0.0
	for _, at := range word.Near {
		if at == 0 {
			break
		}
		best, sum, n = math.Max(best, w.near[at]), sum+w.near[at], n+1
	}
	return wNearBest*best + wNearMean*sum/math.Max(n, 1)
}

func shapeWeight(word *Word) float64 {
	k := kindOf(word.Text)
	z := wLength * float64(len(word.Text)) / 20
	z += when(word.Written, wWritten) + when(k.slash, wSlash)
	z += when(k.number(), wNumber) + when(k.lower && k.upper, wCamel)
	return z + when(word.Said == word.Seen, wSaidOnly)
}

func when(b bool, v float64) float64 {
	if b {
		return v
	}
	return 0
}
