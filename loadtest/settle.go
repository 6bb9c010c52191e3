package main

import (
	"context"
	"fmt"
	"io"
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
