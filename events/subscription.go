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

// From says where a subscription begins that the server does not know yet.
type From string

// Where a subscription begins.
const (
	FromStart From = "start" // with the oldest record there is
	FromNow   From = "now"   // with the next record that comes
)

// SubscriptionOptions are a Subscription's settings; a zero field takes its default.
type SubscriptionOptions struct {
	// Durable is the name under which the server keeps how far the subscription has come. Two that run at once under
	// one name share its records, and must ask for the same ones. Default: none. Such a subscription lives as long as
	// its Run: it begins where From says and repeats nothing afterwards, which is what one session of an agent wants.
	Durable string
	// Thread is the only thread whose records are wanted. Default: all.
	Thread string
	// Types are the records wanted, EventRejected among them. Default: all but EventRejected.
	Types []Type
	// From is where to begin. Default: FromStart. It has no effect on a durable name that the server knows.
	From From
	// AckWait is how long the server waits for a handler that has died. A handler that lives may take longer.
	// Default 30s. It has no effect without a durable name.
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
	case o.From != FromStart && o.From != FromNow:
		return fmt.Errorf("subscription options: from %q", o.From)
	case o.AckWait < time.Second || o.RetryWait < 0:
		return errors.New("subscription options: the ack wait is at least 1s, the retry wait not negative")
	}
	return nil
}

// Subscription follows the processor's records. Records come one at a time, and in order within a stream: SUMMARIES,
// and REJECTED where rejections are wanted. With a durable name, one that was handled may come again after a crash or
// a lost connection, so that a handler should know a record by its ID.
type Subscription struct {
	opts    SubscriptionOptions
	nc      *nats.Conn
	sources []jetstream.Consumer // one a stream

	handling sync.Mutex // one record at a time
}

// Subscribe makes or finds the subscription. It fails with ErrDurableInUse where the durable name follows other
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

// Unsubscribe deletes a durable name, and with it how far its subscription has come. It returns nil where there is no
// such name.
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

// source makes or finds the consumer of one stream.
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
		MaxAckPending: 1, // nothing overtakes a record that is still to be handled
	})
}

// orderedSource reads without leaving anything on the server. FromNow is settled here, as a sequence: a consumer that
// is made again before its first record would otherwise begin later.
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

// durableSource makes the consumer, or brings one that is there up to date; where that began can't change, and what it
// follows must not: another session may be using the name.
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

// filtersOf are a consumer's filters, sorted; the server keeps a single one apart.
func filtersOf(config jetstream.ConsumerConfig) []string {
	if config.FilterSubject != "" {
		return []string{config.FilterSubject}
	}
	return slices.Sorted(slices.Values(config.FilterSubjects))
}

// askedAhead is how many records are asked for at once. MaxAckPending has the server send them one at a time all
// the same. It is far above one, because the iterator leaves out a request where the one before is still being
// sent: a record handled that fast would be the last until a heartbeat is missed, 30 seconds later.
const askedAhead = 256

// Run hands records to handle, one after another, until the context ends; then it returns nil. A record is done
// when handle returns nil; after an error the same record comes again, as often as it takes, and the next ones
// of its stream wait. It fails where the subscription was deleted or the connection closed. Without a durable name it
// may be called once.
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

// follow hands on the records of one stream.
func (s *Subscription) follow(ctx context.Context, source jetstream.Consumer, handle func(context.Context, Delivery) error) error {
	records, err := source.Messages(jetstream.PullMaxMessages(askedAhead))
	if err != nil {
		return err
	}
	if s.opts.Durable == "" {
		defer context.AfterFunc(ctx, records.Stop)() // it makes consumers again whatever the context says
		defer records.Stop()
	} else {
		defer s.giveBack(records)
	}
	for ctx.Err() == nil {
		msg, err := records.Next(jetstream.NextContext(ctx))
		if ctx.Err() != nil && err != nil || errors.Is(err, jetstream.ErrNoHeartbeat) {
			continue // at the end; or the server is away, and the iterator asks again when it is back
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
			break
		}
		_ = msg.Nak()
	}
	_ = s.nc.FlushTimeout(giveBackWait)
}

// one has a record handled and tells the server. What the server is not told, for want of a connection, it
// sends again.
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

// untilHandled has a record handled until that works or the context ends: nothing is acknowledged, so that the server
// does not send it again.
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

// attend handles a record, and keeps the server from sending it again meanwhile.
func (s *Subscription) attend(ctx context.Context, msg jetstream.Msg, d Delivery, handle func(context.Context, Delivery) error) error {
	defer s.keepAlive(msg)()
	return s.handle(ctx, d, handle)
}

// handle hands over one record at a time, of whatever stream.
func (s *Subscription) handle(ctx context.Context, d Delivery, handle func(context.Context, Delivery) error) error {
	s.handling.Lock()
	defer s.handling.Unlock()
	return handle(ctx, d)
}

// ack waits for the server's word, also when the context has ended meanwhile: what is done should not come again.
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
