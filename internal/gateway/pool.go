package gateway

import "sync"

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
