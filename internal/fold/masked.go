package fold

import (
	"context"

	"precis/events"
	"precis/internal/secrets"
)

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
