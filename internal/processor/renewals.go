package processor

import (
	"slices"
	"sync"
)

// maxRenewals bounds the waiting threads of a partition; a thread beyond that is dropped until it is requested again.
const maxRenewals = 1024

// renewal is a thread whose stale summaries were requested. Expired ones may not be known to be stale yet.
type renewal struct {
	thread  string
	expired []string
}

// renewals are the threads of a partition that wait to be renewed, in the order of the requests.
type renewals struct {
	mu   sync.Mutex
	list []renewal
}

// add queues a thread, once.
func (r *renewals) add(next renewal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.list, func(have renewal) bool { return have.thread == next.thread })
	switch {
	case i >= 0:
		r.list[i].expired = next.expired // as of now
	case len(r.list) < maxRenewals:
		r.list = append(r.list, next)
	}
}

// take removes the next thread from the queue.
func (r *renewals) take() (next renewal, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.list) == 0 {
		return next, false
	}
	next = r.list[0]
	r.list = slices.Delete(r.list, 0, 1)
	return next, true
}

func (r *renewals) waiting() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.list) > 0
}
