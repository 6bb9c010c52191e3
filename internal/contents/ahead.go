package contents

import (
	"context"
	"sync"

	"precis/events"
)

// readers is how many events are read at once: a read is a round trip to the server, and waits more than
// it works.
const readers = 16

// Ahead implements fold.Log.
func (c *Cache) Ahead(ctx context.Context, seqs []uint64) {
	var missing []uint64
	for _, seq := range seqs {
		if !c.has(seq) {
			missing = append(missing, seq)
		}
	}
	if len(missing) < 2 {
		return
	}
	for i, ev := range c.readAll(ctx, missing) {
		if ev != nil {
			c.Keep(missing[i], ev)
		}
	}
}

// readAll reads events at once; those that can't be read are nil: whoever asks for them is told why.
func (c *Cache) readAll(ctx context.Context, seqs []uint64) []*events.Event {
	list := make([]*events.Event, len(seqs))
	var wg sync.WaitGroup
	for first := range min(readers, len(seqs)) {
		wg.Go(func() {
			for i := first; i < len(seqs); i += readers {
				if ev, err := Read(ctx, c.log, seqs[i]); err == nil {
					list[i] = ev
				}
			}
		})
	}
	wg.Wait()
	return list
}
