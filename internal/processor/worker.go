package processor

import (
	"context"
	"errors"

	"precis/internal/fold"
)

// errEnded: a stuck handler continued after the processor had ended.
var errEnded = errors.New("processor has ended")

// worker runs a partition's steps in one goroutine. Watermill starts a goroutine for each message, whose stack would
// have to grow for each event again; that costs more than handing the event over (5 µs of processor time, measured).
type worker struct {
	work    chan work
	results chan worked // capacity 1: the worker never waits for a handler
	quit    chan struct{}
}

type work struct {
	ctx  context.Context //nolint:containedctx // of this one call
	d    fold.Delivery
	walk fold.Walk
}

type worked struct {
	out fold.Outcome
	err error
}

func newWorker() worker {
	return worker{work: make(chan work), results: make(chan worked, 1), quit: make(chan struct{})}
}

// run works until quit is closed, after the step that is under way.
func (w worker) run(take func(context.Context, fold.Delivery, fold.Walk) (fold.Outcome, error)) {
	for {
		select {
		case s := <-w.work:
			out, err := take(s.ctx, s.d, s.walk)
			w.results <- worked{out, err}
		case <-w.quit:
			return
		}
	}
}

// step hands an event to the worker; one at a time.
func (w worker) step(ctx context.Context, d fold.Delivery, walk fold.Walk) (fold.Outcome, error) {
	select {
	case w.work <- work{ctx, d, walk}:
		res := <-w.results
		return res.out, res.err
	case <-w.quit:
		return fold.Outcome{}, errEnded
	}
}
