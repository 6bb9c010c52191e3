package events

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// From says where a subscription begins that the server does not know yet.
type From string

// Where a subscription begins.
const (
	FromStart From = "start" // with the oldest record there is
	FromNow   From = "now"   // with the next record that comes
)

// SubscriptionOptions are a Subscription's settings; a zero field takes its default.
type SubscriptionOptions struct {
	// Durable is the name under which the server keeps how far the subscription has come. Required; two that run
	// at once under one name share its records.
	Durable string
	// Thread is the only thread whose records are wanted. Default: all.
	Thread string
	// Types are the records wanted. Default: all.
	Types []Type
	// From is where to begin. Default: FromStart. It has no effect on a name the server knows.
	From From
	// AckWait is how long the server waits for a handler that has died. A handler that lives may take longer.
	// Default 30s.
	AckWait time.Duration
	// RetryWait is the pause before a record whose handler failed comes again; it doubles up to 32 times that.
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
			o.Types = append(o.Types, ConfigApplied)
		}
	}
	return o
}

// Validate says which option is out of range.
func (o SubscriptionOptions) Validate() error {
	switch {
	case o.Durable == "":
		return errors.New("subscription options: no durable name")
	case o.From != FromStart && o.From != FromNow:
		return fmt.Errorf("subscription options: from %q", o.From)
	case o.AckWait < time.Second || o.RetryWait < 0:
		return errors.New("subscription options: the ack wait is at least 1s, the retry wait not negative")
	}
	return nil
}

// Subscription follows the processor's records and remembers on the server how far it has come. Records come one
// at a time and in order; one that was handled may come again after a crash or a lost connection, so that a
// handler should know a record by its ID.
type Subscription struct {
	opts     SubscriptionOptions
	nc       *nats.Conn
	consumer jetstream.Consumer
}

// Subscribe makes or finds the durable subscription.
func Subscribe(ctx context.Context, nc *nats.Conn, opts SubscriptionOptions) (*Subscription, error) {
	opts = opts.WithDefaults()
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	filters, err := summaryFilters(opts.Thread, opts.Types)
	if err != nil {
		return nil, fmt.Errorf("subscribe: %w", err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, fmt.Errorf("subscribe: %w", err)
	}
	deliver := jetstream.DeliverAllPolicy
	if opts.From == FromNow {
		deliver = jetstream.DeliverNewPolicy
	}
	config := jetstream.ConsumerConfig{
		Durable: opts.Durable, FilterSubjects: filters, DeliverPolicy: deliver,
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: opts.AckWait,
		MaxAckPending: 1, // nothing overtakes a record that is still to be handled
	}
	consumer, err := knownConsumer(ctx, js, config)
	if err != nil {
		return nil, fmt.Errorf("subscribe: %w", err)
	}
	return &Subscription{opts: opts, nc: nc, consumer: consumer}, nil
}

// knownConsumer makes the consumer, or brings one that is there up to date; where that began can't change.
func knownConsumer(ctx context.Context, js jetstream.JetStream, config jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	known, err := js.Consumer(ctx, StreamSummaries, config.Durable)
	switch {
	case err == nil:
		was := known.CachedInfo().Config
		config.DeliverPolicy, config.OptStartSeq, config.OptStartTime = was.DeliverPolicy, was.OptStartSeq, was.OptStartTime
	case !errors.Is(err, jetstream.ErrConsumerNotFound):
		return nil, err
	}
	return js.CreateOrUpdateConsumer(ctx, StreamSummaries, config)
}

// askedAhead is how many records are asked for at once. MaxAckPending has the server send them one at a time all
// the same. It is far above one, because the iterator leaves out a request where the one before is still being
// sent: a record handled that fast would be the last until a heartbeat is missed, 30 seconds later.
const askedAhead = 256

// Run hands records to handle, one after another, until the context ends; then it returns nil. A record is done
// when handle returns nil; after an error the same record comes again, as often as it takes, and the next ones
// wait. It fails where the subscription was deleted or the connection closed.
func (s *Subscription) Run(ctx context.Context, handle func(context.Context, Delivery) error) error {
	records, err := s.consumer.Messages(jetstream.PullMaxMessages(askedAhead))
	if err != nil {
		return fmt.Errorf("follow records: %w", err)
	}
	defer s.giveBack(records)
	for ctx.Err() == nil {
		msg, err := records.Next(jetstream.NextContext(ctx))
		if ctx.Err() != nil && err != nil || errors.Is(err, jetstream.ErrNoHeartbeat) {
			continue // at the end; or the server is away, and the iterator asks again when it is back
		}
		if err == nil {
			err = s.one(ctx, msg, handle)
		}
		if err != nil {
			return fmt.Errorf("follow records: %w", err)
		}
	}
	return nil
}

// giveBackWait bounds the way of what is to be given back, where the connection is lost meanwhile.
const giveBackWait = 2 * time.Second

// giveBack ends the iterator, and has the server deliver at once to whom comes next what was on its way here.
func (s *Subscription) giveBack(records jetstream.MessagesContext) {
	defer records.Stop()
	if !s.nc.IsConnected() {
		return // nothing can be on its way, and draining would wait for the server
	}
	records.Drain()
	for {
		msg, err := records.Next(jetstream.NextMaxWait(giveBackWait))
		if err != nil {
			return
		}
		_ = msg.Nak()
	}
}

// one has a record handled and tells the server. What the server is not told, for want of a connection, it
// sends again.
func (s *Subscription) one(ctx context.Context, msg jetstream.Msg, handle func(context.Context, Delivery) error) error {
	d, err := deliveryOf(msg)
	if err != nil {
		return err
	}
	switch err := s.attend(ctx, msg, d, handle); {
	case err == nil:
		s.ack(ctx, msg)
	case ctx.Err() != nil:
		_ = msg.Nak()
	default:
		_ = msg.NakWithDelay(s.opts.RetryWait << min(d.Attempt-1, 5))
	}
	return nil
}

// attend handles a record and lets the server know that somebody does.
func (s *Subscription) attend(ctx context.Context, msg jetstream.Msg, d Delivery, handle func(context.Context, Delivery) error) error {
	defer s.keepAlive(msg)()
	return handle(ctx, d)
}

// ack waits for the server's word, also when the context has ended meanwhile: what is done should not come again.
func (s *Subscription) ack(ctx context.Context, msg jetstream.Msg) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.opts.AckWait/3)
	defer cancel()
	_ = msg.DoubleAck(ctx)
}

// keepAlive tells the server that a record is still being handled, until the function it returns is called.
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
