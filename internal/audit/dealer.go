package audit

import (
	"context"
	"sync"

	"precis/internal/broker"
	"precis/internal/recovery"
)

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
