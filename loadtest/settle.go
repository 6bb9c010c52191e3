package main

import (
	"context"
	"fmt"
	"io"
	"sort"
	"time"
)

// settle waits until all expected records have arrived, or none has for the timeout.
func settle(ctx context.Context, f *follower, want totals, timeout time.Duration, progress io.Writer) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	last, since, told := f.tally(), time.Now(), time.Now()
	for {
		now := f.tally()
		if now.created >= want.Summaries && now.invalidated >= want.Invalidations {
			return nil
		}
		if now != last {
			last, since = now, time.Now()
		}
		if time.Since(since) > timeout {
			return nil // the verdict reports what is missing
		}
		if time.Since(told) > 5*time.Second {
			told = time.Now()
			fmt.Fprintf(progress, "waiting: %d of %d summaries, %d of %d invalidations\n",
				now.created, want.Summaries, now.invalidated, want.Invalidations)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// workedOff is the part of all summaries that arrived in a second from a moment on, until nine tenths of those wanted were there; 0 if a fifth of them or less was left by
// then. Records arrive in order.
func workedOff(created []record, from time.Time, want int) float64 {
	to := want * 9 / 10
	if len(created) < to {
		return 0
	}
	before := sort.Search(len(created), func(i int) bool { return created[i].at.After(from) })
	if to-before <= want/5 {
		return 0
	}
	return float64(to-before) / float64(want) / created[to-1].at.Sub(from).Seconds()
}
