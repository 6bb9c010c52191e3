package processor

import (
	"context"
	"sync"
)

// rounds counts how often all partitions were tended to; others may wait for the next ones.
type rounds struct {
	wanted chan struct{} // capacity 1: somebody waits

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

// whole returns when a round has been made that began after the call.
func (r *rounds) whole(ctx context.Context) error {
	r.mu.Lock()
	until := r.n + 2 // the one that may be under way began before
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

// Tended returns when everything has been looked at once more that no event calls for: what a configuration
// has made stale, what expired, who is idle.
func (p *Processor) Tended(ctx context.Context) error { return p.rounds.whole(ctx) }
