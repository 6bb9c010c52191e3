package events

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
)

// From is the starting point of a subscription that the server does not know yet.
type From string

// Starting points of a subscription.
const (
	FromStart From = "start" // the oldest stored record
	FromNow   From = "now"   // the next new record
)

// SubscriptionOptions are a Subscription's settings; a zero field takes its default.
type SubscriptionOptions struct {
	// Durable is the name under which the server keeps the subscription's position. Two subscriptions that run at once
	// under one name share its records, and must request the same ones. Default: none. A subscription without a name
	// lasts as long as its Run: it begins at From and leaves no position behind, which suits one session of an agent.
	Durable string
	// Thread limits the records to one thread. Default: all.
	Thread string
	// Types are the record types to follow; EventRejected is allowed. Default: all but EventRejected.
	Types []Type
	// From is the starting point. Default: FromStart. It has no effect on a durable name that the server knows.
	From From
	// AckWait is how long the server waits for a dead handler. A live handler may take longer.
	// Default 30s. It has no effect without a durable name.
	AckWait time.Duration
	// RetryWait is the pause before a record is redelivered after its handler failed; it doubles up to 32 times that.
	// Default 1s.
	RetryWait time.Duration
}

// WithDefaults returns the options with defaults in place of zero fields.
func (o SubscriptionOptions) WithDefaults() SubscriptionOptions {
	o.AckWait = orDefault(o.AckWait, 30*time.Second)
	o.RetryWait = orDefault(o.RetryWait, time.Second)
	if o.From == "" {
		o.From = FromStart
	}
	if len(o.Types) == 0 {
		o.Types = []Type{SummaryStarted, SummaryCreated, SummaryInvalidated, SummaryFailed, UsageRecorded}
		if o.Thread == "" {
			o.Types = append(o.Types, ConfigApplied, PartitionClaimed)
		}
	}
	return o
}

// Validate reports the first option that is out of range.
func (o SubscriptionOptions) Validate() error {
	switch {
	case o.From != FromStart && o.From != FromNow:
		return fmt.Errorf("subscription options: from %q", o.From)
	case o.AckWait < time.Second || o.RetryWait < 0:
		return errors.New("subscription options: the ack wait is at least 1s, the retry wait not negative")
	}
	return nil
}

// Subscription follows the processor's records. Records arrive one at a time, in order within each stream: SUMMARIES,
// and REJECTED if EventRejected is among the types. With a durable name, a handled record may be redelivered after a crash
// or a lost connection, so a handler should deduplicate by ID.
type Subscription struct {
	opts    SubscriptionOptions
	nc      *nats.Conn
	sources []jetstream.Consumer // one per stream

	handling sync.Mutex // one record at a time
}

// Subscribe creates or finds the subscription. It fails with ErrDurableInUse if the durable name follows other
// records.
func Subscribe(ctx context.Context, nc *nats.Conn, opts SubscriptionOptions) (*Subscription, error) {
	opts = opts.WithDefaults()
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	filters, err := recordFilters(opts.Thread, opts.Types)
	if err != nil {
		return nil, fmt.Errorf("subscribe: %w", err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, fmt.Errorf("subscribe: %w", err)
	}
	s := &Subscription{opts: opts, nc: nc}
	for _, stream := range []string{StreamSummaries, StreamRejected} {
		if len(filters[stream]) == 0 {
			continue
		}
		source, err := s.source(ctx, js, stream, filters[stream])
		if err != nil {
			return nil, fmt.Errorf("subscribe: %w", err)
		}
		s.sources = append(s.sources, source)
	}
	return s, nil
}

// Unsubscribe deletes a durable name and its position. It returns nil if the name does not exist.
func Unsubscribe(ctx context.Context, nc *nats.Conn, durable string) error {
	js, err := jetstream.New(nc)
	if err != nil {
		return fmt.Errorf("unsubscribe: %w", err)
	}
	for _, stream := range []string{StreamSummaries, StreamRejected} {
		err := js.DeleteConsumer(ctx, stream, durable)
		if err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) && !errors.Is(err, jetstream.ErrStreamNotFound) {
			return fmt.Errorf("unsubscribe: %w", err)
		}
	}
	return nil
}

// source creates or finds the consumer of one stream.
func (s *Subscription) source(ctx context.Context, js jetstream.JetStream, stream string, filters []string) (jetstream.Consumer, error) {
	if s.opts.Durable == "" {
		return s.orderedSource(ctx, js, stream, filters)
	}
	deliver := jetstream.DeliverAllPolicy
	if s.opts.From == FromNow {
		deliver = jetstream.DeliverNewPolicy
	}
	return durableSource(ctx, js, stream, jetstream.ConsumerConfig{
		Durable: s.opts.Durable, FilterSubjects: filters, DeliverPolicy: deliver,
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: s.opts.AckWait,
		MaxAckPending: 1, // no record overtakes one that is not handled yet
	})
}

// orderedSource leaves no state on the server. It resolves FromNow to a sequence here: a consumer that is recreated
// before its first record would otherwise begin later.
func (s *Subscription) orderedSource(ctx context.Context, js jetstream.JetStream, stream string, filters []string) (jetstream.Consumer, error) {
	config := jetstream.OrderedConsumerConfig{
		FilterSubjects: filters, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: 1,
	}
	if s.opts.From == FromNow {
		now, err := js.Stream(ctx, stream)
		if err != nil {
			return nil, err
		}
		config.OptStartSeq = now.CachedInfo().State.LastSeq + 1
	}
	return js.OrderedConsumer(ctx, stream, config)
}

// durableSource creates the consumer or updates an existing one. Its starting point can't change, and its filters
// must not: another session may be using the name.
func durableSource(ctx context.Context, js jetstream.JetStream, stream string, config jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	known, err := js.Consumer(ctx, stream, config.Durable)
	switch {
	case err == nil:
		was := known.CachedInfo().Config
		if follows := filtersOf(was); !slices.Equal(follows, slices.Sorted(slices.Values(config.FilterSubjects))) {
			return nil, fmt.Errorf("%w: %q follows %s; choose another name, or delete this one with Unsubscribe",
				ErrDurableInUse, config.Durable, strings.Join(follows, " "))
		}
		config.DeliverPolicy, config.OptStartSeq, config.OptStartTime = was.DeliverPolicy, was.OptStartSeq, was.OptStartTime
	case !errors.Is(err, jetstream.ErrConsumerNotFound):
		return nil, err
	}
	return js.CreateOrUpdateConsumer(ctx, stream, config)
}

// filtersOf returns a consumer's filters, sorted; the server keeps a single one in a separate field.
func filtersOf(config jetstream.ConsumerConfig) []string {
	if config.FilterSubject != "" {
		return []string{config.FilterSubject}
	}
	return slices.Sorted(slices.Values(config.FilterSubjects))
}

// askedAhead is how many records a pull requests at once; MaxAckPending still has the server send them one at a time. It
// is far above one because the iterator skips a request while the previous one is still being sent: after a record
// handled that fast, no other would arrive until a heartbeat is missed, 30 seconds later.
const askedAhead = 256

// Run passes records to handle, one after another, until the context ends; then it returns nil. A record is done when
// handle returns nil; after an error the same record is redelivered until it succeeds, and the following ones of its
// stream wait. Run fails if the subscription is deleted or the connection closed. Without a durable name it may be
// called only once.
func (s *Subscription) Run(ctx context.Context, handle func(context.Context, Delivery) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, source := range s.sources {
		group.Go(func() error { return s.follow(ctx, source, handle) })
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("follow records: %w", err)
	}
	return nil
}

// follow passes on the records of one stream.
func (s *Subscription) follow(ctx context.Context, source jetstream.Consumer, handle func(context.Context, Delivery) error) error {
	records, err := source.Messages(jetstream.PullMaxMessages(askedAhead))
	if err != nil {
		return err
	}
	if s.opts.Durable == "" {
		defer context.AfterFunc(ctx, records.Stop)() // the iterator recreates consumers even after the context has ended
		defer records.Stop()
	} else {
		defer s.giveBack(records)
	}
	for ctx.Err() == nil {
		msg, err := records.Next(jetstream.NextContext(ctx))
		if ctx.Err() != nil && err != nil || errors.Is(err, jetstream.ErrNoHeartbeat) {
			continue // the end; or the server is away, and the iterator requests again when it is back
		}
		if err == nil {
			err = s.one(ctx, msg, handle)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// giveBackWait bounds the wait for records to return, in case the connection is lost meanwhile.
const giveBackWait = 2 * time.Second

// giveBack stops the iterator and naks records in flight, so that the server redelivers them to the next session at once.
func (s *Subscription) giveBack(records jetstream.MessagesContext) {
	defer records.Stop()
	if !s.nc.IsConnected() {
		return // nothing can be in flight, and draining would wait for the server
	}
	records.Drain()
	for {
		msg, err := records.Next(jetstream.NextMaxWait(giveBackWait))
		if err != nil {
			break
		}
		_ = msg.Nak()
	}
	_ = s.nc.FlushTimeout(giveBackWait)
}

// one handles a record and acknowledges it. If the ack does not reach the server, the server redelivers the record.
func (s *Subscription) one(ctx context.Context, msg jetstream.Msg, handle func(context.Context, Delivery) error) error {
	d, err := deliveryOf(msg)
	if err != nil {
		return err
	}
	if s.opts.Durable == "" {
		s.untilHandled(ctx, d, handle)
		return nil
	}
	switch err := s.attend(ctx, msg, d, handle); {
	case err == nil:
		s.ack(ctx, msg)
	case ctx.Err() != nil:
		_ = msg.Nak()
	default:
		_ = msg.NakWithDelay(s.retryWait(d))
	}
	return nil
}

// untilHandled retries a record until it is handled or the context ends: an ordered consumer has no acks, so the
// server does not redeliver.
func (s *Subscription) untilHandled(ctx context.Context, d Delivery, handle func(context.Context, Delivery) error) {
	for ; ctx.Err() == nil; d.Attempt++ {
		if s.handle(ctx, d, handle) == nil {
			return
		}
		pause(ctx, s.retryWait(d))
	}
}

func (s *Subscription) retryWait(d Delivery) time.Duration {
	return s.opts.RetryWait << min(d.Attempt-1, 5)
}

// attend handles a record, and keeps the server from redelivering it meanwhile.
func (s *Subscription) attend(ctx context.Context, msg jetstream.Msg, d Delivery, handle func(context.Context, Delivery) error) error {
	defer s.keepAlive(msg)()
	return s.handle(ctx, d, handle)
}

// handle calls the handler for one record at a time, across streams.
func (s *Subscription) handle(ctx context.Context, d Delivery, handle func(context.Context, Delivery) error) error {
	s.handling.Lock()
	defer s.handling.Unlock()
	return handle(ctx, d)
}

// ack waits for the server's confirmation even after the context has ended: a handled record should not be redelivered.
func (s *Subscription) ack(ctx context.Context, msg jetstream.Msg) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.opts.AckWait/3)
	defer cancel()
	_ = msg.DoubleAck(ctx)
}

// keepAlive extends the server's ack wait until the function it returns is called.
func (s *Subscription) keepAlive(msg jetstream.Msg) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(s.opts.AckWait / 3)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				_ = msg.InProgress()
			case <-done:
				return
			}
		}
	}()
	return func() { close(done); <-ended }
}
