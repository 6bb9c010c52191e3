package audit

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"precis/events"
	"precis/handlers"
	"precis/internal/broker"
	"precis/internal/content"
	"precis/internal/fold"
	"precis/state"
)

// commitEvents is how many events go into one batch of the scratch store.
const commitEvents = 4096

// lane is one partition of a run. Only one goroutine at a time uses it.
type lane struct {
	id    int
	part  *state.Partition
	fold  *fold.Fold
	watch watch // nil without checks
	upTo  uint64
	last  uint64 // the last event folded
	dirty int
	// handed is up to which event it has handed over what forks begin with.
	handed reached
}

// reached is a sequence that others wait for.
type reached struct {
	mu   sync.Mutex
	last uint64
	more chan struct{} // closed when last grows; nil if nothing waits
}

func (r *reached) set(seq uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = seq
	if r.more != nil {
		close(r.more)
		r.more = nil
	}
}

// wait returns when the sequence is reached, or ctx ends.
func (r *reached) wait(ctx context.Context, seq uint64) error {
	for {
		r.mu.Lock()
		if r.last >= seq {
			r.mu.Unlock()
			return nil
		}
		if r.more == nil {
			r.more = make(chan struct{})
		}
		more := r.more
		r.mu.Unlock()
		select {
		case <-more:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// watch sees a lane's fold from inside, and when a step begins and ends.
type watch interface {
	fold.Watch
	// begin is called once the records that took effect before the event are adopted.
	begin(ctx context.Context, m broker.Stored) error
	end(ctx context.Context, out fold.Outcome) error
	// done is called when the lane has folded everything.
	done(ctx context.Context) error
}

// open opens the fold of a partition once its records are staged.
func (r *run) open(id int) (_ *lane, err error) {
	l := &lane{id: id, part: r.parts[id], upTo: math.MaxUint64}
	if r.upTo != nil {
		l.upTo = r.upTo[id]
	}
	o := fold.Options{Home: r.home, Log: content.New(r.events, 0), First: r.log.First, MaxPayload: broker.MaxPayload, Mask: r.Mask, Logger: r.Logger}
	if r.watch != nil {
		r.watch(l, &o)
	}
	if l.fold, err = fold.New(l.part, o); err != nil {
		return nil, err
	}
	if r.under != nil {
		_, err = l.fold.Configure(r.under, time.Time{})
	} else if r.tail.Config != nil {
		err = l.fold.Assume(r.tail.Config, nil)
	}
	if err != nil {
		return nil, err
	}
	return l, l.fold.AdoptUpTo(0)
}

// take folds one event, unless the lane stops before it.
func (l *lane) take(ctx context.Context, m broker.Stored) error {
	if m.Seq > l.upTo {
		return nil
	}
	if l.watch != nil {
		// Check what took effect after the previous event before this one changes its sources.
		err := l.fold.AdoptUpTo(m.Seq - 1)
		if err == nil {
			err = l.watch.begin(ctx, m)
		}
		if err != nil {
			return fmt.Errorf("before event %d: %w", m.Seq, err)
		}
	}
	out, err := l.fold.Step(ctx, deliveryOf(m), handlers.Of(m.Subject))
	if err == nil && l.watch != nil {
		err = l.watch.end(ctx, out)
	}
	if err != nil {
		return fmt.Errorf("event %d: %w", m.Seq, err)
	}
	l.last = m.Seq
	if l.dirty++; l.dirty < commitEvents {
		return nil
	}
	return l.commit()
}

// handOver takes the fork of one of the lane's threads, unless the lane stops before it: then the fork's lane does too.
func (l *lane) handOver(ctx context.Context, m broker.Stored) error {
	err := l.take(ctx, m)
	if err == nil {
		err = l.commit() // the fork's lane reads what is committed
	}
	l.handed.set(m.Seq)
	return err
}

func deliveryOf(m broker.Stored) fold.Delivery {
	return fold.Delivery{Seq: m.Seq, Time: m.Time, Raw: events.Raw{Subject: m.Subject, Header: m.Header, Body: m.Data}}
}

func (l *lane) commit() error {
	meta := l.part.Meta()
	meta.Position = l.last
	l.part.SetMeta(meta)
	l.dirty = 0
	_, err := l.part.Commit(state.NoSync)
	return err
}

// end adopts what took effect after the last event.
func (l *lane) end(ctx context.Context) error {
	if err := l.fold.AdoptUpTo(l.upTo); err != nil {
		return err
	}
	if err := l.commit(); err != nil {
		return err
	}
	if l.watch != nil {
		if err := l.watch.done(ctx); err != nil {
			return err
		}
	}
	return l.part.Close()
}
