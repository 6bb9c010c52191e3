package processor

import (
	"slices"
	"sync"
)

// maxRenewals is how many threads of a partition wait at most; another request for a thread beyond is heard later.
const maxRenewals = 1024

// renewal is a thread whose stale summaries somebody needs. Those that have expired may not be known to be stale yet.
type renewal struct {
	thread  string
	expired []string
}

// renewals are the threads of a partition that wait to be renewed, in the order in which somebody asked for them.
type renewals struct {
	mu   sync.Mutex
	list []renewal
}

// add has a thread wait, once.
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

// take is the thread whose turn it is.
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
