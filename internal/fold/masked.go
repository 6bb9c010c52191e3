package fold

import (
	"context"

	"precis/events"
	"precis/internal/secrets"
)

// Masked is a log without secrets: what summaries, their ledgers and what models read are made from. A secret must be
// masked before anything is cut from a text, since a piece of it is not recognized.
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
