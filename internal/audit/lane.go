package audit

import (
	"context"
	"fmt"
	"sync"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/contents"
	"precis/internal/fold"
	"precis/internal/recovery"
	"precis/state"
)

// commitEvents is how many events go into one batch of the scratch store.
const commitEvents = 4096

// lane is one partition of a rebuild. Only one goroutine at a time uses it.
type lane struct {
	id    int
	part  *state.Partition
	fold  *fold.Fold
	watch watch // nil without checks
	// observe receives every record that the fold decides; it may be nil.
	observe func(fold.Decided)
	upTo    uint64
	partial bool   // upTo may be before the end of the log
	last    uint64 // the last event folded
	dirty   int
}

// watch sees a lane's fold from inside, and when a step begins and ends.
type watch interface {
	fold.Watch
	begin(m broker.Stored)
	end(ctx context.Context, out fold.Outcome) error
	// between is called once the records that took effect between two events are adopted.
	between(ctx context.Context) error
	// done is called when the lane has folded everything.
	done(ctx context.Context) error
}

func (l *lane) open(src Source, config []byte) error {
	if src.open != nil {
		if err := src.open(l); err != nil {
			return err
		}
	}
	o := fold.Options{Log: contents.New(src.Events, 0), MaxPayload: broker.MaxPayload, Mask: src.Mask, Observe: l.observe, Logger: src.Logger}
	if l.watch != nil {
		o.Watch, o.Rehearse = l.watch, src.Rehearse
	}
	var err error
	if l.fold, err = fold.New(l.part, o); err != nil {
		return err
	}
	if config != nil {
		if err := l.fold.Assume(config, nil); err != nil {
			return err
		}
	}
	if src.opened != nil {
		return src.opened(l)
	}
	return l.fold.AdoptUpTo(0)
}

// take folds one event, unless the lane stops before it.
func (l *lane) take(ctx context.Context, m broker.Stored) error {
	if m.Seq > l.upTo {
		return nil
	}
	if l.watch != nil {
		// Check what took effect after the previous event before this one changes its sources.
		if err := l.between(ctx, m.Seq-1); err != nil {
			return fmt.Errorf("before event %d: %w", m.Seq, err)
		}
		l.watch.begin(m)
	}
	out, err := l.fold.Step(ctx, fold.Delivery{
		Seq: m.Seq, Time: m.Time,
		Raw: events.Raw{Subject: m.Subject, Header: m.Header, Body: m.Data},
	})
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

// between adopts what took effect up to a sequence after the last event.
func (l *lane) between(ctx context.Context, seq uint64) error {
	if err := l.fold.AdoptUpTo(seq); err != nil {
		return err
	}
	return l.watch.between(ctx)
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

// dealer distributes the events of a scan to workers. All events of a partition go to the same worker, in order.
type dealer struct {
	*recovery.Deal
	cancel context.CancelCauseFunc // of the context that scan and workers share
	lanes  []*lane
	wg     sync.WaitGroup
}

// newDealer starts the workers. The first worker that fails cancels the returned context.
func newDealer(ctx context.Context, lanes []*lane, workers int) (context.Context, *dealer) {
	workers = max(workers, 1)
	d := &dealer{lanes: lanes}
	d.Deal = recovery.NewDeal(workers, func(subject string) int { return d.partition(subject) % workers })
	ctx, d.cancel = context.WithCancelCause(ctx)
	for i := range workers {
		d.wg.Go(func() {
			if err := d.work(ctx, d.Pile(i)); err != nil {
				d.cancel(err)
			}
		})
	}
	return ctx, d
}

func (d *dealer) partition(subject string) int { return recovery.PartitionOf(subject, len(d.lanes)-1) }

func (d *dealer) work(ctx context.Context, from <-chan []broker.Stored) error {
	for {
		select {
		case list, more := <-from:
			if !more {
				return nil
			}
			for _, m := range list {
				if err := d.lanes[d.partition(m.Subject)].take(ctx, m); err != nil {
					return err
				}
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// end deals the rest and waits for the workers. It returns the first error of a worker.
func (d *dealer) end(ctx context.Context) error {
	d.End(ctx)
	d.wg.Wait()
	err := context.Cause(ctx)
	d.cancel(nil)
	return err
}
