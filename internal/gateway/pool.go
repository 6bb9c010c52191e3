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

// memory lends the bytes of copies, whose sizes are powers of two: of a request of 60 kB, two thirds of what it would allocate are copies, and each
// collection of that garbage makes the requests slow that come meanwhile.
type memory struct{ sizes [largestLent + 1]sync.Pool }

// copies is the one that all gateways share.
var copies memory

const largestLent = 20 // a megabyte; what is larger is rare

// size is how much is lent where n bytes are needed.
func (*memory) size(n int) int {
	if class := bits.Len(uint(n - 1)); n > 1 && class <= largestLent {
		return 1 << class
	}
	return n
}

// lend returns n bytes of room, of a size of size.
func (m *memory) lend(n int) []byte {
	if class := bits.Len(uint(n)) - 1; n == 1<<class && class <= largestLent {
		if b, ok := m.sizes[class].Get().(*[]byte); ok {
			return *b
		}
	}
	return make([]byte, 0, n)
}

// back takes back what nothing reads any more. It is cleared: no client's words are in what another's copy is made in.
func (m *memory) back(b []byte) {
	n := cap(b)
	class := bits.Len(uint(n)) - 1
	if n == 0 || n != 1<<class || class > largestLent {
		return
	}
	b = b[:n]
	clear(b)
	b = b[:0]
	m.sizes[class].Put(&b)
}
