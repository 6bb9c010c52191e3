package processor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"precis/internal/broker"
	"precis/internal/service"
)

// askLogAfter is how long a request waits for its own write before it queries the log: most are durable by then.
const askLogAfter = 10 * time.Millisecond

// wait returns when all that EVENTS holds for a partition up to a sequence is durable, or ctx ends. A position does
// not advance while only other partitions have events, so wait asks the log for the last event of the partition.
func (p *Processor) wait(ctx context.Context, part *partition, seq uint64) error {
	soon, cancel := context.WithTimeout(ctx, askLogAfter)
	defer cancel()
	if part.position.wait(soon, seq) == nil {
		return nil
	}
	for at := part.position.now(); at < seq; at = part.position.now() {
		next, err := p.nextOf(ctx, part, at, seq)
		if err != nil || next > seq {
			return err
		}
		if err := part.position.wait(ctx, next); err != nil {
			return err
		}
	}
	return nil
}

// nextOf is the next event that EVENTS holds for a partition after a position; beyond all sequences if there is none.
// If the log ends before seq it returns a service.BeyondEnd: no client has an ack of that event.
func (p *Processor) nextOf(ctx context.Context, part *partition, at, seq uint64) (uint64, error) {
	// Read the end first: the query after it sees everything stored up to there.
	last, err := p.events.LastSeq(ctx)
	if err != nil {
		return 0, fmt.Errorf("wait for event %d: %w", seq, err)
	}
	if last < seq {
		return 0, &service.BeyondEnd{Seq: seq, Last: last}
	}
	// What was published to a literal wildcard subject is stored outside the partitions, and belongs to no thread in
	// them.
	m, err := p.events.Next(ctx, broker.PartitionLane(part.id).Filters[0], at+1)
	if errors.Is(err, broker.ErrGone) {
		return math.MaxUint64, nil
	}
	if err != nil {
		return 0, fmt.Errorf("wait for event %d: %w", seq, err)
	}
	return m.Seq, nil
}
