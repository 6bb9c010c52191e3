package broker

import (
	"context"
	"errors"
	"time"
)

// SeqAt is the last sequence whose message came at a time or before; 0 where none did. Times go up with
// the sequences, so that halving finds it; where one is missing, the one before it serves.
func (r *LogReader) SeqAt(ctx context.Context, first, last uint64, t time.Time) (uint64, error) {
	low, high := max(first, 1)-1, last // low is known to be early enough, what is above high is not
	for low < high {
		mid := low + (high-low+1)/2
		at, found, err := r.timeAtOrBefore(ctx, mid, low)
		if err != nil {
			return 0, err
		}
		if !found || !at.After(t) {
			low = mid
			continue
		}
		high = mid - 1
	}
	return low, nil
}

// timeAtOrBefore is the time of a message, or of the last one before it that is there and above low.
func (r *LogReader) timeAtOrBefore(ctx context.Context, seq, low uint64) (time.Time, bool, error) {
	for ; seq > low; seq-- {
		m, err := r.Get(ctx, seq)
		if err == nil {
			return m.Time, true, nil
		}
		if !errors.Is(err, ErrGone) {
			return time.Time{}, false, err
		}
	}
	return time.Time{}, false, nil
}
