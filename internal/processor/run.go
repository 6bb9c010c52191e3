package processor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	"precis/handlers"
	"precis/internal/broker"
	"precis/internal/recovery"
)

// Run consumes until ctx ends, and then finishes what it began: applied events become durable, and decisions are
// published. It returns nil for an orderly end. It can be called once.
func (p *Processor) Run(ctx context.Context) error {
	run, stop := context.WithCancel(ctx)
	defer stop()
	sub, router, err := p.consumer()
	if err != nil {
		return err
	}
	for _, part := range p.parts {
		part.desk.start(run)
	}
	var others sync.WaitGroup
	others.Go(func() { p.tend(run) })
	others.Go(func() { p.reloads(run) })
	durable := p.follow()
	publishing, stopPublishing := context.WithCancel(context.WithoutCancel(ctx))
	defer stopPublishing()
	outboxes := p.publish(publishing)
	every := time.NewTicker(tellEvery)
	defer every.Stop()
	told := p.tell(run, every.C)
	context.AfterFunc(run, p.beginEnd)
	routed, cause := func() error { return nil }, p.bulk(run)
	if cause == nil {
		routed, cause = route(context.WithoutCancel(ctx), router)
	}
	if cause == nil {
		select {
		case <-run.Done():
		case cause = <-p.failed:
		case cause = <-sub.Failed():
		case cause = <-p.broker.Broken():
		}
	}
	cause = recovery.Explain(cause)
	p.beginEnd()
	// Close the subscriber first: its lanes close their batches, and only then do the router's handlers return.
	err = errors.Join(sub.Close(), routed())
	if unheard := sub.Err(); !errors.Is(cause, unheard) {
		err = errors.Join(err, unheard) // from a lane's last batch
	}
	err = errors.Join(cause, err)
	durable()
	stop()
	told()
	// A stuck handler may still write to its open batch, so nothing is committed any more then.
	err = errors.Join(err, p.drain(err == nil))
	others.Wait() // their turns are taken, or never will be
	stopPublishing()
	if unsent := outboxes(); cause == nil || !errors.Is(unsent, cause) {
		err = errors.Join(err, unsent) // else it is reported already
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
		Stream: broker.StreamEvents, Topic: handlers.Topic, Lanes: p, Before: p.before, HandMessages: handEvents, CloseTimeout: p.opts.CloseTimeout, AdvanceEvery: p.opts.AdvanceEvery,
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

// follow starts each partition's worker, and its wait for the disk; the returned function ends them once the lanes
// have ended.
func (p *Processor) follow() (end func()) {
	var ends []func()
	for _, part := range p.parts {
		ends = append(ends, part.start())
	}
	return func() {
		for _, end := range ends {
			end()
		}
	}
}

// publish starts the outboxes; the returned function waits for their end.
func (p *Processor) publish(ctx context.Context) func() error {
	var wg sync.WaitGroup
	errs := make([]error, len(p.parts))
	for i, part := range p.parts {
		part.outbox.stored = func(w wave) { p.keepNote(part, w) }
		wg.Go(func() {
			if err := part.outbox.Run(ctx); err != nil {
				errs[i] = fmt.Errorf("publish records of partition %d: %w", part.id, err)
				p.fail(errs[i])
			}
		})
	}
	return func() error {
		wg.Wait()
		return errors.Join(errs...)
	}
}

// drain ends the partitions after their lanes have ended; in an orderly end it finishes what was begun.
func (p *Processor) drain(orderly bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), p.opts.CloseTimeout)
	defer cancel()
	errs := make([]error, len(p.parts))
	var wg sync.WaitGroup
	for i, part := range p.parts {
		if !orderly {
			close(part.ended)
			continue
		}
		wg.Go(func() { errs[i] = part.drain(ctx) })
	}
	wg.Wait()
	for i, part := range p.parts {
		if orderly && errs[i] == nil { // all have published what they had
			part.do(part.keepUp)
			errs[i] = part.settle()
		}
	}
	for _, part := range p.parts {
		<-part.desk.stopped()
	}
	return errors.Join(errs...)
}
