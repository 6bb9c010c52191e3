package processor

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"precis/internal/fold"
	"precis/state"
)

// Bounds of one slice of background work in a lane, which holds up events and other work.
const (
	sweepRows  = 64 // a millisecond if nothing is stale
	expireRows = 64
	// workAtOnce is how many partitions compact idle threads, or renew summaries, at once: a slice may take as long as
	// a compaction.
	workAtOnce = 4
	// unreadRest is how long a chore leaves a partition alone in which it has waited in vain for the rows of a parked thread: while it waits, nothing else of the partition goes on.
	unreadRest = 15 * time.Second
)

// chore is one kind of work that no event triggers. Chores take turns: one slice of each, in the partitions whose turn
// it is, so that none waits for the end of another.
type chore struct {
	due    func(part *partition, now time.Time) bool // costs nothing if nothing is due
	slice  func(ctx context.Context, part *partition) error
	atOnce int               // partitions; 0: all
	next   int               // the partition whose turn it is
	rests  map[int]time.Time // until when partitions are left alone in which it waited for rows of parked threads in vain; nil: what failed is not due again
}

// chores lists the background work. Expiry comes first: an agent must not receive what is too old.
func (p *Processor) chores() []*chore {
	return []*chore{
		{due: func(part *partition, now time.Time) bool { return part.part.ExpiryDue(now) }, slice: p.expire, rests: map[int]time.Time{}},
		{due: func(part *partition, _ time.Time) bool { return part.renewals.waiting() }, slice: p.renew, atOnce: workAtOnce},
		{due: func(part *partition, now time.Time) bool { return part.part.IdleDue(now) }, slice: p.lookIdle, atOnce: workAtOnce},
		{due: func(part *partition, _ time.Time) bool { return part.unswept.Load() }, slice: p.sweep, atOnce: 1, rests: map[int]time.Time{}},
	}
}

// tend does the work that no event triggers: it compares summaries with a changed configuration, invalidates expired
// ones, compacts idle threads and recomputes requested summaries. It ends with ctx.
func (p *Processor) tend(ctx context.Context) {
	tick := time.NewTicker(p.opts.Tend)
	defer tick.Stop()
	select {
	case <-p.Ready():
	case <-ctx.Done():
		return
	}
	chores := p.chores()
	for {
		p.tendAll(ctx, chores)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// Tended returns after another complete round of the work that no event triggers: summaries made stale by a
// configuration, expired ones, idle threads.
func (p *Processor) Tended(ctx context.Context) error {
	select {
	case <-p.Ready():
		p.tendAll(ctx, p.chores())
	case <-ctx.Done():
	}
	return ctx.Err()
}

// tendAll lets the chores take turns until nothing is due. A partition that fails waits for the next round.
func (p *Processor) tendAll(ctx context.Context, chores []*chore) {
	p.tending.Lock() // one round at a time
	defer p.tending.Unlock()
	failed := make([]map[*partition]bool, len(chores))
	for i := range failed {
		failed[i] = map[*partition]bool{}
	}
	for busy := true; busy && ctx.Err() == nil; {
		busy = false
		for i, c := range chores {
			if parts := c.turn(p.parts(), p.opts.Now(), failed[i]); len(parts) > 0 {
				busy = true
				p.slices(ctx, c, parts, failed[i])
			}
		}
		if busy && pause(ctx, p.opts.SweepPause) != nil {
			return
		}
	}
}

// turn returns the partitions that a chore works on next, round-robin.
func (c *chore) turn(parts []*partition, now time.Time, failed map[*partition]bool) (list []*partition) {
	for n := range parts {
		at := (c.next + n) % len(parts)
		if part := parts[at]; !failed[part] && part.current.Load() && !now.Before(c.rests[part.id]) && c.due(part, now) {
			list = append(list, part)
		}
		if len(list) == c.atOnce && c.atOnce > 0 {
			c.next = at + 1
			break
		}
	}
	return list
}

// slices runs one slice of a chore in each of the partitions, and returns when all are done.
func (p *Processor) slices(ctx context.Context, c *chore, parts []*partition, failed map[*partition]bool) {
	errs := make([]error, len(parts))
	var wg sync.WaitGroup
	for i, part := range parts {
		wg.Go(func() { errs[i] = c.slice(ctx, part) })
	}
	wg.Wait()
	for i, part := range parts {
		if errs[i] == nil {
			continue
		}
		failed[part] = true
		if c.rests != nil && errors.Is(errs[i], state.ErrParked) {
			c.rests[part.id] = p.opts.Now().Add(unreadRest)
		}
		if ctx.Err() == nil && !errors.Is(errs[i], errEnding) {
			part.log.Warn().Err(errs[i]).Msg("background work failed, and is tried again")
		}
	}
}

// sweep compares some of the partition's summaries with the configuration in force.
func (p *Processor) sweep(ctx context.Context, part *partition) error {
	return part.call(ctx, func() error {
		swept, err := part.fold.Sweep(sweepRows, part.now())
		if err != nil {
			return err
		}
		p.metrics.sweep(part.id, swept)
		if swept.Done {
			part.unswept.Store(false)
		}
		return nil
	})
}

// expire invalidates some of the summaries that are older than their policy allows.
func (p *Processor) expire(ctx context.Context, part *partition) error {
	return part.call(ctx, func() error { return part.fold.ExpireDue(expireRows, part.now()) })
}

// lookIdle checks one thread that may have been idle long enough to be compacted.
func (p *Processor) lookIdle(ctx context.Context, part *partition) error {
	return part.call(ctx, func() error {
		found, fired, err := part.fold.LookIdleDue(ctx, part.now())
		if found {
			p.metrics.idleLook(fired, err)
		}
		return err
	})
}

// renew recomputes some of the stale summaries of a requested thread.
func (p *Processor) renew(ctx context.Context, part *partition) error {
	r, ok := part.renewals.take()
	if !ok {
		return nil
	}
	more, err := part.renew(ctx, r)
	if more {
		part.renewals.add(renewal{thread: r.thread}) // at the end of the queue
	}
	return err
}

// renew recomputes some of a thread's stale summaries, and reports whether more of them are left.
func (p *partition) renew(ctx context.Context, r renewal) (more bool, err error) {
	return answer(ctx, p, func() (bool, error) { return p.fold.Renew(ctx, r.thread, r.expired, p.now()) })
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (m *metrics) sweep(partition int, s fold.Swept) {
	m.swept.WithLabelValues("looked_at").Add(float64(s.Looked))
	m.swept.WithLabelValues("stale").Add(float64(s.Stale))
	m.sweepLeft.WithLabelValues(strconv.Itoa(partition)).Set(float64(s.Left))
}

func (m *metrics) idleLook(fired bool, err error) {
	outcome := "not_due"
	switch {
	case err != nil:
		outcome = "failed"
	case fired:
		outcome = "compacted"
	}
	m.idleLooks.WithLabelValues(outcome).Inc()
}

// maxRenewals bounds the waiting threads of a partition; a thread beyond that is dropped until it is requested again.
const maxRenewals = 1024

// renewal is a thread whose stale summaries were requested. Expired ones may not be known to be stale yet.
type renewal struct {
	thread  string
	expired []string
}

// renewals are the threads of a partition that wait to be renewed, in the order of the requests.
type renewals struct {
	mu   sync.Mutex
	list []renewal
}

// add queues a thread, once.
func (r *renewals) add(next renewal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.list, func(have renewal) bool { return have.thread == next.thread })
	switch {
	case i >= 0:
		r.list[i].expired = next.expired // as of now
	case len(r.list) < maxRenewals:
		r.list = append(r.list, next)
	}
}

// take removes the next thread from the queue.
func (r *renewals) take() (next renewal, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.list) == 0 {
		return next, false
	}
	next = r.list[0]
	r.list = slices.Delete(r.list, 0, 1)
	return next, true
}

func (r *renewals) waiting() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.list) > 0
}
