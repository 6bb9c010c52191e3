package gateway

import (
	"io"
	"sync"

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

	taken int64
	data  []byte
	lost  string // why there is no copy
	whole bool   // the body came to its end

	mu     sync.Mutex // until sealed, of what is above
	sealed bool
}

// seal ends the copy: what passes from now on is not kept.
func (c *copied) seal() {
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
	size := min(max(need, 2*cap(c.data), 4<<10, min(c.hint, hintedBytes)), max(c.limit, need))
	if !c.budget.room.TryAcquire(int64(size)) { // beside the old one, which is copied from
		return false
	}
	c.budget.held(int64(size))
	data := make([]byte, len(c.data), size)
	copy(data, c.data)
	before := c.taken
	c.data, c.taken = data, int64(size)
	c.budget.give(before)
	return true
}

func (b *budget) give(n int64) {
	b.room.Release(n)
	b.held(-n)
}

func (c *copied) drop(reason string) {
	c.release()
	c.lost = reason
}

// release gives the memory back.
func (c *copied) release() {
	c.budget.give(c.taken)
	c.data, c.taken = nil, 0
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
