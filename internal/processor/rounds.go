package processor

import (
	"context"
	"sync"
)

// rounds counts the rounds of background work over all partitions; callers may wait for the next ones.
type rounds struct {
	wanted chan struct{} // capacity 1: a caller waits

	mu      sync.Mutex
	n       uint64
	changed chan struct{} // closed at the next change
}

func newRounds() *rounds {
	return &rounds{wanted: make(chan struct{}, 1), changed: make(chan struct{})}
}

func (r *rounds) done() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n++
	close(r.changed)
	r.changed = make(chan struct{})
}

// whole returns after a complete round that began after the call.
func (r *rounds) whole(ctx context.Context) error {
	r.mu.Lock()
	until := r.n + 2 // one that is under way began before the call
	r.mu.Unlock()
	for {
		r.mu.Lock()
		n, changed := r.n, r.changed
		r.mu.Unlock()
		if n >= until {
			return nil
		}
		select {
		case r.wanted <- struct{}{}:
		default:
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Tended returns after another complete round of the work that no event triggers: summaries made stale by a
// configuration, expired ones, idle threads.
func (p *Processor) Tended(ctx context.Context) error { return p.rounds.whole(ctx) }
