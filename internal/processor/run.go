package processor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	"precis/handlers"
	"precis/internal/broker"
	"precis/internal/recovery"
	"precis/summarize/tokens"
)

// Run consumes until ctx ends, and then finishes what it began: applied events become durable, and decisions are
// published. It returns nil for an orderly end. It can be called once.
func (p *Processor) Run(ctx context.Context) error {
	run, stop := p.untilRelieved(ctx)
	defer stop()
	publishing, stopPublishing := context.WithCancel(context.WithoutCancel(ctx))
	defer stopPublishing()
	p.shares.live = func(part *partition) { p.live(run, publishing, part) }
	for _, part := range p.parts() {
		p.shares.live(part)
	}
	leave := p.takePart(ctx)
	var others sync.WaitGroup
	others.Go(func() { p.tend(run) })
	others.Go(func() { p.reloads(run) })
	others.Go(func() { p.keepParking(run) })
	others.Go(p.vocabularies)
	every := time.NewTicker(tellEvery)
	defer every.Stop()
	told := p.tell(run, every.C)
	context.AfterFunc(run, p.beginEnd)
	cause := p.bulk(run, p.parts(), p.catching)
	var err error
	if cause == nil {
		cause, err = p.read(run)
	}
	cause = recovery.Explain(cause)
	p.beginEnd()
	p.shares.end()
	err = errors.Join(cause, err)
	parts, lost := p.parts(), []*partition(nil)
	parts = slices.DeleteFunc(slices.Clone(parts), func(part *partition) bool {
		if part.rivaled.Load() {
			lost = append(lost, part)
		}
		return part.rivaled.Load()
	})
	for _, part := range slices.Concat(parts, lost) {
		part.life.settled()
	}
	stop()
	told()
	// A stuck handler may still write to its open batch, so nothing is committed any more then.
	err = errors.Join(err, p.drain(parts, err == nil))
	_ = p.drain(lost, false) // reported when they were lost
	others.Wait()            // their turns are taken, or never will be
	stopPublishing()
	if unsent := unsent(parts); cause == nil || !errors.Is(unsent, cause) {
		err = errors.Join(err, unsent) // else it is reported already
	}
	return errors.Join(err, leave())
}

// vocabularies loads what the policies count tokens with: it takes a core a fifth of a second, which the first events would wait for.
func (p *Processor) vocabularies() {
	for _, policy := range p.Policies() {
		_, _ = tokens.For(policy.Tokenizer) // an unknown name is reported with the first event that is counted by it
	}
}

// untilEnd returns a context that ends, at the latest, when the processor begins to end.
func (p *Processor) untilEnd(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-p.stopping:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// liveGarbage is how many bytes of garbage are collected at once: a hundred thousand events of 256 bytes make as much.
const liveGarbage = 128 << 20

// askAgain is how long lanes wait before they ask again for a stream that no server has answered for.
const askAgain = 250 * time.Millisecond

// read has the lanes consume until the processor is to end, and returns why, and what has failed as they were closed. They begin
// again each time that the set of partitions has changed, and wait while no server answers for their stream.
func (p *Processor) read(ctx context.Context) (cause, err error) {
	defer recovery.CollectFrom(liveGarbage)()
	for waits := false; ; {
		r, cause := p.consume(ctx)
		var again <-chan time.Time
		if broker.Unanswered(cause) {
			if !waits {
				p.log.Warn().Err(cause).Msg("waiting for a server that answers for the stream")
			}
			again = time.After(askAgain)
			cause = r.close(cause)
		}
		waits = again != nil
		var next *change
		if cause == nil {
			next, cause = p.await(ctx, r, again)
		}
		if next != nil {
			if cause = r.close(nil); cause == nil {
				p.alter(*next)
				continue
			}
			next.done <- errEnding
		}
		cause = recovery.Explain(cause)
		p.beginEnd()
		return cause, r.close(cause)
	}
}

// await returns a change of the set, which is none when the lanes are to begin again, or why they are to end; neither if ctx has ended.
func (p *Processor) await(ctx context.Context, r *reading, again <-chan time.Time) (*change, error) {
	select {
	case <-ctx.Done():
		return nil, nil
	case <-again:
		return noChange(), nil
	case next := <-p.shares.changes:
		return &next, nil
	case err := <-p.failed:
		return nil, err
	case err := <-r.failed():
		return nil, err
	case err := <-p.broker.Broken():
		return nil, err
	}
}

// noChange is a change that changes nothing.
func noChange() *change { return &change{make: func() {}, done: make(chan error, 1)} }

// alter makes a change, and those that wait to be made.
func (p *Processor) alter(next change) {
	for {
		next.make()
		next.done <- nil
		select {
		case next = <-p.shares.changes:
		default:
			return
		}
	}
}

// reading is a subscriber and its router; both are nil if there is no lane.
type reading struct {
	sub    *broker.Subscriber
	routed func() error
	closed bool
}

// consume begins to read for the partitions that have lanes.
func (p *Processor) consume(ctx context.Context) (*reading, error) {
	r := &reading{routed: func() error { return nil }}
	if len(p.List()) == 0 {
		return r, nil
	}
	sub, router, err := p.consumer()
	if err != nil {
		return r, err
	}
	r.sub = sub
	r.routed, err = route(context.WithoutCancel(ctx), router)
	return r, err
}

func (r *reading) failed() <-chan error {
	if r.sub == nil {
		return nil
	}
	return r.sub.Failed()
}

// close ends the lanes, and returns what has failed and is not the cause. The subscriber goes first: its lanes close their batches,
// and only then do the router's handlers return.
func (r *reading) close(cause error) error {
	if r.sub == nil || r.closed {
		return nil
	}
	r.closed = true
	err := errors.Join(r.sub.Close(), r.routed())
	if unheard := r.sub.Err(); !errors.Is(cause, unheard) {
		err = errors.Join(err, unheard) // from a lane's last batch
	}
	return err
}

// route starts the router and returns once it runs, or why it could not start; end closes it and waits for it. A
// router that does not run can't be closed: Close would wait for handlers that never started.
func route(ctx context.Context, router *message.Router) (end func() error, err error) {
	ended := make(chan error, 1)
	go func() { ended <- router.Run(ctx) }()
	select {
	case <-router.Running():
		return func() error { return errors.Join(router.Close(), <-ended) }, nil
	case err = <-ended:
		return func() error { return nil }, fmt.Errorf("consume events: %w", err)
	}
}

// consumer builds the Watermill part.
func (p *Processor) consumer() (*broker.Subscriber, *message.Router, error) {
	sub, err := broker.NewSubscriber(p.broker.JetStream(), broker.SubscriberConfig{
		Stream: broker.StreamEvents, Topic: handlers.Topic, Lanes: p, Whole: true, Before: p.before, HandMessages: handEvents, BatchMessages: batchEvents,
		CloseTimeout: p.opts.CloseTimeout, Backlog: &p.backlog, AdvanceEvery: p.opts.AdvanceEvery,
		Missing: p.missing, Resumed: p.sameStreams, Logger: p.log,
	})
	if err != nil {
		return nil, nil, err
	}
	router, err := message.NewRouter(message.RouterConfig{CloseTimeout: p.opts.CloseTimeout}, watermill.NopLogger{})
	if err != nil {
		return nil, nil, fmt.Errorf("make router: %w", err)
	}
	handlers.Handlers{Steps: p, Logger: p.log}.Register(router, sub)
	return sub, router, nil
}

// life is what runs beside a partition's lane.
type life struct {
	settled func()     // ends the waits for the disk, once the lane has ended
	rest    func()     // ends the jobs
	quiet   func()     // ends the outbox
	unsent  chan error // capacity 1: why the outbox has ended
}

// live starts a partition's jobs, which end with run, its worker, its wait for the disk, and its outbox, which ends with publishing.
func (p *Processor) live(run, publishing context.Context, part *partition) {
	working, rest := context.WithCancel(run)
	sending, quiet := context.WithCancel(publishing)
	part.desk.start(working)
	part.life = life{settled: part.start(), rest: rest, quiet: quiet, unsent: make(chan error, 1)}
	part.outbox.stored = func(w wave) { p.keepNote(part, w) }
	go func() {
		err := part.outbox.Run(sending)
		if err != nil {
			err = fmt.Errorf("publish records of partition %d: %w", part.id, err)
			part.fail(err)
		}
		part.life.unsent <- err
	}()
}

// unsent waits until the outboxes have ended, and returns why they could not go on.
func unsent(parts []*partition) error {
	errs := make([]error, len(parts))
	for i, part := range parts {
		errs[i] = <-part.life.unsent
	}
	return errors.Join(errs...)
}

// drain ends partitions after their lanes have ended; in an orderly end it finishes what was begun.
func (p *Processor) drain(parts []*partition, orderly bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), p.opts.CloseTimeout)
	defer cancel()
	errs := make([]error, len(parts))
	var wg sync.WaitGroup
	for i, part := range parts {
		if !orderly {
			close(part.ended)
			continue
		}
		wg.Go(func() { errs[i] = part.drain(ctx) })
	}
	wg.Wait()
	for i, part := range parts {
		if orderly && errs[i] == nil { // all have published what they had
			part.do(part.keepUp)
			errs[i] = part.settle()
		}
	}
	for _, part := range parts {
		<-part.desk.stopped()
	}
	return errors.Join(errs...)
}
