package audit

import (
	"context"
	"strconv"
	"strings"
	"sync"

	"precis/internal/broker"
)

// A hand is dealt when it holds that much; what waits is at most twice that for each worker.
const (
	handEvents = 256
	handBytes  = 1 << 20
)

// dealer gives the events of a scan to workers, all of a partition to the same one, in order.
type dealer struct {
	cancel context.CancelCauseFunc // of the context that scan and workers have
	lanes  []*lane
	hands  []hand
	wg     sync.WaitGroup
}

// hand is what a worker gets next.
type hand struct {
	to     chan []broker.Stored
	events []broker.Stored
	bytes  int
}

// newDealer starts the workers. The context that it returns ends with the first of them that fails.
func newDealer(ctx context.Context, lanes []*lane, workers int) (context.Context, *dealer) {
	d := &dealer{lanes: lanes, hands: make([]hand, max(workers, 1))}
	ctx, d.cancel = context.WithCancelCause(ctx)
	for i := range d.hands {
		h := &d.hands[i]
		h.to = make(chan []broker.Stored, 1)
		d.wg.Go(func() {
			if err := d.work(ctx, h.to); err != nil {
				d.cancel(err)
			}
		})
	}
	return ctx, d
}

func (d *dealer) work(ctx context.Context, from <-chan []broker.Stored) error {
	for {
		select {
		case list, more := <-from:
			if !more {
				return nil
			}
			for _, m := range list {
				if err := d.lanes[partitionOf(m.Subject, len(d.lanes)-1)].take(ctx, m); err != nil {
					return err
				}
			}
		case <-ctx.Done():
			return nil
		}
	}
}

func (d *dealer) give(ctx context.Context, m broker.Stored) error {
	h := &d.hands[partitionOf(m.Subject, len(d.lanes)-1)%len(d.hands)]
	h.events, h.bytes = append(h.events, m), h.bytes+len(m.Data)
	if len(h.events) < handEvents && h.bytes < handBytes {
		return nil
	}
	return d.deal(ctx, h)
}

func (d *dealer) deal(ctx context.Context, h *hand) error {
	list := h.events
	h.events, h.bytes = make([]broker.Stored, 0, handEvents), 0
	select {
	case h.to <- list:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// end deals what is left and waits for the workers. It returns the first error of one of them.
func (d *dealer) end(ctx context.Context) error {
	for i := range d.hands {
		_ = d.deal(ctx, &d.hands[i]) // it fails where a worker has, and that is what is returned
		close(d.hands[i].to)
	}
	d.wg.Wait()
	err := context.Cause(ctx)
	d.cancel(nil)
	return err
}

// partitionOf is the partition that a subject was stored under, or strays.
func partitionOf(subject string, strays int) int {
	head, _, _ := strings.Cut(subject, ".")
	n, err := strconv.Atoi(head)
	if err != nil || n < 0 || n >= strays {
		return strays
	}
	return n
}
