package roster

import (
	"context"
	"fmt"
	"iter"
	"sync"

	"precis/internal/thread"
)

// Options of an index.
type Options struct {
	Partitions int
	// Read calls each with the header of every thread of a partition, from one state of the store that is taken at the call.
	Read func(partition int, each func(*thread.Header) (bool, error)) error
	// Policy names the policy that serves a thread.
	Policy func(*thread.Header) string
}

// Index is safe for concurrent use.
type Index struct {
	opts   Options
	shards []*shard

	mu   sync.Mutex
	made *making // nil until the first query
	last *making // the latest that was begun, forgotten or not
}

// making is a reading of all threads; err holds once done is closed.
type making struct {
	after *making // the one before it, which ends first; nil once it has
	done  chan struct{}
	err   error
}

// New returns an index that has read nothing.
func New(o Options) *Index {
	x := &Index{opts: o}
	for range o.Partitions {
		x.shards = append(x.shards, &shard{})
	}
	return x
}

// Wrote notes what a batch of a partition has written, once it is applied.
func (x *Index) Wrote(partition int, headers iter.Seq[*thread.Header]) {
	if partition >= len(x.shards) {
		return // the partition of strays, which has no threads
	}
	s := x.shards[partition]
	if !s.takes.Load() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.takes.Load() {
		return
	}
	for h := range headers {
		s.put(h, x.opts.Policy, false)
	}
}

// Ready returns when all threads are in the index, or ctx ends; the reading goes on then.
func (x *Index) Ready(ctx context.Context) error {
	_, err := x.ready(ctx)
	return err
}

// with calls look with all threads in the index, and again where they were forgotten meanwhile.
func (x *Index) with(ctx context.Context, look func() error) error {
	for {
		m, err := x.ready(ctx)
		if err == nil {
			err = look()
		}
		x.mu.Lock()
		same := x.made == m
		x.mu.Unlock()
		if err != nil || same {
			return err
		}
	}
}

func (x *Index) ready(ctx context.Context) (*making, error) {
	x.mu.Lock()
	m := x.made
	if m == nil {
		m = &making{after: x.last, done: make(chan struct{})}
		x.made, x.last = m, m
		go x.read(m)
	}
	x.mu.Unlock()
	select {
	case <-m.done:
		return m, m.err
	case <-ctx.Done():
		return m, ctx.Err()
	}
}

// Forget has the next query read all threads again: under other policies, say. It waits for nothing.
func (x *Index) Forget() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.made = nil
}

// forgotten reports whether no query looks at what a reading makes.
func (x *Index) forgotten(m *making) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.made != m
}

func (x *Index) read(m *making) {
	defer close(m.done)
	if m.after != nil { // two at once would take shards from each other
		<-m.after.done
		m.after = nil
	}
	if x.forgotten(m) {
		return
	}
	for id, s := range x.shards {
		s.begin()
		err := x.opts.Read(id, func(h *thread.Header) (bool, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.put(h, x.opts.Policy, true)
			return true, nil
		})
		if err == nil {
			continue
		}
		m.err = fmt.Errorf("list threads: %w", err)
		x.mu.Lock()
		if x.made == m {
			x.made = nil // the next query tries again
		}
		x.mu.Unlock()
		return
	}
}
