package processor

import (
	"context"
	"errors"

	"precis/internal/fold"
)

// errEnded: a handler that was stuck goes on when nobody takes its step any more.
var errEnded = errors.New("processor has ended")

// worker takes a partition's steps in one goroutine. Watermill begins a goroutine for each message; in
// there, the stack would have to grow for each event anew, which costs more than to hand the event over
// (5 µs of processor time, measured).
type worker struct {
	steps   chan step
	results chan stepped // capacity 1: the worker never waits for a handler
	quit    chan struct{}
}

type step struct {
	ctx context.Context //nolint:containedctx // of this one call
	d   fold.Delivery
}

type stepped struct {
	out fold.Outcome
	err error
}

func newWorker() worker {
	return worker{steps: make(chan step), results: make(chan stepped, 1), quit: make(chan struct{})}
}

// run works until quit is closed. It does not outlive its last step.
func (w worker) run(take func(context.Context, fold.Delivery) (fold.Outcome, error)) {
	for {
		select {
		case s := <-w.steps:
			out, err := take(s.ctx, s.d)
			w.results <- stepped{out, err}
		case <-w.quit:
			return
		}
	}
}

// step has an event taken; one at a time.
func (w worker) step(ctx context.Context, d fold.Delivery) (fold.Outcome, error) {
	select {
	case w.steps <- step{ctx, d}:
		res := <-w.results
		return res.out, res.err
	case <-w.quit:
		return fold.Outcome{}, errEnded
	}
}
