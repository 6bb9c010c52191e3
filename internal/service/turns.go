package service

import (
	"context"
	"runtime"
	"time"

	"precis/internal/content"
)

// turns bound how many prompts are put together at once: half as many as there are cores. Without a bound, the goroutine of an event waits for a
// core behind every prompt that was asked for. Prompts lose nothing by it: one after the other they end no later than side by side.
type turns chan struct{}

// patience is how long a prompt waits for its turn: a slow one does not hold up the others for longer.
const patience = 250 * time.Millisecond

func newTurns() turns { return make(turns, max(1, runtime.GOMAXPROCS(0)/2)) }

// turn is one prompt's.
type turn struct {
	of   turns                              // nil: nothing waits
	cold func(events []uint64) (n []uint64) // those that are not in memory
	has  bool
}

// take returns when it is the prompt's turn, or its patience is over.
func (t *turn) take(ctx context.Context) error {
	if t.of == nil {
		return nil
	}
	over := time.NewTimer(patience)
	defer over.Stop()
	select {
	case t.of <- struct{}{}:
		t.has = true
	case <-over.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// end gives the turn back.
func (t *turn) end() {
	if t.has {
		<-t.of
		t.has = false
	}
}

// read has some events read, and gives the turn back meanwhile: others have theirs while the log answers.
func (t *turn) read(ctx context.Context, log content.Log, events []uint64) error {
	if t.of == nil {
		log.Ahead(ctx, events)
		return nil
	}
	cold := t.cold(events)
	if len(cold) == 0 {
		return nil
	}
	t.end()
	if len(cold) > 1 {
		log.Ahead(ctx, cold)
	} else {
		_, _ = log.Event(ctx, cold[0]) // not worth a batch; an error comes again where the event is needed
	}
	return t.take(ctx)
}
