package state

import (
	"fmt"
	"reflect"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"precis/internal/thread"
)

// hotBytes bounds what all partitions together keep decoded, as it weighs.
const hotBytes = 24 << 20

// hot is the rows of the threads that a partition has written last, as the store has them: what an agent
// does comes in bursts, and each of its events reads them. Nothing of the open batch is in it, which may be
// given up.
type hot struct {
	lru   *simplelru.LRU[string, hotThread]
	bytes int
	most  int
}

// hotThread is a thread's rows; they are shared, and never changed.
type hotThread struct {
	header     *thread.Header
	compaction *thread.Compaction // nil where there is none
}

func newHot(most int) *hot {
	h := &hot{most: most}
	lru, err := simplelru.NewLRU(1+most/minHotBytes, func(_ string, t hotThread) { h.bytes -= t.weight() })
	if err != nil {
		panic(fmt.Sprintf("keep threads: %v", err)) // its size is more than 0
	}
	h.lru = lru
	return h
}

// minHotBytes is what a header weighs, with its place in the list.
const minHotBytes = 600

func (t hotThread) weight() int {
	n := minHotBytes
	if c := t.compaction; c != nil {
		n += 512 + 80*len(c.Cut.Pending) + 96*(len(c.Cut.Open)+len(c.Cut.Early)+len(c.Tops)) +
			8*(len(c.Held)+len(c.Fixed)+len(c.Cut.Assistant.Members))
	}
	return n
}

func (h *hot) get(name string) hotThread {
	t, _ := h.lru.Get(name)
	return t
}

// put keeps what a batch has written of a thread, or what was read of it.
func (h *hot) put(name string, header *thread.Header, compaction *thread.Compaction) {
	h.lru.Remove(name) // it is weighed anew
	t := hotThread{header, compaction}
	h.lru.Add(name, t)
	for h.bytes += t.weight(); h.bytes > h.most && h.lru.Len() > 1; {
		h.lru.RemoveOldest()
	}
}

// CheckHot compares what the partition keeps in memory with the store: nothing may ever differ. For
// tests, in the goroutine that owns the partition.
func (p *Partition) CheckHot() error {
	for _, name := range p.hot.lru.Keys() {
		t, _ := p.hot.lru.Peek(name)
		h, k, err := p.thread(name)
		if err != nil {
			return err
		}
		if !reflect.DeepEqual(h, t.header) {
			return fmt.Errorf("header of thread %q: in memory %+v, in the store %+v", name, t.header, h)
		}
		if kept := encodeThread(nil, h, t.compaction); string(kept) != string(encodeThread(nil, h, k)) {
			return fmt.Errorf("compaction of thread %q: in memory %+v, in the store %+v", name, t.compaction, k)
		}
	}
	return nil
}
