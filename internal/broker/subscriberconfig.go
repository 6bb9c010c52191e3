package broker

import (
	"context"
	"fmt"
	"time"

	"github.com/rs/zerolog"
)

const advanceEvery = 10_000

// SubscriberConfig says what to consume, and how much at a time.
type SubscriberConfig struct {
	// Stream to consume.
	Stream string
	// Topic maps a stored subject to the Watermill topic it is delivered on. It
	// must map every subject that matches a lane's filters: a message on a
	// topic without a subscriber blocks its lane.
	Topic func(subject string) string
	// Lanes to consume, and their positions.
	Lanes Lanes
	// BatchMessages is how many acked messages (and turns) make a batch full. Default 512.
	BatchMessages int
	// BatchWait is the maximum age of a batch in a pause if the stream is
	// known to hold more; otherwise a pause ends the batch at once. Default 5ms.
	BatchWait time.Duration
	// AdvanceEvery is how many messages of other lanes may pass before an idle lane advances: its durable position
	// would otherwise stay behind, and a restart would reread everything since then. Default 10,000.
	AdvanceEvery uint64
	// PrefetchMessages is how many messages may wait in one lane. Default 512.
	PrefetchMessages int
	// PrefetchBytes is how many bytes of message bodies may wait in all lanes
	// together; a single message always may. Default 16 MiB.
	PrefetchBytes int
	// RetryWait is the pause before a nacked message is handed out again; it
	// doubles up to RetryMaxWait. Defaults 10ms and 1s.
	RetryWait, RetryMaxWait time.Duration
	// CloseTimeout bounds how long Close waits for a handler. Default 30s.
	CloseTimeout time.Duration
	// Missing is called for messages that the stream should return and does not; nil: no reports. It is called only with
	// more than one lane: a single lane reads with a filter, which hides gaps.
	Missing func(Missing)
	// Resumed is called after an interrupted delivery, before another message is handed out; nil: no call. If its error
	// is ErrStreamLost, consuming ends; any other error makes it a retry.
	Resumed func(context.Context) error
	// Logger for reconnects and retries.
	Logger zerolog.Logger
}

// WithDefaults fills what was left zero.
func (c SubscriberConfig) WithDefaults() SubscriberConfig {
	c.BatchMessages = orDefault(c.BatchMessages, 512)
	c.BatchWait = orDefault(c.BatchWait, 5*time.Millisecond)
	c.AdvanceEvery = orDefault(c.AdvanceEvery, advanceEvery)
	c.PrefetchMessages = orDefault(c.PrefetchMessages, 512)
	c.PrefetchBytes = orDefault(c.PrefetchBytes, 16<<20)
	c.RetryWait = orDefault(c.RetryWait, 10*time.Millisecond)
	c.RetryMaxWait = orDefault(c.RetryMaxWait, time.Second)
	c.CloseTimeout = orDefault(c.CloseTimeout, 30*time.Second)
	return c
}

func orDefault[T int | uint64 | time.Duration](v, d T) T {
	if v <= 0 {
		return d
	}
	return v
}

func (c SubscriberConfig) validate() error {
	if c.Stream == "" || c.Topic == nil || c.Lanes == nil {
		return fmt.Errorf("%w: a subscriber needs a stream, a topic function and lanes", ErrInvalidOptions)
	}
	return nil
}

func validateLanes(lanes []Lane) error {
	if len(lanes) == 0 {
		return fmt.Errorf("%w: no lanes", ErrInvalidOptions)
	}
	seen := make(map[string]bool, len(lanes))
	for _, l := range lanes {
		if l.Name == "" || seen[l.Name] || len(l.Filters) == 0 {
			return fmt.Errorf("%w: lane %q needs a name of its own and filters", ErrInvalidOptions, l.Name)
		}
		seen[l.Name] = true
	}
	return nil
}
