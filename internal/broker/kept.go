package broker

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Kept holds messages of one stream that were read, up to a number of bytes, for readers that follow each other: what a sequence holds does not
// change, and the server may have to load a block of 8 MB for each. A message that was deleted since is still there. Callers must not change
// what they get. Safe for concurrent use.
//
// There are two generations, as in content.Cache: when the young messages reach half of the limit they become the old ones, and those are
// dropped. A message that is read becomes young again.
type Kept struct {
	limit int

	mu         sync.Mutex
	young, old map[uint64]Stored
	bytes      int             // of the young ones
	reading    map[uint64]bool // by Ahead
	unreadable map[uint64]bool // Ahead could not read them; some of them
}

// NewKept holds up to limit bytes, and one message more.
func NewKept(limit int) *Kept {
	return &Kept{limit: limit, young: map[uint64]Stored{}, old: map[uint64]Stored{}, reading: map[uint64]bool{}, unreadable: map[uint64]bool{}}
}

// Message returns a message that is kept.
func (k *Kept) Message(seq uint64) (m Stored, ok bool) {
	if k == nil {
		return m, false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if m, ok = k.young[seq]; ok {
		return m, true
	}
	if m, ok = k.old[seq]; ok {
		delete(k.old, seq)
		k.add(m)
	}
	return m, ok
}

func (k *Kept) keep(m Stored) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.young[m.Seq]; !ok {
		delete(k.old, m.Seq)
		k.add(m)
	}
}

func (k *Kept) add(m Stored) {
	size := sizeOf(m)
	if k.bytes+size > k.limit/2 {
		clear(k.old)
		k.young, k.old, k.bytes = k.old, k.young, 0
	}
	k.young[m.Seq] = m
	k.bytes += size
}

// sizeOf is about what a message takes in memory.
func sizeOf(m Stored) int {
	size := 256 + len(m.Subject) + len(m.Data)
	for name, values := range m.Header {
		size += 64 + len(name)
		for _, v := range values {
			size += 16 + len(v)
		}
	}
	return size
}

// Through returns a reader whose Get keeps what it has read in kept, and looks there first.
func (r *LogReader) Through(kept *Kept) *LogReader {
	keeping := *r
	keeping.kept = kept
	return &keeping
}

// Ahead reads aheadLeast messages at once, or one of aheadOf that are missing: more share the server's processor, which loads a block for each, so that
// the first one comes later.
const aheadLeast, aheadOf = 2, 16

// maxUnreadable is how many messages are known that can't be read.
const maxUnreadable = 1000

// Ahead has Kept hold messages, and reads what is missing, the latest first, until limit has passed. What it has begun to read by then is read on and kept,
// within openTimeout, since the server has begun to load its block: so calls that follow each other get on. It returns how many are left, and the bytes
// of those that are kept. One that can't be read is not left: Get says why.
func (r *LogReader) Ahead(ctx context.Context, seqs []uint64, limit time.Duration) (left, bytes int) {
	missing, bytes := r.kept.missing(seqs)
	if len(missing) == 0 {
		return 0, bytes
	}
	slices.SortFunc(missing, func(a, b uint64) int { return cmp.Compare(b, a) })
	missing = slices.Compact(missing)
	within, stop := context.WithTimeout(ctx, limit)
	defer stop()
	var next atomic.Int64
	var readers sync.WaitGroup
	for range min(max(len(missing)/aheadOf, aheadLeast), scanSubjectsAtOnce, len(missing)) {
		readers.Go(func() {
			for more := true; more; more = within.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(missing) {
					return
				}
				r.readAhead(context.WithoutCancel(ctx), missing[i])
			}
		})
	}
	all := make(chan struct{})
	go func() { readers.Wait(); close(all) }()
	select {
	case <-all:
	case <-within.Done():
	}
	rest, bytes := r.kept.missing(seqs) // readers may still look at what was missing
	return len(rest), bytes
}

// readAhead keeps a message that nobody else is reading ahead.
func (r *LogReader) readAhead(ctx context.Context, seq uint64) {
	k := r.kept
	k.mu.Lock()
	busy := k.reading[seq]
	k.reading[seq] = true
	k.mu.Unlock()
	if busy {
		return
	}
	_, err := r.Get(ctx, seq)
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.reading, seq)
	if err == nil {
		return
	}
	if len(k.unreadable) >= maxUnreadable {
		clear(k.unreadable)
	}
	k.unreadable[seq] = true
}

// missing are those of some messages that are not kept and may be read, and the bytes of those that are kept.
func (k *Kept) missing(seqs []uint64) (missing []uint64, bytes int) {
	for _, seq := range seqs {
		m, ok := k.Message(seq)
		k.mu.Lock()
		lost := k.unreadable[seq]
		k.mu.Unlock()
		switch {
		case ok:
			bytes += sizeOf(m)
		case !lost:
			missing = append(missing, seq)
		}
	}
	return missing, bytes
}
