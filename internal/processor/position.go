package processor

import (
	"context"
	"sync"
)

// position is the last durable sequence; others wait for it.
type position struct {
	mu      sync.Mutex
	last    uint64
	applied uint64        // batches visible to readers
	durable uint64        // how many of these the disk has
	changed chan struct{} // closed at the next change; nil if nothing waits
}

// ahead announces a batch before it is visible: a reader that sees the batch must find it counted.
func (p *position) ahead() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.applied++
}

// set notes that the next batch is durable, and up to which sequence.
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

// now is the sequence up to which everything is durable.
func (p *position) now() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

// wait returns when everything up to a sequence is durable.
func (p *position) wait(ctx context.Context, seq uint64) error {
	return p.until(ctx, func() (bool, error) { return p.last >= seq, nil })
}

// seen returns when everything that was visible before the call is durable.
func (p *position) seen(ctx context.Context) error {
	p.mu.Lock()
	applied := p.applied
	p.mu.Unlock()
	return p.until(ctx, func() (bool, error) { return p.durable >= applied, nil })
}

// until returns when holds does; it calls holds after every commit.
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
