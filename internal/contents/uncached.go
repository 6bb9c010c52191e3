package contents

import (
	"context"

	"precis/events"
	"precis/internal/broker"
)

// Uncached reads every event from the log, for many concurrent readers that share nothing. It implements fold.Log.
type Uncached struct{ Log *broker.LogReader }

// Event implements fold.Log.
func (u Uncached) Event(ctx context.Context, seq uint64) (*events.Event, error) {
	return Read(ctx, u.Log, seq)
}

// Keep implements fold.Log.
func (Uncached) Keep(uint64, *events.Event) {}

// Ahead implements fold.Log.
func (Uncached) Ahead(context.Context, []uint64) {}
