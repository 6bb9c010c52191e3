package service

import (
	"context"
	"runtime"
	"time"

	"precis/internal/content"
)

// turns bound the prompts that are put together at once, to half of the cores: with as many as are asked for, each event's goroutine waits
// behind all of them for a core. Requests for prompts wait for each other anyway; in turns, each is done sooner than all of them side by side.
type turns chan struct{}

// patience is how long a prompt waits for its turn: one that takes long holds the others up no longer.
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
