package gateway

import (
	"math/bits"
	"sync"
)

// pool lends the buffers in which bodies pass.
type pool struct{ buffers sync.Pool }

// lent is the one that all gateways share.
var lent pool

const bufferBytes = 32 << 10

// Get implements httputil.BufferPool.
func (p *pool) Get() []byte {
	if b, ok := p.buffers.Get().(*[]byte); ok {
		return *b
	}
	return make([]byte, bufferBytes)
}

// Put implements httputil.BufferPool.
func (p *pool) Put(b []byte) { p.buffers.Put(&b) }

// memory lends the bytes of copies: of a request of 60 kB, two thirds of what it would allocate are copies, and each collection of that garbage makes the
// requests slow that come meanwhile. There are eight sizes between a power of two and the next, so that a copy holds an eighth more than it needs at most.
type memory struct {
	sizes [8 * (largestLent - smallestLent)]sync.Pool
}

// copies is the one that all gateways share.
var copies memory

// Powers of two between which bytes are lent: larger copies are rare, and smaller ones cost little.
const (
	smallestLent = 11
	largestLent  = 20
)

// size is how much is lent where n bytes are needed.
func (*memory) size(n int) int {
	if n <= 1<<smallestLent || n > 1<<largestLent {
		return n
	}
	step := 1 << (bits.Len(uint(n-1)) - 4)
	return (n + step - 1) &^ (step - 1)
}

// of are the bytes of a size that are lent; nil for one that is not.
func (m *memory) of(size int) *sync.Pool {
	if size <= 1<<smallestLent || size > 1<<largestLent || size != m.size(size) {
		return nil
	}
	power := bits.Len(uint(size - 1))
	return &m.sizes[8*(power-1-smallestLent)+size>>(power-4)-9]
}

// lend returns room of a size.
func (m *memory) lend(size int) []byte {
	if of := m.of(size); of != nil {
		if b, ok := of.Get().(*[]byte); ok {
			return *b
		}
	}
	return make([]byte, 0, size)
}

// back takes back what nothing reads any more. It is cleared: no client's words are in what another's copy is made in.
func (m *memory) back(b []byte) {
	of := m.of(cap(b))
	if of == nil {
		return
	}
	b = b[:cap(b)]
	clear(b)
	b = b[:0]
	of.Put(&b)
}
