package broker

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
)

// Mark names a message by what it is. A sequence alone does not: a stream that is restored from an older backup keeps
// its name and the time when it was made, and gives the sequences it has lost to other messages.
type Mark struct {
	Seq    uint64 // 0: no message
	Digest [16]byte
}

// MarkOf is a message's mark. A message whose time is not known (an ack does not tell it) has one as well, by its
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

// names says whether a stored message is the one that was marked, with its time or without.
func (k Mark) names(m Stored) bool {
	if MarkOf(m) == k {
		return true
	}
	m.Time = Stored{}.Time
	return MarkOf(m) == k
}

// Holds makes sure that the stream still holds what somebody has read: the marked message, and nothing else up to
// through. It fails with ErrStreamLost where that is not so. The stream's leader answers, so that a replica that lags
// proves nothing. A marked message that is not there any more is no contradiction: a retention takes a stream's first
// messages, a damaged file any, and both leave the sequence empty. A stream that was rolled back and has grown again
// has another message there.
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
		return fmt.Errorf("%w: %s was rolled back and has grown again: sequence %d is not the message that was read, but one stored at %s",
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

// received is a message of a consumer as it is stored.
func received(m *nats.Msg, a ackReply) Stored {
	return Stored{Subject: m.Subject, Header: m.Header, Data: m.Data, Seq: a.streamSeq, Time: a.time()}
}
