package remote

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/nats-io/nats.go/jetstream"

	"precis/cmd/processor/console"
	"precis/events"
	"precis/internal/broker"
)

// Source reads one stream in order: what is there, and then what comes. One goroutine owns it.
type Source struct {
	js      jetstream.JetStream
	stream  string
	filters []string

	past    chan Entry // what was there when the source was opened; closed at its end
	end     error      // why the past ended; to be read behind its end
	last    uint64     // the last sequence of the past
	missing []broker.Missing
	stop    context.CancelFunc
	live    jetstream.MessagesContext // what comes; nil until it is asked for
}

// Read opens a stream at its start, or behind its end, through filters (none: everything).
func (s *Server) Read(ctx context.Context, stream string, filters []string, from jetstream.DeliverPolicy) (*Source, error) {
	ctx, stop := context.WithCancel(ctx)
	src := &Source{js: s.JS, stream: stream, filters: filters, past: make(chan Entry), stop: stop}
	var state broker.StreamState
	err := s.may.ask(ctx, func(ctx context.Context) (err error) {
		state, err = broker.StateOf(ctx, s.JS, stream)
		return err
	})
	if err != nil {
		stop()
		return nil, Explain("read "+stream, err)
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
func (s *Source) scan(ctx context.Context) {
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

// Before returns the next message of those that were there; ok is false at their end.
func (s *Source) Before(ctx context.Context) (e Entry, ok bool, err error) {
	if e, ok = <-s.past; ok {
		return e, true, nil
	}
	switch {
	case s.end == nil:
		return e, false, nil
	case ctx.Err() != nil:
		return e, false, ctx.Err()
	default:
		return e, false, Explain("read the log", s.end)
	}
}

// Next waits for the next message, of those that were there and then of those that come.
func (s *Source) Next(ctx context.Context) (Entry, error) {
	if e, ok, err := s.Before(ctx); ok || err != nil {
		return e, err
	}
	if s.live == nil {
		if err := s.follow(ctx); err != nil {
			return Entry{}, err
		}
	}
	msg, err := s.live.Next(jetstream.NextContext(ctx))
	if err != nil {
		if ctx.Err() != nil {
			return Entry{}, ctx.Err()
		}
		return Entry{}, Explain("read the log", err)
	}
	e, err := newEntry(msg)
	if err != nil {
		return Entry{}, Explain("read the log", err)
	}
	return e, nil
}

// follow opens the stream behind its past.
func (s *Source) follow(ctx context.Context) error {
	consumer, err := s.js.OrderedConsumer(ctx, s.stream, jetstream.OrderedConsumerConfig{
		FilterSubjects: s.filters, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: s.last + 1,
	})
	if err == nil {
		s.live, err = consumer.Messages()
	}
	if err != nil {
		return Explain("read "+s.stream, err)
	}
	return nil
}

// Close ends the reading.
func (s *Source) Close() {
	s.stop()
	for range s.past { // until the scan has ended
	}
	if s.live != nil {
		s.live.Stop()
	}
}

// Rest reads what was there when the source was opened. A gap in it is an error behind everything that could be read.
func (s *Source) Rest(ctx context.Context, visit func(Entry) error) error {
	for {
		e, ok, err := s.Before(ctx)
		if err != nil {
			return err
		}
		if !ok {
			return s.Gaps()
		}
		if err := visit(e); err != nil {
			return err
		}
	}
}

// Gaps says what of the past did not come.
func (s *Source) Gaps() error {
	var errs []error
	for _, m := range s.missing {
		errs = append(errs, console.Wrong("the log has a gap: %s is deleted or unreadable", m))
	}
	return errors.Join(errs...)
}

// Entry is one stored message of the three streams.
type Entry struct {
	Seq    uint64
	Time   time.Time
	Typ    events.Type // of the subject; empty for a subject of no known form
	Thread string      // empty where the subject names none
	Raw    events.Raw
	Said   string // in place of what matters of it; empty: that
}

func newEntry(msg jetstream.Msg) (Entry, error) {
	meta, err := msg.Metadata()
	if err != nil {
		return Entry{}, err
	}
	return storedEntry(broker.Stored{
		Subject: msg.Subject(), Header: msg.Headers(), Data: msg.Data(), Seq: meta.Sequence.Stream, Time: meta.Timestamp,
	}), nil
}

func storedEntry(m broker.Stored) Entry {
	e := Entry{
		Seq: m.Seq, Time: m.Time,
		Raw: events.Raw{Subject: m.Subject, Header: m.Header, Body: m.Data},
	}
	t, token, ok := events.ParseSubject(m.Subject)
	if !ok {
		return e
	}
	e.Typ = t
	if thread, err := events.ThreadOf(token); err == nil {
		e.Thread = thread
	}
	return e
}

// Data is the event's data without its envelope; nil where there is none to be found.
func (e Entry) Data() []byte {
	data, rej := events.Data(e.Raw)
	if rej != nil {
		return nil
	}
	return data
}

// MergeRest reads what was there when the sources were opened, in the order of the server's clock; at one
// time, in the order of the sources: an event before the summary that it led to.
func MergeRest(ctx context.Context, sources []*Source, visit func(Entry) error) error {
	heads := make([]*Entry, len(sources))
	for {
		first := -1
		for i, s := range sources {
			if heads[i] == nil {
				e, ok, err := s.Before(ctx)
				if err != nil {
					return err
				}
				if ok {
					heads[i] = &e
				}
			}
			if heads[i] != nil && (first < 0 || heads[i].Time.Before(heads[first].Time)) {
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

// Follow visits what arrives from now on, in the order of its arrival, until ctx ends or reading fails.
func Follow(ctx context.Context, sources []*Source, visit func(Entry) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	arrivals := make(chan Entry)
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

func visitAll(ctx context.Context, arrivals <-chan Entry, visit func(Entry) error) error {
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
func (s *Source) forward(ctx context.Context, to chan<- Entry) error {
	for {
		e, err := s.Next(ctx)
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

// Filter is where a type's events of a thread (or, with *, of all) are stored.
func Filter(t events.Type, token string) string {
	if t.Incoming() {
		return "*." + string(t) + "." + token
	}
	return string(t) + "." + token
}

// ThreadFilter is where EVENTS keeps a thread: <partition>.<type>.<thread>, a type being two tokens.
func ThreadFilter(token string) string { return "*.*.*." + token }

// Exported is an event's data as a file holds it. A file has no envelope; where the envelope's id is what
// tells an edit or a fork from another, it becomes the event's own.
func Exported(e Entry) ([]byte, error) {
	event, rejection := events.Decode(e.Raw, events.Limits{})
	if rejection != nil {
		return nil, rejection
	}
	data := e.Data()
	switch {
	case event.CloudEventID == "":
	case event.Edit != nil && event.Edit.EditID == "":
		return withID(data, "edit_id", event.CloudEventID)
	case event.Fork != nil && event.Fork.ForkID == "":
		return withID(data, "fork_id", event.CloudEventID)
	}
	return data, nil
}

func withID(data []byte, member, id string) ([]byte, error) {
	members := map[string]jsontext.Value{}
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, fmt.Errorf("read event: %w", err)
	}
	quoted, err := jsontext.AppendQuote(nil, id)
	if err != nil {
		return nil, fmt.Errorf("quote %s: %w", member, err)
	}
	members[member] = quoted
	return json.Marshal(members, json.Deterministic(true))
}
