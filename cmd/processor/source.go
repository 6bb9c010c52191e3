package main

import (
	"context"

	"github.com/nats-io/nats.go/jetstream"

	"precis/events"
	"precis/internal/broker"
)

// streamOf is the stream that holds a type.
func streamOf(t events.Type) string {
	switch {
	case t.Incoming():
		return broker.StreamEvents
	case t == events.EventRejected:
		return broker.StreamRejected
	default:
		return broker.StreamSummaries
	}
}

// source reads one stream in order.
type source struct {
	messages jetstream.MessagesContext
	// left counts what was there when the source was opened and has not been read.
	left uint64
}

// read opens a stream at its start, or behind its end, through filters (none: everything).
func (s *server) read(ctx context.Context, stream string, filters []string, from jetstream.DeliverPolicy) (*source, error) {
	consumer, err := s.js.OrderedConsumer(ctx, stream, jetstream.OrderedConsumerConfig{
		FilterSubjects: filters, DeliverPolicy: from,
	})
	if err != nil {
		return nil, serverError("read "+stream, err)
	}
	info, err := consumer.Info(ctx)
	if err != nil {
		return nil, serverError("read "+stream, err)
	}
	// What arrived between the consumer's making and this answer is delivered as well.
	left := info.NumPending + info.Delivered.Consumer
	if from == jetstream.DeliverNewPolicy {
		left = 0
	}
	messages, err := consumer.Messages()
	if err != nil {
		return nil, serverError("read "+stream, err)
	}
	return &source{messages: messages, left: left}, nil
}

// next waits for the next message.
func (s *source) next(ctx context.Context) (entry, error) {
	msg, err := s.messages.Next(jetstream.NextContext(ctx))
	if err != nil {
		if ctx.Err() != nil {
			return entry{}, ctx.Err()
		}
		return entry{}, serverError("read the log", err)
	}
	e, err := newEntry(msg)
	if err != nil {
		return entry{}, serverError("read the log", err)
	}
	if s.left > 0 {
		s.left--
	}
	return e, nil
}

func (s *source) close() { s.messages.Stop() }

// rest reads what was there when the source was opened.
func (s *source) rest(ctx context.Context, visit func(entry) error) error {
	for s.left > 0 {
		e, err := s.next(ctx)
		if err != nil {
			return err
		}
		if err := visit(e); err != nil {
			return err
		}
	}
	return nil
}
