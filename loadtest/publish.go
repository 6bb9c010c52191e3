package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// published counts what all agents have published.
type published struct {
	acked, bytes, retried atomic.Int64

	ledger ledger
}

// sender publishes one agent's events in order, with a window of unacknowledged ones.
type sender struct {
	js     jetstream.JetStream
	window int           // with more than 1, an event that is published again stands behind later ones of its agent
	every  time.Duration // interval between events; 0: no pause
	first  time.Time     // start time: staggered, so that agents with a pause don't run in step
	count  *published
}

// flight is an event in flight.
type flight struct {
	msg    *nats.Msg
	future jetstream.PubAckFuture
}

// send publishes n events and returns when all are acknowledged.
func (s sender) send(ctx context.Context, a *agent, n int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	flights, slots := make(chan flight, s.window), make(chan struct{}, s.window)
	done := make(chan error, 1)
	go func() {
		err := s.collect(ctx, flights, slots)
		cancel(err)
		done <- err
	}()
	err := s.launch(ctx, a, n, flights, slots)
	close(flights)
	if collected := <-done; collected != nil {
		return collected
	}
	return err
}

func (s sender) launch(ctx context.Context, a *agent, n int, flights chan<- flight, slots chan<- struct{}) error {
	next := s.first
	for range n {
		if err := waitUntil(ctx, next); err != nil {
			return err
		}
		next = next.Add(s.every)
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		e := a.next()
		m, err := e.message()
		if err != nil {
			return err
		}
		e.sent(time.Now())
		future, err := s.js.PublishMsgAsync(m)
		if err != nil {
			return fmt.Errorf("publish: %w", err)
		}
		s.count.bytes.Add(int64(len(m.Data)))
		flights <- flight{m, future}
	}
	return nil
}

// sent records when an event with an expected effect was published.
func (e event) sent(at time.Time) {
	if e.makes != nil {
		e.makes.made = append(e.makes.made, at)
	}
	if e.retires != nil {
		e.retires.retired = append(e.retires.retired, at)
	}
}

func (s sender) collect(ctx context.Context, flights <-chan flight, slots <-chan struct{}) error {
	for f := range flights {
		select {
		case by := <-f.future.Ok():
			s.count.ledger.acked(f.msg, by)
		case err := <-f.future.Err():
			if err := s.again(ctx, f.msg, err); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		s.count.acked.Add(1)
		<-slots
	}
	return nil
}

// attempts is how often an event is published before the run fails, with longer and longer pauses: a stream may be without a leader for
// seconds.
const attempts = 12

// again republishes an event whose ack is missing because of err. It may already be in the log: the processor has
// to recognize the duplicate.
func (s sender) again(ctx context.Context, m *nats.Msg, err error) error {
	for n := range attempts {
		s.count.retried.Add(1)
		if err := waitUntil(ctx, time.Now().Add(10*time.Millisecond<<n)); err != nil {
			return err
		}
		// A new message: the client sets the reply subject of the one it gets.
		var by *jetstream.PubAck
		if by, err = s.js.PublishMsg(ctx, &nats.Msg{Subject: m.Subject, Header: m.Header, Data: m.Data}); err == nil {
			s.count.ledger.acked(m, by)
			return nil
		}
	}
	return fmt.Errorf("publish %s: %w", m.Subject, err)
}

func waitUntil(ctx context.Context, at time.Time) error {
	left := time.Until(at)
	if left <= 0 {
		return context.Cause(ctx)
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
