package events

import (
	"fmt"
	"time"
)

// Bounds of one write to the server.
const (
	// maxBatchEvents is nats-server's limit for one atomic batch (2.12 and later).
	maxBatchEvents = 1000
	// batchBytes keeps the transfer of a batch short compared with PublisherOptions.AckWait.
	batchBytes = 4 << 20
)

// PublisherOptions are a Publisher's settings; a zero field takes its default.
type PublisherOptions struct {
	// BufferEvents is how many accepted events may wait for the server's ack. Default 10,000.
	BufferEvents int
	// BufferBytes is the total size of their data. Default 64 MiB.
	BufferBytes int
	// BatchEvents is the maximum number of events per write, so that the server syncs its disk once for all of
	// them; at most 1000. 1 disables batches. Default 256. A stream that does not allow atomic batches gets single
	// writes.
	BatchEvents int
	// AckWait is how long to wait for the server's ack before resending. Default 5s.
	AckWait time.Duration
	// RetryWait is the pause before resending after a refusal; it doubles up to 32 times its value. Default 50ms.
	RetryWait time.Duration
	// EventBytes is the processor's limits.event_bytes, if known: Publish refuses a longer event. Default 0: not
	// checked.
	EventBytes int
	// Unchecked skips decoding before sending. The processor still rejects invalid events.
	Unchecked bool
	// Warn is called with the error of an attempt that will be retried; it must not block. Default: no call.
	Warn func(error)
}

// WithDefaults returns the options with defaults in place of zero fields.
func (o PublisherOptions) WithDefaults() PublisherOptions {
	o.BufferEvents = orDefault(o.BufferEvents, 10_000)
	o.BufferBytes = orDefault(o.BufferBytes, 64<<20)
	o.BatchEvents = orDefault(o.BatchEvents, 256)
	o.AckWait = orDefault(o.AckWait, 5*time.Second)
	o.RetryWait = orDefault(o.RetryWait, 50*time.Millisecond)
	if o.Warn == nil {
		o.Warn = func(error) {}
	}
	return o
}

// Validate reports the first option that is out of range.
func (o PublisherOptions) Validate() error {
	switch {
	case o.BufferEvents < 0 || o.BufferBytes < 0:
		return fmt.Errorf("publisher options: buffer of %d events and %d bytes", o.BufferEvents, o.BufferBytes)
	case o.BatchEvents < 0 || o.BatchEvents > maxBatchEvents:
		return fmt.Errorf("publisher options: batches of %d events, at most %d", o.BatchEvents, maxBatchEvents)
	case o.EventBytes < 0:
		return fmt.Errorf("publisher options: events of %d bytes", o.EventBytes)
	case o.AckWait < 0 || o.RetryWait < 0:
		return fmt.Errorf("publisher options: negative wait")
	}
	return nil
}

func orDefault[T int | time.Duration](v, fallback T) T {
	if v == 0 {
		return fallback
	}
	return v
}
