package events

import (
	"context"
	"sync"
)

// queue holds accepted events in order, until they are settled.
type queue struct {
	wake chan struct{} // holds one token while events wait

	mu      sync.Mutex
	closed  bool
	waiting []*pending
	last    *pending // the newest ever accepted
	lost    int      // dropped by drop
}

func newQueue() *queue { return &queue{wake: make(chan struct{}, 1)} }

// put adds an event and reports whether the queue is still open.
func (q *queue) put(ev *pending) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.waiting, q.last = append(q.waiting, ev), ev
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return true
}

// take removes the oldest events, at most most of them and about batchBytes, once there is one. It returns nil when
// the context ends.
func (q *queue) take(ctx context.Context, most int) []*pending {
	for {
		if batch := q.head(most); len(batch) > 0 {
			return batch
		}
		select {
		case <-q.wake:
		case <-ctx.Done():
			return nil
		}
	}
}

func (q *queue) head(most int) []*pending {
	q.mu.Lock()
	defer q.mu.Unlock()
	n, size := 0, 0
	for n < min(most, len(q.waiting)) && (n == 0 || size+len(q.waiting[n].data) <= batchBytes) {
		size += len(q.waiting[n].data)
		n++
	}
	batch := q.waiting[:n:n]
	q.waiting = q.waiting[n:]
	if len(q.waiting) == 0 {
		q.waiting = nil // lets settled events be freed
	}
	return batch
}

// drop discards the waiting events.
func (q *queue) drop() []*pending {
	q.mu.Lock()
	defer q.mu.Unlock()
	rest := q.waiting
	q.waiting = nil
	return rest
}

func (q *queue) gaveUp(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lost += n
}

func (q *queue) abandoned() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.lost
}

func (q *queue) newest() *pending {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.last
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
}
