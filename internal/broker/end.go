package broker

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// endTimeout bounds one request about a stream's end. Messages wait meanwhile.
const endTimeout = 2 * time.Second

// ending knows where a reader of a stream ends, and when it has arrived.
//
// The consumer may be on any of the stream's replicas. One that lags
// behind the leader has nothing to deliver and nothing pending, and delivers the
// rest later. So a rest alone is not the end: a delivered sequence must reach it, or
// the leader must confirm that it holds nothing more for the reader up to there.
// Only the stream's leader answers STREAM.MSG.GET and STREAM.INFO, and it
// has applied everything that was ever acknowledged (nats-server 2.15).
//
// A consumer can't be pinned to the leader: the server places it at
// random among the stream's replicas, and the leader moves.
type ending struct {
	log     *LogReader
	filters []string    // none: all
	at      StreamState // the stream when reading began
	owed    uint64      // what the leader held beyond the delivered messages at the last request; 0: unknown
}

// confirm returns nil if the leader holds nothing for the reader after last
// and up to e.at.Last, errLags if it does.
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

// stands verifies that the leader's log reaches the end: a log that was rolled
// back holds nothing up to there, and reuses the sequences for other messages.
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

// overdue reports whether the replica had a heartbeat's time to deliver what the
// leader holds, and did not.
func (e *ending) overdue(last uint64) bool { return e.owed > last }
