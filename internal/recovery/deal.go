package recovery

import (
	"context"
	"strconv"
	"strings"

	"precis/internal/broker"
)

// A hand is dealt when it holds that much; what waits is at most three times that for each pile, and three times
// dealtBytes, or the least of hands, for all.
const (
	handEvents = 256
	handBytes  = 1 << 20
	dealtBytes = 32 << 20
	leastBytes = 64 << 10
)

// Deal gives the messages of a scan to piles, in hands: who works on a pile has it in the log's order, and
// is not woken for each message.
type Deal struct {
	of    func(subject string) int
	hands []hand
	bytes int // of a hand
}

// hand is what a pile gets next.
type hand struct {
	to     chan []broker.Stored
	events []broker.Stored
	bytes  int
}

// NewDeal deals to so many piles; of is a stored subject's.
func NewDeal(piles int, of func(subject string) int) *Deal {
	d := &Deal{of: of, hands: make([]hand, piles), bytes: max(leastBytes, min(handBytes, dealtBytes/piles))}
	for i := range d.hands {
		d.hands[i].to = make(chan []broker.Stored, 1)
	}
	return d
}

// Pile yields a pile's hands; it is closed at the end.
func (d *Deal) Pile(i int) <-chan []broker.Stored { return d.hands[i].to }

// Give takes a message. It waits for the pile where that has enough, until ctx ends.
func (d *Deal) Give(ctx context.Context, m broker.Stored) error {
	h := &d.hands[d.of(m.Subject)]
	h.events, h.bytes = append(h.events, m), h.bytes+weight(m)
	if len(h.events) < handEvents && h.bytes < d.bytes {
		return nil
	}
	return h.deal(ctx)
}

// weight is what a message takes of memory, in bytes; headers may be most of it.
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

// End deals what is left, unless ctx has ended, and closes the piles.
func (d *Deal) End(ctx context.Context) {
	for i := range d.hands {
		_ = d.hands[i].deal(ctx) // it fails where ctx has ended: whoever ended it knows why
		close(d.hands[i].to)
	}
}

// PartitionOf is the partition that a subject was stored under, or strays.
func PartitionOf(subject string, strays int) int {
	head, _, _ := strings.Cut(subject, ".")
	n, err := strconv.Atoi(head)
	if err != nil || n < 0 || n >= strays {
		return strays
	}
	return n
}
