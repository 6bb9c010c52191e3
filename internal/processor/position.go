package processor

import (
	"context"
	"sync"
)

// position is the last sequence that is durable; others wait for it.
type position struct {
	mu      sync.Mutex
	last    uint64
	applied uint64        // batches that everybody sees
	durable uint64        // of these, how many the disk has
	changed chan struct{} // closed at the next change; nil where nobody waits
}

// ahead says that another batch is about to be seen. It comes first: who sees the batch must find it counted.
func (p *position) ahead() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.applied++
}

// set says that the next batch is durable, and up to where that is.
func (p *position) set(last uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = last
	p.durable++
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
}

// now is up to where everything is durable.
func (p *position) now() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

// wait returns when everything up to a sequence is durable.
func (p *position) wait(ctx context.Context, seq uint64) error {
	return p.until(ctx, func() (bool, error) { return p.last >= seq, nil })
}

// seen returns when all that can have been read before the call is durable.
func (p *position) seen(ctx context.Context) error {
	p.mu.Lock()
	applied := p.applied
	p.mu.Unlock()
	return p.until(ctx, func() (bool, error) { return p.durable >= applied, nil })
}

// until returns when holds does, which is asked after every commit.
func (p *position) until(ctx context.Context, holds func() (bool, error)) error {
	for {
		p.mu.Lock()
		ok, err := holds()
		if ok || err != nil {
			p.mu.Unlock()
			return err
		}
		if p.changed == nil {
			p.changed = make(chan struct{})
		}
		changed := p.changed
		p.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
