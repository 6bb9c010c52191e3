package fold

import (
	"context"
	"slices"

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
