package processor

import (
	"sync"

	"precis/internal/jobs"
)

// runners have jobs done by the runner of the configuration in force. One of an earlier configuration is closed when no
// job uses it any more.
type runners struct {
	mu   sync.Mutex
	last *lent
	open int // those that are not closed
}

// lent is a runner and how many use it.
type lent struct {
	*jobs.Runner
	users   int
	retired bool // another one has its place, or the processor ends
}

// use has jobs done by a runner from here on; those that are under way go on with the one they have.
func (r *runners) use(next *jobs.Runner) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.retire()
	r.last = &lent{Runner: next}
	r.open++
}

// take is the runner to use; done says that it is used no more.
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

// close retires the last runner; no job is begun any more.
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
