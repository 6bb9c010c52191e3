package tokens

// mergeHeap counts as mergeScan does, for pieces of any length, in n·log n: an endless word or run
// of one sign is a single piece. It takes 20 bytes a byte of the piece while it runs.
func mergeHeap(v *vocab, piece string) int {
	m := newMerging(v, piece)
	return m.run()
}

// merging is a piece's parts as a list; a part is named by the offset of its first byte.
type merging struct {
	v          *vocab
	piece      string
	next, prev []int32
	ranks      []rank // of a part with the next; noRank for the last and for those merged away
	queue      candidates
	taken      int // candidates taken from the queue, those out of date too
}

func newMerging(v *vocab, piece string) *merging {
	n := len(piece)
	m := &merging{
		v: v, piece: piece,
		next: make([]int32, n+1), prev: make([]int32, n+1),
		ranks: make([]rank, n), queue: make(candidates, 0, n),
	}
	for i := range m.next {
		m.next[i], m.prev[i] = int32(i)+1, int32(i)-1
	}
	m.ranks[n-1] = noRank
	for i := range n - 1 {
		m.ranks[i] = v.pair(piece, i)
		if m.ranks[i] != noRank {
			m.queue = append(m.queue, candidate(m.ranks[i], int32(i)))
		}
	}
	m.queue.init()
	return m
}

// run merges until nothing can and gives the number of parts left.
func (m *merging) run() int {
	left := len(m.piece)
	for len(m.queue) > 0 {
		top := m.queue.pop()
		m.taken++
		i := int32(uint32(top))
		if m.ranks[i] != rank(top>>32) {
			continue // it or its neighbour has merged otherwise since
		}
		m.merge(i)
		left--
		m.renew(i)
		if p := m.prev[i]; p >= 0 {
			m.renew(p)
		}
	}
	return left
}

// merge joins part i with the next.
func (m *merging) merge(i int32) {
	gone := m.next[i]
	m.ranks[gone] = noRank
	m.next[i] = m.next[gone]
	m.prev[m.next[i]] = i
}

// renew ranks part i with its new neighbour and queues it.
func (m *merging) renew(i int32) {
	m.ranks[i] = noRank
	if j := m.next[i]; int(j) < len(m.piece) {
		m.ranks[i] = m.v.rank(m.piece[i:m.next[j]])
	}
	if m.ranks[i] != noRank {
		m.queue.push(candidate(m.ranks[i], i))
	}
}

// candidates is a min-heap of rank<<32 | offset: lowest rank first, leftmost first within it.
type candidates []uint64

func candidate(r rank, i int32) uint64 { return uint64(r)<<32 | uint64(uint32(i)) }

func (q candidates) init() {
	for i := len(q)/2 - 1; i >= 0; i-- {
		q.down(i)
	}
}

func (h *candidates) push(c uint64) {
	*h = append(*h, c)
	q, i := *h, len(*h)-1
	for i > 0 {
		parent := (i - 1) / 2
		if q[parent] <= c {
			break
		}
		q[i] = q[parent]
		i = parent
	}
	q[i] = c
}

func (h *candidates) pop() uint64 {
	q := *h
	top, last := q[0], len(q)-1
	q[0] = q[last]
	*h = q[:last]
	h.down(0)
	return top
}

func (q candidates) down(i int) {
	if i >= len(q) {
		return
	}
	c := q[i]
	for {
		child := 2*i + 1
		if child >= len(q) {
			break
		}
		if child+1 < len(q) && q[child+1] < q[child] {
			child++
		}
		if c <= q[child] {
			break
		}
		q[i] = q[child]
		i = child
	}
	q[i] = c
}
