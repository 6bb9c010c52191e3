package fold

import (
	"context"
	"slices"

	"precis/events"
	"precis/internal/secrets"
	"precis/internal/thread"
)

// aheadOf is how many messages are read at once: a whole span need not fit in the log's memory.
const aheadOf = 64

// eachRead calls each for every row, in order, and reads the events of the rows ahead in chunks.
func eachRead(ctx context.Context, log Log, rows []*thread.Message, each func(*thread.Message) error) error {
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
