package events

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Codes of nats-server's API errors that nats.go does not name.
const (
	codeMessageTooLarge = 10054 // the message exceeds the stream's maximum
	codeBatchesDisabled = 10174 // the stream does not allow atomic batches
)

// run sends accepted events, one write at a time, until the context ends; then it drops the rest.
func (p *Publisher) run(ctx context.Context) {
	defer close(p.stopped)
	defer p.sender.close()
	most := p.opts.BatchEvents
	for {
		batch := p.queue.take(ctx, most)
		if len(batch) == 0 {
			break
		}
		if err := p.deliver(ctx, batch); isAPIError(err, codeBatchesDisabled) {
			most = 1
		}
	}
	// No more events arrive: Close has closed the queue, or the connection is closed.
	p.settle(p.queue.drop(), 0, ErrPublisherClosed)
}

// deliver sends a batch until every event in it is settled. It returns the server's error for the batch as a whole.
func (p *Publisher) deliver(ctx context.Context, batch []*pending) error {
	last, err := p.untilAnswered(ctx, batch)
	if err != nil && len(batch) > 1 && ctx.Err() == nil {
		// The error may concern the batch or a single event in it: sent alone, each event gets its own answer.
		for i := range batch {
			_ = p.deliver(ctx, batch[i:i+1])
		}
		return err
	}
	p.settle(batch, last, err)
	return err
}

// settle completes a batch's receipts. The server stores a batch contiguously, so its last sequence gives them all.
func (p *Publisher) settle(batch []*pending, last uint64, err error) {
	if err == nil {
		p.mu.Lock()
		p.lastSeq = max(p.lastSeq, last)
		p.mu.Unlock()
	}
	for i, ev := range batch {
		p.release(ev)
		ev.data = nil // the queue remembers its newest event
		if err != nil {
			ev.settle(0, err)
		} else {
			ev.settle(last-uint64(len(batch)-1-i), nil)
		}
	}
	if errors.Is(err, ErrPublisherClosed) {
		p.queue.gaveUp(len(batch))
	}
}

// untilAnswered sends a batch until the server stores it or refuses it permanently. It fails with ErrRefused, with
// ErrPublisherClosed, or, for more than one event, with any answer that a single event may have caused.
func (p *Publisher) untilAnswered(ctx context.Context, batch []*pending) (last uint64, err error) {
	for attempt := 0; ; attempt++ {
		if err := p.sender.connected(ctx); err != nil {
			return 0, fmt.Errorf("%w: %w", ErrPublisherClosed, err)
		}
		last, err := p.sender.send(ctx, batch)
		if err == nil {
			p.note(nil)
			return last, nil
		}
		if ctx.Err() != nil {
			return 0, ErrPublisherClosed
		}
		var api *jetstream.APIError
		refused := errors.Is(err, nats.ErrMaxPayload) || isAPIError(err, codeMessageTooLarge)
		switch {
		case len(batch) > 1 && (refused || errors.As(err, &api)):
			return 0, err
		case refused:
			return 0, p.refuse(err)
		}
		p.note(err)
		if !errors.Is(err, errLost) { // after a lost connection, connected waits
			pause(ctx, p.opts.RetryWait<<min(attempt, 5))
		}
	}
}

func (p *Publisher) refuse(err error) error {
	err = fmt.Errorf("%w: %w", ErrRefused, err)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refused == nil {
		p.refused = err
	}
	return err
}

// note records why the buffer does not drain; nil when it does.
func (p *Publisher) note(err error) {
	p.mu.Lock()
	p.lastErr = err
	p.mu.Unlock()
	if err != nil {
		p.opts.Warn(err)
	}
}

func isAPIError(err error, code jetstream.ErrorCode) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == code
}

// queue holds accepted events in order, until they are settled.
type queue struct {
	linger time.Duration
	wake   chan struct{} // holds one token when take has to look again

	mu      sync.Mutex
	closed  bool
	waiting []*pending
	due     time.Time // when the oldest waiting event has lingered
	bytes   int       // of the waiting events
	last    *pending  // the newest ever accepted
	lost    int       // dropped by drop
}

func newQueue(linger time.Duration) *queue {
	return &queue{linger: linger, wake: make(chan struct{}, 1)}
}

// put adds an event and reports whether the queue is still open.
func (q *queue) put(ev *pending) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	if len(q.waiting) == 0 && q.linger > 0 {
		q.due = time.Now().Add(q.linger)
	}
	q.waiting, q.last = append(q.waiting, ev), ev
	q.bytes += len(ev.data)
	q.lookAgain()
	return true
}

func (q *queue) lookAgain() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// hurry ends the linger of the waiting events.
func (q *queue) hurry() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) > 0 && !q.due.IsZero() {
		q.due = time.Time{}
		q.lookAgain()
	}
}

// take removes the oldest events, at most most of them and about batchBytes, once there is one that has lingered. It
// returns nil when the context ends.
func (q *queue) take(ctx context.Context, most int) []*pending {
	var lingered <-chan time.Time
	for {
		batch, linger := q.head(most)
		if len(batch) > 0 {
			return batch
		}
		if linger > 0 {
			lingered = time.After(linger)
		}
		select {
		case <-q.wake:
		case <-lingered:
		case <-ctx.Done():
			return nil
		}
	}
}

// head removes what take returns, or says how long that still lingers.
func (q *queue) head(most int) (batch []*pending, linger time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.due.IsZero() && len(q.waiting) < most && q.bytes < batchBytes {
		if linger = time.Until(q.due); linger > 0 {
			return nil, linger
		}
	}
	n, size := 0, 0
	for n < min(most, len(q.waiting)) && (n == 0 || size+len(q.waiting[n].data) <= batchBytes) {
		size += len(q.waiting[n].data)
		n++
	}
	batch = q.waiting[:n:n]
	q.waiting, q.bytes = q.waiting[n:], q.bytes-size
	if len(q.waiting) == 0 {
		q.waiting = nil // lets settled events be freed
	}
	q.due = time.Time{} // what is left has waited for a write
	return batch, 0
}

// drop discards the waiting events.
func (q *queue) drop() []*pending {
	q.mu.Lock()
	defer q.mu.Unlock()
	rest := q.waiting
	q.waiting, q.bytes = nil, 0
	return rest
}

func (q *queue) gaveUp(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lost += n
}

func (q *queue) abandoned() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.lost
}

func (q *queue) newest() *pending {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.last
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.due = time.Time{}
	q.lookAgain()
}
