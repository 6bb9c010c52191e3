package processor

import (
	"context"
	"errors"
	"strconv"
	"time"

	"precis/internal/fold"
	"precis/state"
)

// Bounds of one turn that no event called for: what comes behind it waits for it.
const (
	sweepRows   = 64 // a millisecond where nothing is stale
	expireRows  = 64
	idleThreads = 64
)

// tend does what no event calls for, one partition after the other so that all of them together keep to one
// rate: it holds a changed configuration against what was made, and asks the clock what expired and who is
// idle. It ends with ctx.
func (p *Processor) tend(ctx context.Context) {
	tick := time.NewTicker(p.opts.Tend)
	defer tick.Stop()
	select {
	case <-p.Ready():
	case <-ctx.Done():
		return
	}
	for {
		for _, part := range p.parts {
			if err := p.tendTo(ctx, part); err != nil && ctx.Err() == nil && !errors.Is(err, errEnding) {
				part.log.Warn().Err(err).Msg("what is stale or idle is looked for again")
			}
		}
		p.rounds.done()
		select {
		case <-tick.C:
		case <-p.rounds.wanted:
		case <-ctx.Done():
			return
		}
	}
}

func (p *Processor) tendTo(ctx context.Context, part *partition) error {
	// One kind of work that fails may not keep the others from being done.
	return errors.Join(p.sweep(ctx, part), p.expire(ctx, part), p.lookIdle(ctx, part), p.renew(ctx, part))
}

// sweep holds the configuration in force against the partition's summaries, until that is done.
func (p *Processor) sweep(ctx context.Context, part *partition) error {
	view, left := p.store.View(part.id), -1
	for part.unswept.Load() {
		var swept fold.Swept
		err := part.call(ctx, func() (err error) {
			if swept, err = part.fold.Sweep(sweepRows, part.now()); err == nil && swept.Done {
				part.unswept.Store(false)
			}
			return err
		})
		if err != nil {
			return err
		}
		if left < 0 && !swept.Done {
			if left, err = view.CountSummaries(swept.After); err != nil {
				return err
			}
			left += swept.Looked
		}
		left = max(left-swept.Looked, 0)
		p.metrics.sweep(part.id, swept, left)
		if swept.Done {
			return nil
		}
		if err := pause(ctx, p.opts.SweepPause); err != nil {
			return err
		}
	}
	return nil
}

// expire makes stale what is older than its policy allows.
func (p *Processor) expire(ctx context.Context, part *partition) error {
	for {
		refs, err := p.store.View(part.id).Expired(part.now(), expireRows)
		if err != nil || len(refs) == 0 {
			return err
		}
		if err := part.call(ctx, func() error { return part.expire(refs) }); err != nil {
			return err
		}
		if err := pause(ctx, p.opts.SweepPause); err != nil {
			return err
		}
	}
}

func (p *partition) expire(refs []state.Ref) error {
	for _, ref := range refs {
		if _, err := p.fold.Expire(ref, p.now()); err != nil {
			return err
		}
	}
	return nil
}

// lookIdle compacts the threads that have been idle for long enough.
func (p *Processor) lookIdle(ctx context.Context, part *partition) error {
	names, err := p.store.View(part.id).IdleDue(part.now(), idleThreads)
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range names {
		errs = append(errs, part.call(ctx, func() error { // what fails is looked at again
			fired, err := part.fold.LookIdle(ctx, name, part.now())
			p.metrics.idleLook(fired, err)
			return err
		}))
	}
	return errors.Join(errs...)
}

// renewal is a thread whose stale summaries somebody needs. Those that have expired may not be known to be stale yet.
type renewal struct {
	thread  string
	expired []string
}

// renew makes again what waits in the threads that somebody has asked for.
func (p *Processor) renew(ctx context.Context, part *partition) error {
	for range len(part.asked) {
		asked := <-part.asked
		for more := true; more; {
			var err error
			if more, err = part.renew(ctx, asked); err != nil {
				return err
			}
		}
	}
	return nil
}

// renew makes again some of what waits in a thread, and says whether more of it is left.
func (p *partition) renew(ctx context.Context, r renewal) (more bool, err error) {
	return p.inPart(ctx, func() (bool, error) { return p.fold.Renew(ctx, r.thread, r.expired, p.now()) })
}

// inPart has a part of some work done; more says that some is left.
func (p *partition) inPart(ctx context.Context, work func() (more bool, err error)) (more bool, err error) {
	answer := make(chan bool, 1) // the lane may still work on it when ctx ends
	err = p.call(ctx, func() error {
		more, err := work()
		answer <- more
		return err
	})
	if err != nil {
		return false, err
	}
	return <-answer, nil
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

func (m *metrics) sweep(partition int, s fold.Swept, left int) {
	m.swept.WithLabelValues("looked_at").Add(float64(s.Looked))
	m.swept.WithLabelValues("stale").Add(float64(s.Stale))
	m.sweepLeft.WithLabelValues(strconv.Itoa(partition)).Set(float64(left))
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
