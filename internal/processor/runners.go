package processor

import (
	"sync"

	"precis/internal/jobs"
)

// runners provides the runner of the configuration in force. The runner of an earlier one is closed when no job uses
// it any more.
type runners struct {
	mu   sync.Mutex
	last *lent
	open int // those not closed yet
}

// lent is a runner and the number of its users.
type lent struct {
	*jobs.Runner
	users   int
	retired bool // replaced, or the processor ends
}

// use gives new jobs a runner; jobs under way keep theirs.
func (r *runners) use(next *jobs.Runner) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.retire()
	r.last = &lent{Runner: next}
	r.open++
}

// take returns the current runner; done releases it.
func (r *runners) take() (runner *jobs.Runner, done func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.last
	l.users++
	return l.Runner, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		l.users--
		r.release(l)
	}
}

// close retires the last runner; no job starts after that.
func (r *runners) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.retire()
}

func (r *runners) retire() {
	if r.last == nil || r.last.retired {
		return
	}
	r.last.retired = true
	r.release(r.last)
}

func (r *runners) release(l *lent) {
	if l.retired && l.users == 0 {
		l.Ladder.Close()
		r.open--
	}
}
