package processor

import "sync"

// readiness tracks whether every lane has applied what the log held when the processor started.
type readiness struct {
	mu      sync.Mutex
	missing map[string]bool
	done    chan struct{} // closed when nothing is missing
}

func newReadiness(lanes []string) *readiness {
	r := &readiness{missing: make(map[string]bool, len(lanes)), done: make(chan struct{})}
	for _, lane := range lanes {
		r.missing[lane] = true
	}
	return r
}

func (r *readiness) reached(lane string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.missing[lane] {
		return
	}
	delete(r.missing, lane)
	if len(r.missing) == 0 {
		close(r.done)
	}
}

// ready reports whether the log is caught up.
func (r *readiness) ready() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}
