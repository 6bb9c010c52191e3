package cluster

import (
	"sync"
	"time"
)

// DefaultLease is how long others wait for a member before they take what it has.
const DefaultLease = 1200 * time.Millisecond

// lease is up to when a member may answer for what it has.
type lease struct {
	time time.Duration
	now  func() time.Time // with a monotonic reading

	mu    sync.Mutex
	until time.Time
}

// renewed extends the lease by a write that has succeeded and was begun at a time.
func (l *lease) renewed(began time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if until := began.Add(l.time * 3 / 4); until.After(l.until) {
		l.until = until
	}
}

// end ends the lease now.
func (l *lease) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until = time.Time{}
}

// holds reports whether the lease has not ended.
func (l *lease) holds() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now().Before(l.until)
}
