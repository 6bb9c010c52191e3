package processor

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"precis/internal/broker"
	"precis/internal/fold"
	"precis/state"
)

// The processor implements the Subscriber's lanes and the handlers' steps.

// List implements broker.Lanes: one lane per partition, of which the last is for the events that the partition transform did
// not match.
func (p *Processor) List() []broker.Lane {
	var lanes []broker.Lane
	for _, part := range p.parts() {
		if part.reads {
			lanes = append(lanes, p.laneOf(part.id))
		}
	}
	return lanes
}

// Position implements broker.Lanes.
func (p *Processor) Position(lane string) (uint64, broker.Mark, error) {
	part, err := p.lane(lane)
	if err != nil {
		return 0, broker.Mark{}, err
	}
	meta := part.part.Meta()
	return meta.Position, broker.Mark(meta.EventsMark), nil
}

// Flush implements broker.Lanes.
func (p *Processor) Flush(_ context.Context, lane string, last uint64, by broker.Mark) error {
	part, err := p.lane(lane)
	if err != nil {
		return err
	}
	return part.flush(place{last, state.Mark(by)})
}

// Turns implements broker.Lanes.
func (p *Processor) Turns(lane string) <-chan func() {
	part, err := p.lane(lane)
	if err != nil {
		return nil
	}
	return part.turns
}

// Reached implements broker.Lanes.
func (p *Processor) Reached(lane string, last uint64, by broker.Mark) {
	if part, err := p.lane(lane); err == nil {
		if err := part.caughtUp(place{last, state.Mark(by)}); err != nil {
			if part.failure != nil {
				p.fail(err)
				return
			}
			part.rowsLost(err) // else they are given up and made again, or rows of a parked thread can't be read now
			part.log.Warn().Err(err).Msg("the partition is not current yet: tried again")
			time.AfterFunc(askAgain, func() {
				part.turn(func() error {
					p.Reached(lane, last, by)
					return nil
				})
			})
			return
		}
		part.current.Store(true)
		p.madeAnew(part.id)
	}
	p.ready.reached(lane)
}

// handEvents is how many events of a lane the router is given as one message at most: those that wait in a burst. What an event costs
// in the router and its goroutines is then small beside its step. A turn waits for the hand under way.
const handEvents = 64

// batchEvents is the number of events in one batch of a lane, where so many wait: a thread's header is written once per batch, and is
// as large as the rows of several messages.
const batchEvents = 2048

// Steps implements handlers.Steps.
func (p *Processor) Steps(ctx context.Context, lane string, hand iter.Seq[fold.Delivery], walk fold.Walk) (err error) {
	part, err := p.lane(lane)
	if err != nil {
		return err
	}
	now := p.opts.Now() // one reading for a hand of 64 KB is precise enough
	if ended := part.worker.do(func() { err = part.steps(ctx, hand, walk, func() time.Time { return now }) }); ended != nil {
		return ended
	}
	return err
}

func (p *Processor) lane(name string) (*partition, error) {
	part, ok := p.running.Load().byLane[name]
	if !ok {
		return nil, fmt.Errorf("no partition has lane %q", name)
	}
	return part, nil
}

// errEnded: a stuck handler continued after the processor had ended.
var errEnded = errors.New("processor has ended")

// worker runs a partition's steps in one goroutine. Watermill starts a goroutine for each message, whose stack would
// have to grow for each event again; that costs more than handing the event over (5 µs of processor time, measured).
type worker struct {
	work chan func()
	done chan struct{} // capacity 1: the worker never waits for a handler
	quit chan struct{}
	gone chan struct{} // closed when it has ended
}

func newWorker() worker {
	return worker{work: make(chan func()), done: make(chan struct{}, 1), quit: make(chan struct{}), gone: make(chan struct{})}
}

// run works until quit is closed, after the step that is under way.
func (w worker) run() {
	defer close(w.gone)
	for {
		select {
		case step := <-w.work:
			step()
			w.done <- struct{}{}
		case <-w.quit:
			return
		}
	}
}

// do runs a step in the worker; one at a time.
func (w worker) do(step func()) error {
	select {
	case w.work <- step:
		<-w.done
		return nil
	case <-w.quit:
		return errEnded
	}
}
