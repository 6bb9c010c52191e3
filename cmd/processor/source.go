package main

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"precis/events"
	"precis/internal/broker"
)

// source reads one stream in order: what is there, and then what comes. One goroutine owns it.
type source struct {
	js      jetstream.JetStream
	stream  string
	filters []string

	past    chan entry // what was there when the source was opened; closed at its end
	end     error      // why the past ended; to be read behind its end
	last    uint64     // the last sequence of the past
	missing []broker.Missing
	stop    context.CancelFunc
	live    jetstream.MessagesContext // what comes; nil until it is asked for
}

// read opens a stream at its start, or behind its end, through filters (none: everything).
func (s *server) read(ctx context.Context, stream string, filters []string, from jetstream.DeliverPolicy) (*source, error) {
	ctx, stop := context.WithCancel(ctx)
	src := &source{js: s.js, stream: stream, filters: filters, past: make(chan entry), stop: stop}
	var state broker.StreamState
	err := s.may.ask(ctx, func(ctx context.Context) (err error) {
		state, err = broker.StateOf(ctx, s.js, stream)
		return err
	})
	if err != nil {
		stop()
		return nil, serverError("read "+stream, err)
	}
	src.last = state.Last
	if from == jetstream.DeliverNewPolicy || state.Msgs == 0 && state.Holes() == 0 {
		close(src.past)
		return src, src.follow(ctx)
	}
	go src.scan(ctx)
	return src, nil
}

// scan reads the past. It does so without counting what is to come: a server counts what it can't read, too.
func (s *source) scan(ctx context.Context) {
	defer close(s.past)
	log := broker.NewLogReader(s.js, s.stream).Watch(func(m broker.Missing) { s.missing = append(s.missing, m) })
	s.end = log.Scan(ctx, 1, s.filters, func(m broker.Stored) error {
		select {
		case s.past <- storedEntry(m):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}, func(_, last uint64) { s.last = last })
}

// before returns the next message of those that were there; ok is false at their end.
func (s *source) before(ctx context.Context) (e entry, ok bool, err error) {
	if e, ok = <-s.past; ok {
		return e, true, nil
	}
	switch {
	case s.end == nil:
		return e, false, nil
	case ctx.Err() != nil:
		return e, false, ctx.Err()
	default:
		return e, false, serverError("read the log", s.end)
	}
}

// next waits for the next message, of those that were there and then of those that come.
func (s *source) next(ctx context.Context) (entry, error) {
	if e, ok, err := s.before(ctx); ok || err != nil {
		return e, err
	}
	if s.live == nil {
		if err := s.follow(ctx); err != nil {
			return entry{}, err
		}
	}
	msg, err := s.live.Next(jetstream.NextContext(ctx))
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
	return e, nil
}

// follow opens the stream behind its past.
func (s *source) follow(ctx context.Context) error {
	consumer, err := s.js.OrderedConsumer(ctx, s.stream, jetstream.OrderedConsumerConfig{
		FilterSubjects: s.filters, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: s.last + 1,
	})
	if err == nil {
		s.live, err = consumer.Messages()
	}
	if err != nil {
		return serverError("read "+s.stream, err)
	}
	return nil
}

func (s *source) close() {
	s.stop()
	for range s.past { // until the scan has ended
	}
	if s.live != nil {
		s.live.Stop()
	}
}

// rest reads what was there when the source was opened. A gap in it is an error behind everything that could be read.
func (s *source) rest(ctx context.Context, visit func(entry) error) error {
	for {
		e, ok, err := s.before(ctx)
		if err != nil {
			return err
		}
		if !ok {
			return s.gaps()
		}
		if err := visit(e); err != nil {
			return err
		}
	}
}

// gaps says what of the past did not come.
func (s *source) gaps() error {
	var errs []error
	for _, m := range s.missing {
		errs = append(errs, wrong("the log has a gap: %s is deleted or unreadable", m))
	}
	return errors.Join(errs...)
}

// entry is one stored message of the three streams.
type entry struct {
	seq    uint64
	time   time.Time
	typ    events.Type // of the subject; empty for a subject of no known form
	thread string      // empty where the subject names none
	raw    events.Raw
}

func newEntry(msg jetstream.Msg) (entry, error) {
	meta, err := msg.Metadata()
	if err != nil {
		return entry{}, err
	}
	return storedEntry(broker.Stored{
		Subject: msg.Subject(), Header: msg.Headers(), Data: msg.Data(), Seq: meta.Sequence.Stream, Time: meta.Timestamp,
	}), nil
}

func storedEntry(m broker.Stored) entry {
	e := entry{
		seq: m.Seq, time: m.Time,
		raw: events.Raw{Subject: m.Subject, Header: m.Header, Body: m.Data},
	}
	t, token, ok := events.ParseSubject(m.Subject)
	if !ok {
		return e
	}
	e.typ = t
	if thread, err := events.ThreadOf(token); err == nil {
		e.thread = thread
	}
	return e
}

// data is the event's data without its envelope; nil where there is none to be found.
func (e entry) data() []byte {
	data, rej := events.Data(e.raw)
	if rej != nil {
		return nil
	}
	return data
}

// mergeRest reads what was there when the sources were opened, in the order of the server's clock; at one
// time, in the order of the sources: an event before the summary that it led to.
func mergeRest(ctx context.Context, sources []*source, visit func(entry) error) error {
	heads := make([]*entry, len(sources))
	for {
		first := -1
		for i, s := range sources {
			if heads[i] == nil {
				e, ok, err := s.before(ctx)
				if err != nil {
					return err
				}
				if ok {
					heads[i] = &e
				}
			}
			if heads[i] != nil && (first < 0 || heads[i].time.Before(heads[first].time)) {
				first = i
			}
		}
		if first < 0 {
			return nil
		}
		if err := visit(*heads[first]); err != nil {
			return err
		}
		heads[first] = nil
	}
}

// follow visits what arrives from now on, in the order of its arrival, until ctx ends or reading fails.
func follow(ctx context.Context, sources []*source, visit func(entry) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	arrivals := make(chan entry)
	done := make(chan struct{}, len(sources))
	for _, s := range sources {
		go func() {
			cancel(s.forward(ctx, arrivals))
			done <- struct{}{}
		}()
	}
	err := visitAll(ctx, arrivals, visit)
	cancel(err)
	for range sources {
		<-done
	}
	return err
}

func visitAll(ctx context.Context, arrivals <-chan entry, visit func(entry) error) error {
	for {
		select {
		case e := <-arrivals:
			if err := visit(e); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// forward reads until it fails.
func (s *source) forward(ctx context.Context, to chan<- entry) error {
	for {
		e, err := s.next(ctx)
		if err != nil {
			return err
		}
		select {
		case to <- e:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
