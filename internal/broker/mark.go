package broker

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// Mark identifies a message by its content. A sequence alone does not: a stream that is restored from an older backup
// keeps its name and creation time, and reuses the lost sequences for other messages.
type Mark struct {
	Seq    uint64 // 0: no message
	Digest [16]byte
}

// MarkOf returns a message's mark. A message whose time is unknown (an ack does not include it) gets a mark of its
// subject and data alone.
func MarkOf(m Stored) Mark {
	h := sha256.New()
	var b [24]byte
	binary.BigEndian.PutUint64(b[:], m.Seq)
	if !m.Time.IsZero() {
		binary.BigEndian.PutUint64(b[8:], uint64(m.Time.UnixNano()))
	}
	binary.BigEndian.PutUint64(b[16:], uint64(len(m.Subject)))
	h.Write(b[:])
	h.Write([]byte(m.Subject))
	h.Write(m.Data)
	mark := Mark{Seq: m.Seq}
	copy(mark.Digest[:], h.Sum(nil))
	return mark
}

// names reports whether k is the mark of m, with its time or without.
func (k Mark) names(m Stored) bool {
	if MarkOf(m) == k {
		return true
	}
	m.Time = Stored{}.Time
	return MarkOf(m) == k
}

// Holds verifies that the stream still holds what a reader has read: the marked message, and nothing else up to
// through. If not, it fails with ErrStreamLost. The stream's leader answers, because a lagging replica proves nothing. A
// missing marked message is not a contradiction: retention removes a stream's first messages, a damaged file any, and
// both leave the sequence empty. A stream that was rolled back and has grown again holds a different message there.
func (r *LogReader) Holds(ctx context.Context, mark Mark, through uint64) error {
	if mark.Seq == 0 {
		return nil
	}
	state, err := StateOf(ctx, r.js, r.stream)
	if err != nil {
		return err
	}
	if last := max(through, mark.Seq); state.Last < last {
		return fmt.Errorf("%w: %s was rolled back: it ends at %d, before sequence %d that was read", ErrStreamLost, r.stream, state.Last, last)
	}
	switch m, err := r.fromLeader(ctx, fmt.Appendf(nil, `{"seq":%d}`, mark.Seq)); {
	case errors.Is(err, ErrGone):
	case err != nil:
		return err
	case !mark.names(m):
		return fmt.Errorf("%w: %s was rolled back and has grown again: sequence %d holds another message than the one that was read, stored at %s",
			ErrStreamLost, r.stream, mark.Seq, m.Time.UTC())
	}
	if through <= mark.Seq {
		return nil
	}
	switch m, err := r.Next(ctx, ">", mark.Seq+1); {
	case errors.Is(err, ErrGone):
	case err != nil:
		return err
	case m.Seq <= through:
		return fmt.Errorf("%w: %s was rolled back and has grown again: sequence %d, where nothing was read, holds a message stored at %s",
			ErrStreamLost, r.stream, m.Seq, m.Time.UTC())
	}
	return nil
}

// received converts a consumer's message to its stored form.
func received(m *nats.Msg, a ackReply) Stored {
	return Stored{Subject: m.Subject, Header: m.Header, Data: m.Data, Seq: a.streamSeq, Time: a.time()}
}

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
