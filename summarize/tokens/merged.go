package tokens

import "sync/atomic"

// merged remembers how many tokens short pieces merge to: a text has the same names again and again, and to merge one takes ten times as
// long as to find it here. Each piece has one place, and the latest takes it. Any number of goroutines use it at once, without a lock.
type merged [1 << mergedBits]mergedPiece

const (
	mergedBits = 12
	mergedMax  = 15 // bytes
)

type mergedPiece struct {
	state     atomic.Uint64 // the count, in eight bits; mergedBusy while the piece is replaced; how often it was
	low, high atomic.Uint64 // its bytes, and its length in the highest
}

const mergedBusy = 1 << 8

// count is how many tokens a piece of up to mergedMax bytes merges to.
func (m *merged) count(v *vocab, piece string) int {
	key := wideKey{load(piece), uint64(len(piece)) << 56}
	if len(piece) > 8 {
		key.high |= load(piece[8:])
	}
	p := &m[key.hash()>>(64-mergedBits)]
	state := p.state.Load()
	if p.low.Load() == key.low && p.high.Load() == key.high && p.state.Load() == state && state&mergedBusy == 0 {
		return int(state & 0xff)
	}
	n := mergeScan(v, piece)
	if state&mergedBusy == 0 && p.state.CompareAndSwap(state, state|mergedBusy) {
		p.low.Store(key.low)
		p.high.Store(key.high)
		p.state.Store((state | 0xff | mergedBusy) + 1 | uint64(n))
	}
	return n
}
