package content

import (
	"context"
	"errors"
	"slices"

	"precis/events"
	"precis/internal/secrets"
	"precis/internal/thread"
)

// Log reads events by sequence. Event returns ErrGone for one that the log no longer holds. Keep offers an event that was just
// read, since it may soon be read again. Ahead reads events in bulk that will be requested next.
type Log interface {
	Event(ctx context.Context, seq uint64) (*events.Event, error)
	Keep(seq uint64, ev *events.Event)
	Ahead(ctx context.Context, seqs []uint64)
}

// ErrGone: the log no longer holds that sequence.
var ErrGone = errors.New("no longer in the log")

// eventOf reads an event from the log; nil if retention has removed it.
func eventOf(ctx context.Context, log Log, seq uint64) (*events.Event, error) {
	ev, err := log.Event(ctx, seq)
	if errors.Is(err, ErrGone) {
		return nil, nil
	}
	return ev, err
}

// aheadOf is how many messages are read at once: a whole span need not fit in the log's memory.
const aheadOf = 64

// Each calls each for every row, in order, and reads the events of the rows ahead in chunks.
func Each(ctx context.Context, log Log, rows []*thread.Message, each func(*thread.Message) error) error {
	for some := range slices.Chunk(rows, aheadOf) {
		var seqs []uint64
		for _, m := range some {
			if m.Deleted {
				continue
			}
			seqs = append(seqs, m.FirstSeq)
			if m.Seq != m.FirstSeq {
				seqs = append(seqs, m.Seq)
			}
		}
		log.Ahead(ctx, seqs)
		for _, m := range some {
			if err := each(m); err != nil {
				return err
			}
		}
	}
	return nil
}

// Masked returns a log without secrets, for summaries, ledgers and models. A secret must be masked before any text is cut, since
// a part of one is not recognized.
func Masked(log Log, mask func(text string) string) Log { return maskedLog{Log: log, mask: mask} }

type maskedLog struct {
	Log
	mask func(string) string
}

// Event implements Log.
func (l maskedLog) Event(ctx context.Context, seq uint64) (*events.Event, error) {
	ev, err := l.Log.Event(ctx, seq)
	if err != nil {
		return nil, err
	}
	return secrets.MaskEvent(ev, l.mask), nil
}
