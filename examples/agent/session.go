package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/nats-io/nats.go"

	"precis/events"
)

// session is the agent's side of one thread.
type session struct {
	thread    string
	out       io.Writer
	publisher *events.Publisher
	gate      *events.Gate
	records   chan events.Record
	followed  chan error
	stop      context.CancelFunc
}

// newSession subscribes before anything is published, so that no summary is missed.
func newSession(ctx context.Context, nc *nats.Conn, thread string, out io.Writer) (*session, error) {
	publisher, err := events.NewPublisher(nc, events.PublisherOptions{})
	if err != nil {
		return nil, err
	}
	gate, err := events.NewGate(nc, events.GateOptions{})
	if err != nil {
		return nil, err
	}
	// Without a durable name the subscription ends with the session, and no other session can share it.
	subscription, err := events.Subscribe(ctx, nc, events.SubscriptionOptions{
		Thread: thread, Types: []events.Type{events.SummaryCreated, events.SummaryInvalidated},
	})
	if err != nil {
		return nil, err
	}
	s := &session{
		thread: thread, out: out, publisher: publisher, gate: gate,
		records: make(chan events.Record, 16), followed: make(chan error, 1),
	}
	ctx, s.stop = context.WithCancel(ctx)
	go func() { s.followed <- subscription.Run(ctx, s.remember) }()
	return s, nil
}

// remember records one delivery; the next one arrives when it returns.
func (s *session) remember(ctx context.Context, d events.Delivery) error {
	record, err := d.Record()
	if err != nil {
		return err
	}
	select {
	case s.records <- record:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *session) say(ctx context.Context, role, text string) error {
	_, err := s.publisher.Message(ctx, s.thread, &events.Message{Role: role, Content: events.TextContent(text)})
	return err
}

func (s *session) call(ctx context.Context, call events.ToolCall) error {
	_, err := s.publisher.Message(ctx, s.thread, &events.Message{Role: "assistant", ToolCalls: []events.ToolCall{call}})
	return err
}

// settled waits until everything published is stored and decided, and no summary of the thread is in progress.
func (s *session) settled(ctx context.Context) error {
	if err := s.publisher.Flush(ctx); err != nil {
		return err
	}
	return s.gate.Wait(ctx, s.thread, s.publisher.LastSeq())
}

// summaryOf waits for the summary of one message.
func (s *session) summaryOf(ctx context.Context, message string) (*events.Summary, error) {
	for {
		record, err := s.next(ctx)
		if err != nil {
			return nil, fmt.Errorf("wait for the summary of %s: %w", message, err)
		}
		if summary, ok := record.(*events.Summary); ok && slices.Equal(summary.SourceMessageIDs, []string{message}) {
			return summary, nil
		}
	}
}

// invalidated waits until a summary is invalidated.
func (s *session) invalidated(ctx context.Context) (*events.Invalidated, error) {
	for {
		record, err := s.next(ctx)
		if err != nil {
			return nil, fmt.Errorf("wait for an invalidation: %w", err)
		}
		if stale, ok := record.(*events.Invalidated); ok {
			return stale, nil
		}
	}
}

func (s *session) next(ctx context.Context) (events.Record, error) {
	select {
	case record := <-s.records:
		return record, nil
	case err := <-s.followed:
		return nil, fmt.Errorf("follow the records: %w", err)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// close flushes the publisher and ends the subscription.
func (s *session) close(ctx context.Context) error {
	err := s.publisher.Close(ctx)
	s.stop()
	return errors.Join(err, <-s.followed)
}
