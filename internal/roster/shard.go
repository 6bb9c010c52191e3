package roster

import (
	"hash/maphash"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"precis/internal/thread"
)

// Group is what threads are summed up by.
type Group struct {
	Agent  string // of the thread's first message
	Policy string // the one that serves the thread; empty: none
}

// Sums of the threads of a group.
type Sums struct {
	Threads      uint64
	Tokens       uint64 // all messages
	Live         uint64 // what prompts hold
	CostMicroUSD uint64
	Active       uint64 // summaries
	Stale        uint64
}

func (s *Sums) add(o Sums) {
	s.Threads += o.Threads
	s.Tokens += o.Tokens
	s.Live += o.Live
	s.CostMicroUSD += o.CostMicroUSD
	s.Active += o.Active
	s.Stale += o.Stale
}

// kind tells groups apart. named is the policy that an event has named: while it and the agent stay, so does the policy that serves the thread.
type kind struct {
	Group
	named string
}

// maxKinds bounds the groups of a shard: agents name themselves. What comes after that belongs to a group without names.
const maxKinds = 1 << 16

// columns are the numbers of a thread.
type columns struct {
	recent uint32 // Unix seconds of the last event
	tokens uint32
	live   uint32
	cost   uint32
	active uint32
	stale  uint32
	kind   uint32
	name   uint32 // where it begins in names
}

// shard is the threads of one partition. Without pointers, the garbage collector has nothing to look at in it.
type shard struct {
	takes  atomic.Bool // batches are noted
	mu     sync.RWMutex
	seed   maphash.Seed
	rows   []columns
	names  []byte
	table  []uint32 // by hash: a row's number plus 1; 0: none
	kinds  []kind
	kindOf map[kind]uint32
	sums   []Sums // by kind
}

// begin has the shard take batches from here on, with nothing in it.
func (s *shard) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.takes.Store(true)
	s.seed = maphash.MakeSeed()
	s.rows, s.names, s.table = nil, nil, make([]uint32, 64)
	s.kinds, s.kindOf, s.sums = []kind{{}}, map[kind]uint32{{}: 0}, make([]Sums, 1)
}

// name is the id of the thread of a row; it holds while the shard is locked.
func (s *shard) name(row int) string {
	from, to := s.rows[row].name, uint32(len(s.names))
	if row+1 < len(s.rows) {
		to = s.rows[row+1].name
	}
	return unsafe.String(unsafe.SliceData(s.names[from:to]), int(to-from))
}

// find returns the row of a thread, or -1 and where it would be in the table.
func (s *shard) find(name string) (row int, at uint64) {
	mask := uint64(len(s.table) - 1)
	for at = maphash.String(s.seed, name) & mask; s.table[at] != 0; at = (at + 1) & mask {
		if row = int(s.table[at] - 1); s.name(row) == name {
			return row, at
		}
	}
	return -1, at
}

// put enters a thread, or what has become of it. A reading of the store gives way to batches.
func (s *shard) put(h *thread.Header, policy func(*thread.Header) string, reading bool) {
	if h.Thread == "" {
		return // the partition's own chain
	}
	row, at := s.find(h.Thread)
	if row >= 0 && reading {
		return
	}
	next := columns{
		recent: clip(uint64(max(h.LastAt, 0)) / 1e9), tokens: clip(uint64(max(h.Tokens, 0))), live: clip(uint64(max(h.TokensLive, 0))),
		cost: clip(uint64(max(h.CostMicroUSD, 0))), active: clip(h.SummariesActive), stale: clip(h.SummariesStale),
	}
	if row < 0 {
		next.kind, next.name = s.kindFor(h, policy), uint32(len(s.names))
		if len(s.names)+len(h.Thread) > math.MaxUint32 {
			return // 4 GiB of names
		}
		s.names, s.rows = append(s.names, h.Thread...), append(s.rows, next)
		s.table[at] = uint32(len(s.rows))
		s.sums[next.kind].add(next.sums(1))
		if len(s.rows)*4 > len(s.table)*3 {
			s.grow()
		}
		return
	}
	was := s.rows[row]
	next.kind, next.name = was.kind, was.name
	if k := &s.kinds[was.kind]; k.Agent != h.FirstAgentID || k.named != h.Policy {
		next.kind = s.kindFor(h, policy)
	}
	s.rows[row] = next
	s.sums[was.kind].add(was.sums(math.MaxUint64)) // -1
	s.sums[next.kind].add(next.sums(1))
}

// sums are a thread's numbers n times; n is 1, or -1 as the wrapping number that it is.
func (c columns) sums(n uint64) Sums {
	return Sums{
		Threads: n, Tokens: n * uint64(c.tokens), Live: n * uint64(c.live), CostMicroUSD: n * uint64(c.cost), Active: n * uint64(c.active), Stale: n * uint64(c.stale),
	}
}

func clip(n uint64) uint32 { return uint32(min(n, math.MaxUint32)) }

func (s *shard) kindFor(h *thread.Header, policy func(*thread.Header) string) uint32 {
	k := kind{Group{h.FirstAgentID, policy(h)}, h.Policy}
	if id, ok := s.kindOf[k]; ok {
		return id
	}
	if len(s.kinds) >= maxKinds {
		return 0
	}
	id := uint32(len(s.kinds))
	s.kinds, s.sums = append(s.kinds, k), append(s.sums, Sums{})
	s.kindOf[k] = id
	return id
}

// grow doubles the table.
func (s *shard) grow() {
	s.table = slices.Repeat([]uint32{0}, 2*len(s.table))
	mask := uint64(len(s.table) - 1)
	for row := range s.rows {
		at := maphash.String(s.seed, s.name(row)) & mask
		for s.table[at] != 0 {
			at = (at + 1) & mask
		}
		s.table[at] = uint32(row + 1)
	}
}
