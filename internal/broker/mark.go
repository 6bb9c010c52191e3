package broker

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

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

// received converts a consumer's message to its stored form.
func received(m *nats.Msg, a ackReply) Stored {
	return Stored{Subject: m.Subject, Header: m.Header, Data: m.Data, Seq: a.streamSeq, Time: a.time()}
}
