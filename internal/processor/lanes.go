package processor

import (
	"context"
	"fmt"

	"precis/internal/broker"
	"precis/internal/fold"
	"precis/state"
)

// The processor implements the Subscriber's lanes and the handlers' steps.

// List implements broker.Lanes: one lane per partition, and one for the events that the partition transform did not
// match.
func (p *Processor) List() []broker.Lane {
	lanes := make([]broker.Lane, 0, len(p.parts))
	for i := range p.opts.Config.Partitions {
		lanes = append(lanes, broker.PartitionLane(i))
	}
	return append(lanes, broker.StrayLane())
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
			p.fail(err)
			return
		}
	}
	p.ready.reached(lane)
}

// Step implements handlers.Steps.
func (p *Processor) Step(ctx context.Context, lane string, d fold.Delivery, walk fold.Walk) (fold.Outcome, error) {
	part, err := p.lane(lane)
	if err != nil {
		return fold.Outcome{}, err
	}
	return part.worker.step(ctx, d, walk)
}

func (p *Processor) lane(name string) (*partition, error) {
	part, ok := p.byLane[name]
	if !ok {
		return nil, fmt.Errorf("no partition has lane %q", name)
	}
	return part, nil
}
