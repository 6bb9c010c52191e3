package processor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"precis/internal/broker"
	"precis/internal/service"
)

// watched is a state that others wait for. Its owner changes it under its lock.
type watched struct {
	mu      sync.Mutex
	changed chan struct{} // closed at the next change; nil if nothing waits
}

// tell has those that wait look again. The lock is held.
func (w *watched) tell() {
	if w.changed != nil {
		close(w.changed)
		w.changed = nil
	}
}

// until returns when holds does, or giveUp is closed: then ok is false. It calls holds under the lock, again after each change.
func (w *watched) until(giveUp <-chan struct{}, holds func() (bool, error)) (ok bool, err error) {
	for {
		w.mu.Lock()
		ok, err := holds()
		if !ok && err == nil && w.changed == nil {
			w.changed = make(chan struct{})
		}
		changed := w.changed
		w.mu.Unlock()
		if ok || err != nil {
			return ok, err
		}
		select {
		case <-changed:
		case <-giveUp:
			return false, nil
		}
	}
}

// position is the last durable sequence; others wait for it.
type position struct {
	watched
	last    uint64
	applied uint64 // batches visible to readers
	durable uint64 // how many of these the disk has
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
	p.tell()
}

// now is the sequence up to which everything is durable.
func (p *position) now() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

// wait returns when everything up to a sequence is durable.
func (p *position) wait(ctx context.Context, seq uint64) error {
	return p.await(ctx, func() (bool, error) { return p.last >= seq, nil })
}

// seen returns when everything that was visible before the call is durable.
func (p *position) seen(ctx context.Context) error {
	p.mu.Lock()
	applied := p.applied
	p.mu.Unlock()
	return p.await(ctx, func() (bool, error) { return p.durable >= applied, nil })
}

// await returns when holds does; it calls holds after every commit.
func (p *position) await(ctx context.Context, holds func() (bool, error)) error {
	ok, err := p.until(ctx.Done(), holds)
	if !ok && err == nil {
		return context.Cause(ctx)
	}
	return err
}

// askLogAfter is how long a request waits for its own write before it queries the log: most are durable by then.
const askLogAfter = 10 * time.Millisecond

// wait returns when all that EVENTS holds for a partition up to a sequence is durable, or ctx ends. A position does
// not advance while only other partitions have events, so wait asks the log for the last event of the partition.
func (p *Processor) wait(ctx context.Context, part *partition, seq uint64) error {
	soon, cancel := context.WithTimeout(ctx, askLogAfter)
	defer cancel()
	if part.position.wait(soon, seq) == nil {
		return nil
	}
	for at := part.position.now(); at < seq; at = part.position.now() {
		next, err := p.nextOf(ctx, part, at, seq)
		if err != nil || next > seq {
			return err
		}
		if err := part.position.wait(ctx, next); err != nil {
			return err
		}
	}
	return nil
}

// nextOf is the next event that EVENTS holds for a partition after a position; beyond all sequences if there is none.
// If the log ends before seq it returns a service.BeyondEnd: no client has an ack of that event.
func (p *Processor) nextOf(ctx context.Context, part *partition, at, seq uint64) (uint64, error) {
	// Read the end first: the query after it sees everything stored up to there.
	last, err := p.events.LastSeq(ctx)
	if err != nil {
		return 0, fmt.Errorf("wait for event %d: %w", seq, err)
	}
	if last < seq {
		return 0, &service.BeyondEnd{Seq: seq, Last: last}
	}
	// What was published to a literal wildcard subject is stored outside the partitions, and belongs to no thread in
	// them.
	m, err := p.events.Next(ctx, broker.PartitionLane(part.id).Filters[0], at+1)
	if errors.Is(err, broker.ErrGone) {
		return math.MaxUint64, nil
	}
	if err != nil {
		return 0, fmt.Errorf("wait for event %d: %w", seq, err)
	}
	return m.Seq, nil
}
