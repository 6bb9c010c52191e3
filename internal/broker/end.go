package broker

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// endTimeout bounds one question about a stream's end. Messages wait meanwhile.
const endTimeout = 2 * time.Second

// ending knows where a reader of a stream has to come to, and when it is there.
//
// The consumer that delivers lives on any of the stream's replicas. One that lags
// behind the leader has nothing to deliver and nothing pending, and what it lacks
// comes later. So a rest alone is no end: a delivered sequence has to reach it, or
// the leader has to confirm that it holds nothing for the reader up to there.
// STREAM.MSG.GET and STREAM.INFO are answered by the stream's leader alone, which
// has applied everything that was ever acknowledged (nats-server 2.15).
//
// There is no way to pin a consumer to the leader: its placement is drawn at
// random among the stream's replicas, and the leader moves.
type ending struct {
	log     *LogReader
	filters []string    // none: all
	at      StreamState // the stream when reading began
	owed    uint64      // what the leader holds that was not delivered when it was asked; 0: nothing is known
}

// confirm returns nil where the leader holds nothing for the reader behind last
// and up to e.at.Last, errLags where it does.
func (e *ending) confirm(ctx context.Context, last uint64) error {
	e.owed = 0
	ctx, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	filters := e.filters
	if len(filters) == 0 {
		filters = []string{">"}
	}
	for _, filter := range filters {
		m, err := e.log.Next(ctx, filter, last+1)
		switch {
		case errors.Is(err, ErrGone):
		case err != nil:
			return err
		case m.Seq <= e.at.Last:
			e.owed = m.Seq
			return fmt.Errorf("%w: it holds sequence %d, nothing is delivered behind %d", errLags, m.Seq, last)
		}
	}
	return e.stands(ctx)
}

// stands makes sure that the leader's log reaches the end: one that was rolled
// back holds nothing up to there, and gives the same sequences to other messages.
func (e *ending) stands(ctx context.Context) error {
	now, err := StateOf(ctx, e.log.js, e.log.stream)
	if err != nil {
		return err
	}
	if now.Last < e.at.Last || !now.Created.Equal(e.at.Created) {
		return fmt.Errorf("%w: stream %s ended at %d and ends at %d now", ErrStreamLost, e.log.stream, e.at.Last, now.Last)
	}
	return nil
}

// overdue reports a replica that was given a heartbeat's time to deliver what the
// leader holds, and did not.
func (e *ending) overdue(last uint64) bool { return e.owed > last }
