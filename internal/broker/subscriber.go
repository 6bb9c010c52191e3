package broker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// Subscriber is a Watermill Subscriber whose acks mean applied, not durable:
// Lanes describes how durability follows. Each lane has one goroutine and one
// message in flight; the next is handed out when that one is acked.
//
// Consuming starts with the first Subscribe and ends with Close: cancelling the
// context of a Subscribe closes only that output. Close does not touch the
// connection.
type Subscriber struct {
	js     jetstream.JetStream
	cfg    SubscriberConfig
	topics *topics
	failed chan error
	done   chan struct{} // closed when all lanes have returned and all outputs are closed

	mu      sync.Mutex
	stop    context.CancelFunc // ends the lanes; nil before the first Subscribe
	feed    *feed
	closed  bool
	err     error
	created time.Time // of the stream, when consuming started
}

// NewSubscriber checks cfg; it does not contact the server yet.
func NewSubscriber(js jetstream.JetStream, cfg SubscriberConfig) (*Subscriber, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &Subscriber{
		js: js, cfg: cfg, topics: newTopics(),
		failed: make(chan error, 1), done: make(chan struct{}),
	}, nil
}

// Subscribe returns the output for topic. It is closed when ctx ends,
// on Close, and when consuming fails (see Failed). Several outputs for one
// topic share its messages.
func (s *Subscriber) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.Join(ErrClosed, s.err)
	}
	if s.stop == nil {
		if err := s.start(ctx); err != nil {
			return nil, err
		}
	}
	return s.topics.add(ctx, topic), nil
}

// start begins consuming. ctx bounds only the requests at the start: the lanes
// outlive the Subscribe that started them.
func (s *Subscriber) start(ctx context.Context) error {
	state, err := StateOf(ctx, s.js, s.cfg.Stream)
	if err != nil {
		return err
	}
	s.created = state.Created
	lanes, err := s.lanes()
	if err != nil {
		return err
	}
	s.feed = newFeed(s, lanes, state)
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	go s.run(run, s.feed)
	return nil
}

func (s *Subscriber) lanes() ([]*lane, error) {
	list := s.cfg.Lanes.List()
	if err := validateLanes(list); err != nil {
		return nil, err
	}
	lanes := make([]*lane, 0, len(list))
	for _, l := range list {
		ln, err := newLane(s, l)
		if err != nil {
			return nil, err
		}
		lanes = append(lanes, ln)
	}
	return lanes, nil
}

// run owns the goroutines of the feed and the lanes. Outputs close only after the last Flush: when an output is closed,
// durability has reached its final state.
func (s *Subscriber) run(ctx context.Context, f *feed) {
	defer close(s.done)
	var wg sync.WaitGroup
	start := func(run func(context.Context) error) {
		wg.Go(func() {
			if err := run(ctx); err != nil {
				s.fail(err)
			}
		})
	}
	for _, l := range f.lanes {
		start(l.run)
	}
	start(f.run)
	<-ctx.Done()
	s.topics.interrupt()
	wg.Wait()
	s.topics.close()
}

// fail stops all lanes and reports the first error.
func (s *Subscriber) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.stop()
	if s.err != nil {
		return
	}
	s.err = err
	s.failed <- err
}

// Failed yields the error that ended consuming, once. It is never closed.
func (s *Subscriber) Failed() <-chan error { return s.failed }

// Err is the error that ended consuming, or nil.
func (s *Subscriber) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Close stops handing out messages, cancels the contexts of those in flight,
// waits until their handlers are done (CloseTimeout at most), flushes every
// lane, closes the outputs and returns. Call it even if a Router has already closed
// its outputs: only its return guarantees that everything acked is durable.
func (s *Subscriber) Close() error {
	s.mu.Lock()
	s.closed = true
	stop := s.stop
	s.mu.Unlock()
	if stop == nil {
		return nil
	}
	stop()
	<-s.done
	return nil
}

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
	// Whole has a single lane read the stream without a filter too: a lane's position is then one of the whole stream, whatever lanes
	// read together, and Before sees all messages.
	Whole bool
	// Before returns the name of another lane that is handed a message before the message's own lane is; empty: no other. nil: none
	// ever.
	Before func(subject string, header map[string][]string, body []byte) string
	// BatchMessages is how many acked messages (and turns) make a batch full. Default 512.
	BatchMessages int
	// HandMessages is how many consecutive messages of one topic a lane may hand out together, as one Watermill message
	// (HandOf). More than one is for handlers that skip, when a message comes again, what they have applied of it. Default 1.
	HandMessages int
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
	// more than one lane, or Whole: a single lane reads with a filter else, which hides gaps.
	Missing func(Missing)
	// Resumed is called after an interrupted delivery, before another message is handed out; nil: no call. If its error
	// is ErrStreamLost, consuming ends; any other error makes it a retry.
	Resumed func(context.Context) error
	// Backlog is kept up to date with what is read and not applied. Default: one that nothing looks at.
	Backlog *Backlog
	// Logger for reconnects and retries.
	Logger zerolog.Logger
}

// WithDefaults fills what was left zero.
func (c SubscriberConfig) WithDefaults() SubscriberConfig {
	c.BatchMessages = orDefault(c.BatchMessages, 512)
	c.HandMessages = orDefault(c.HandMessages, 1)
	c.BatchWait = orDefault(c.BatchWait, 5*time.Millisecond)
	c.AdvanceEvery = orDefault(c.AdvanceEvery, advanceEvery)
	c.PrefetchMessages = orDefault(c.PrefetchMessages, 512)
	c.PrefetchBytes = orDefault(c.PrefetchBytes, 16<<20)
	c.RetryWait = orDefault(c.RetryWait, 10*time.Millisecond)
	c.RetryMaxWait = orDefault(c.RetryMaxWait, time.Second)
	c.CloseTimeout = orDefault(c.CloseTimeout, 30*time.Second)
	if c.Backlog == nil {
		c.Backlog = &Backlog{}
	}
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
