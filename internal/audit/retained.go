package audit

import (
	"slices"
	"sync"

	"precis/events"
	"precis/internal/thread"
	"precis/state"
)

// retained says which threads the log no longer holds from their beginning. Where no store is at hand
// nobody can tell a thread that has lost its first messages from one that begins later: then it may be any.
type retained struct {
	first      uint64       // the first sequence that EVENTS holds
	store      *state.Store // knows where threads began; nil where there is none
	partitions int          // of the store, the strays' included

	mu   sync.Mutex
	last struct { // one thread's findings come together
		thread string
		cut    bool
	}
}

// byState are the checks that hold a record or a row against the state of its thread: what was there
// before it must all have been folded. The others hold records against each other.
var byState = []string{
	CheckTrigger, CheckMissed, CheckInvalidations, CheckSources, CheckRemade, CheckCounter, CheckStore,
}

// excuses says that a finding may come from what retention has taken.
func (r *retained) excuses(f Finding) bool {
	return r.first > 1 && slices.Contains(byState, f.Check) && r.cut(string(f.Thread))
}

// rejects says the same of a rejection that depends on what came before in its thread.
func (r *retained) rejects(name, code string) bool {
	return r.first > 1 && (code == events.CodeUnknownMessage || code == events.CodeMessageConflict) && (name == "" || r.cut(name))
}

// cut says that a thread has lost its beginning, or may have. What can't be read shows elsewhere.
func (r *retained) cut(name string) bool {
	if r.first <= 1 || name == "" {
		return false
	}
	if r.store == nil {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last.thread != name {
		r.last.thread, r.last.cut = name, r.began(name)
	}
	return r.last.cut
}

// began says that the store knows a thread from before the log's first event.
func (r *retained) began(name string) bool {
	for id := range r.partitions {
		view := r.store.View(id)
		h, err := view.Header(name)
		if err != nil || h == nil {
			continue
		}
		rows, err := view.Messages(name, 1, 2)
		if err != nil || len(rows) == 0 {
			return h.EventSeq < r.first
		}
		return rows[0].FirstSeq < r.first
	}
	return false
}

// without leaves out the problems of threads that have lost their beginning.
func (r *retained) without(report func(state.Problem)) func(state.Problem) {
	return func(p state.Problem) {
		if !r.cut(p.Thread) {
			report(p)
		}
	}
}

// count is how many threads of the store have lost their beginning.
func (r *retained) count() (n uint64, err error) {
	for id := range r.partitions {
		err := r.store.View(id).Headers(func(h *thread.Header) (bool, error) {
			if r.cut(h.Thread) {
				n++
			}
			return true, nil
		})
		if err != nil {
			return n, err
		}
	}
	return n, nil
}
