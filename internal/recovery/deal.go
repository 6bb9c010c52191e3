package recovery

import (
	"context"
	"strconv"
	"strings"
	"sync"

	"precis/internal/broker"
)

// A hand is dealt when it has so many events or bytes. Three hands at most wait for each pile, so the more piles there are, the
// smaller their hands, down to the smallest: the bounds on all hands together are those of 32 piles with the largest ones.
const (
	handEvents, leastEvents, dealtEvents = 256, 8, 32 * handEvents
	handBytes, leastBytes, dealtBytes    = 1 << 20, 64 << 10, 32 * handBytes
)

// Deal distributes the messages of a scan to piles, in hands: the worker of a pile receives them in log order, and is
// not woken for each message.
type Deal struct {
	of func(subject string) int // negative: no pile receives it
	// Before returns another pile that receives a message, and at once, before the message's own pile does; negative: none. nil: none ever.
	Before func(broker.Stored) int
	hands  []hand
	// The size of a hand.
	events, bytes int
}

// hand is what a pile receives next.
type hand struct {
	to     chan []broker.Stored
	events []broker.Stored
	bytes  int
}

// NewDeal deals to the given number of piles; of maps a stored subject to its pile, or to a negative number if none receives it.
func NewDeal(piles int, of func(subject string) int) *Deal {
	d := &Deal{
		of: of, hands: make([]hand, piles),
		events: max(leastEvents, min(handEvents, dealtEvents/piles)), bytes: max(leastBytes, min(handBytes, dealtBytes/piles)),
	}
	for i := range d.hands {
		d.hands[i].to = make(chan []broker.Stored, 1)
	}
	return d
}

// Share is how many of so many events a partition has at most, in all likelihood.
func Share(events uint64, partitions int) int { return int(events+events/4) / partitions }

// Pile yields a pile's hands; End closes it.
func (d *Deal) Pile(i int) <-chan []broker.Stored { return d.hands[i].to }

// Give takes a message. If its pile is full, it waits for that until ctx ends.
func (d *Deal) Give(ctx context.Context, m broker.Stored) error {
	own := d.of(m.Subject)
	if d.Before != nil {
		if other := d.Before(m); other >= 0 && other != own {
			h := &d.hands[other]
			h.take(m)
			// The own pile's worker may wait for the other one, and this scan for the own pile's.
			if err := h.deal(ctx); err != nil {
				return err
			}
		}
	}
	if own < 0 {
		return nil
	}
	h := &d.hands[own]
	h.take(m)
	if len(h.events) < d.events && h.bytes < d.bytes {
		return nil
	}
	return h.deal(ctx)
}

func (h *hand) take(m broker.Stored) {
	h.events, h.bytes = append(h.events, m), h.bytes+weight(m)
}

// weight is the memory that a message takes, in bytes; headers may be most of it.
func weight(m broker.Stored) int {
	const fixed = 128 // the structure itself
	n := fixed + len(m.Data) + len(m.Subject)
	for name, values := range m.Header {
		n += len(name)
		for _, v := range values {
			n += len(v)
		}
	}
	return n
}

func (h *hand) deal(ctx context.Context) error {
	list := h.events
	h.events, h.bytes = make([]broker.Stored, 0, len(list)), 0
	select {
	case h.to <- list:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Run calls scan, which gives the messages, while work takes the hands of each pile in a goroutine of its own. An error of work
// cancels the context of all of them, and Run returns it.
func (d *Deal) Run(ctx context.Context, scan func(ctx context.Context) error, work func(ctx context.Context, pile int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for i := range d.hands {
		wg.Go(func() {
			if err := work(ctx, i); err != nil {
				cancel(err)
			}
		})
	}
	err := scan(ctx)
	d.End(ctx)
	wg.Wait()
	if failed := context.Cause(ctx); failed != nil {
		return failed
	}
	return err
}

// End deals the rest and closes the piles. If ctx ends meanwhile, a pile is closed without its last hand: its worker has
// received everything only if ctx has not ended by then.
func (d *Deal) End(ctx context.Context) {
	for i := range d.hands {
		_ = d.hands[i].deal(ctx) // fails only if ctx has ended, which has a cause of its own
		close(d.hands[i].to)
	}
}

// PartitionOf is the partition under which a subject was stored, or strays.
func PartitionOf(subject string, strays int) int {
	head, _, _ := strings.Cut(subject, ".")
	n, err := strconv.Atoi(head)
	if err != nil || n < 0 || n >= strays {
		return strays
	}
	return n
}
