package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/config"
	"precis/internal/processor"
)

// serveDemo runs a processor as it is by default, whatever the environment says, on a free port.
func serveDemo(ctx context.Context, a *app, dir string, opened chan<- string) error {
	cfg := config.Default()
	cfg.DataDir, cfg.NATS.Listen, cfg.HTTP.Listen = dir, "127.0.0.1:0", ""
	log := zerolog.New(a.stderr).Level(zerolog.ErrorLevel)
	opts := processor.Options{Config: cfg, Version: version(), Logger: log}
	return processor.Serve(ctx, opts, func(p *processor.Processor) { opened <- p.Broker().URL() })
}

// stage is the demo's side of the processor: what agents and those who follow them hold of it.
type stage struct {
	*server
	agents  map[string]*events.Publisher // by thread
	conns   []*nats.Conn
	last    map[string]uint64 // thread → the sequence of the last event it has in the log
	records chan events.Record
	ended   chan error // the subscription's end
	stop    context.CancelFunc
}

// newStage connects every agent by itself, and follows the records before anything is published.
func newStage(ctx context.Context, a *app, url string, actors []actor) (_ *stage, err error) {
	s := &stage{
		agents: map[string]*events.Publisher{}, last: map[string]uint64{},
		records: make(chan events.Record), ended: make(chan error, 1),
	}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if s.server, err = (serverFlags{NATS: url}).connect(a); err != nil {
		return nil, err
	}
	for _, act := range actors {
		conn, err := events.Connect(url)
		if err != nil {
			return nil, err
		}
		s.conns = append(s.conns, conn)
		if s.agents[act.thread], err = events.NewPublisher(conn, events.PublisherOptions{Unchecked: true}); err != nil {
			return nil, err
		}
	}
	return s, s.follow(ctx)
}

func (s *stage) follow(ctx context.Context) error {
	subscription, err := events.Subscribe(ctx, s.conn, events.SubscriptionOptions{
		Durable: "demo", Types: []events.Type{events.SummaryCreated, events.SummaryInvalidated},
	})
	if err != nil {
		return err
	}
	ctx, s.stop = context.WithCancel(ctx)
	go func() {
		s.ended <- subscription.Run(ctx, func(ctx context.Context, d events.Delivery) error {
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
		})
	}()
	return nil
}

// close ends what was started; what an agent has not said by now it never will.
func (s *stage) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for _, agent := range s.agents {
		_ = agent.Close(ctx)
	}
	if s.stop != nil {
		s.stop()
		if err := <-s.ended; err != nil {
			s.ended <- err // for whoever asks next
		}
	}
	for _, conn := range s.conns {
		conn.Close()
	}
	if s.server != nil {
		s.server.close()
	}
}

// next waits for the next record.
func (s *stage) next(ctx context.Context) (events.Record, error) {
	select {
	case record := <-s.records:
		return record, nil
	case err := <-s.ended:
		s.ended <- err
		return nil, fmt.Errorf("follow the summaries: %w", err)
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for a summary: %w", context.Cause(ctx))
	}
}

// counters are a thread's, with everything in them that the thread has in the log.
func (s *stage) counters(ctx context.Context, thread string) (threadReply, error) {
	var counters threadReply
	reply, err := s.ask(ctx, threadEndpoint, thread, map[string]uint64{"min_event_seq": s.last[thread]})
	if err == nil {
		err = json.Unmarshal(reply, &counters)
	}
	if err != nil {
		return counters, fmt.Errorf("ask for the counters of %s: %w", thread, err)
	}
	return counters, nil
}

// rejections waits for the first n in REJECTED.
func (s *stage) rejections(ctx context.Context, n int) ([]events.Rejected, error) {
	log, err := s.read(ctx, broker.StreamRejected, nil, jetstream.DeliverAllPolicy)
	if err != nil {
		return nil, err
	}
	defer log.close()
	var all []events.Rejected
	for range n {
		e, err := log.next(ctx)
		if err != nil {
			return nil, errors.Join(errors.New("wait for rejections"), err)
		}
		var r events.Rejected
		if err := json.Unmarshal(e.raw.Body, &r); err != nil {
			return nil, fmt.Errorf("read rejection: %w", err)
		}
		all = append(all, r)
	}
	return all, nil
}
