package gateway

import (
	"io"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"

	"golang.org/x/sync/semaphore"
)

// budget bounds the memory of all copies.
type budget struct {
	room *semaphore.Weighted
	held func(bytes int64)
}

// copied is a copy of a body that passes. Only what a sealed one has may be used: a provider may answer before it has read a request, whose body goes
// on to be sent then, beside the exchange's end and beyond it.
type copied struct {
	limit  int
	hint   int // its length, as far as it is told beforehand
	budget *budget

	taken   int64
	data    []byte
	memory  []byte   // what data is in; it is lent
	scratch *scratch // what it is read into; nil: it is not
	lost    string   // why there is no copy
	whole   bool     // the body came to its end

	holders atomic.Int32 // of what it has, beside its exchange
	passed  *passed      // the body that is read from it

	mu     sync.Mutex // until sealed, of what is above
	sealed bool
}

// seal ends the copy: what passes from now on is not kept, and nothing is read from it any more.
func (c *copied) seal() {
	if c.passed != nil {
		c.passed.end()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sealed = true
}

// write never fails: a body that can't be copied passes all the same.
func (c *copied) write(p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sealed || c.lost != "" {
		return
	}
	need := len(c.data) + len(p)
	switch {
	case need > c.limit:
		c.drop(lostSize)
		return
	case need > cap(c.data) && !c.grow(need):
		c.drop(lostMemory)
		return
	}
	c.data = append(c.data, p...)
}

// end notes that the body has come to its end.
func (c *copied) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.sealed {
		c.whole = true
	}
}

// hintedBytes is how much of what a body says of its length is believed before it comes.
const hintedBytes = 1 << 20

// grow doubles the room.
func (c *copied) grow(need int) bool {
	size := copies.size(min(max(need, 2*cap(c.data), 4<<10, min(c.hint, hintedBytes)), max(c.limit, need)))
	if !c.budget.room.TryAcquire(int64(size)) { // beside the old one, which is copied from
		return false
	}
	c.budget.held(int64(size))
	data, before, old := append(copies.lend(size), c.data...), c.taken, c.memory
	c.data, c.memory, c.taken = data, data, int64(size)
	copies.back(old)
	c.budget.give(before)
	return true
}

func (b *budget) give(n int64) {
	b.room.Release(n)
	b.held(-n)
}

// drop leaves the memory to whoever reads it: the body goes on from there.
func (c *copied) drop(reason string) {
	c.budget.give(c.taken)
	c.data, c.memory, c.taken, c.lost = nil, nil, 0, reason
}

// hold keeps what the copy has until it is released once more.
func (c *copied) hold() { c.holders.Add(1) }

// release gives the memory back, unless it is held.
func (c *copied) release() {
	if c.holders.Add(-1) >= 0 {
		return
	}
	memory, scratch := c.memory, c.scratch
	c.budget.give(c.taken)
	c.data, c.memory, c.taken, c.scratch = nil, nil, 0, nil
	copies.back(memory)
	scratch.back()
}

// body is a request's body that is made of pieces, of the copy and others, in the place of the last one. It keeps the list.
func (c *copied) body(pieces ...jsontext.Value) *passed {
	c.hold()
	if c.passed != nil {
		c.passed.end()
	}
	c.passed = &passed{left: pieces, from: c}
	return c.passed
}

// passed is a body that holds the copy that it is read from until it is ended. A transport may read beside that, and after it, and a proxy does not close
// the bodies of its requests: their server does.
type passed struct {
	mu   sync.Mutex
	left []jsontext.Value
	from *copied // nil: ended
}

func (p *passed) Read(b []byte) (n int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.from == nil {
		return 0, http.ErrBodyReadAfterClose
	}
	for n < len(b) && len(p.left) > 0 {
		read := copy(b[n:], p.left[0])
		n += read
		if p.left[0] = p.left[0][read:]; len(p.left[0]) == 0 {
			p.left = p.left[1:]
		}
	}
	if n == 0 && len(p.left) == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// Close implements io.Closer.
func (p *passed) Close() error {
	p.end()
	return nil
}

func (p *passed) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.from != nil {
		p.from.release()
		p.from, p.left = nil, nil
	}
}

// tee copies what is read from a body.
type tee struct {
	io.ReadCloser
	to *copied
}

func (t *tee) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	t.to.write(p[:n])
	if err == io.EOF {
		t.to.end()
	}
	return n, err
}
