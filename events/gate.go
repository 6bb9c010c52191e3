package events

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// DefaultGateWait is how long a Gate holds at most. A cheap model summarizes 50,000 characters in a few
	// seconds; the processor's own timeout for a call is 30s.
	DefaultGateWait = 30 * time.Second
	// gatePause is the pause before the log is followed again after a fault.
	gatePause = 50 * time.Millisecond
	// gateRequest bounds what is asked of the server before the log is followed: a request that a server took with it
	// when it went away is never answered, and is made again.
	gateRequest = 2 * time.Second
	// gateMemory is how many threads a gate remembers; beyond it, it forgets all and reads again.
	gateMemory = 10_000
)

// GateOptions are a Gate's settings; a zero field takes its default.
type GateOptions struct {
	// MaxWait bounds one Wait. Default: DefaultGateWait.
	MaxWait time.Duration
}

// Gate holds a session's user while summaries of its thread are in the making, so that the next prompt is built
// on them. It reads the log: an agent that has just come up waits for what others have started. What was not
// yet started when Wait is called is not waited for.
//
// It is safe for concurrent use and starts nothing of its own.
type Gate struct {
	js      jetstream.JetStream
	maxWait time.Duration

	mu      sync.Mutex
	made    time.Time         // when the stream was made that settled is of
	settled map[string]uint64 // thread's token → the sequence up to which every summary that was started has ended
}

// NewGate returns a gate over a connection.
func NewGate(nc *nats.Conn, opts GateOptions) (*Gate, error) {
	if opts.MaxWait < 0 {
		return nil, errors.New("gate options: negative wait")
	}
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, fmt.Errorf("make gate: %w", err)
	}
	return &Gate{js: js, maxWait: orDefault(opts.MaxWait, DefaultGateWait), settled: map[string]uint64{}}, nil
}

// Wait holds while a summary of the thread is started and neither created nor failed, and returns at once where
// there is none. It fails with ErrGateTimeout when the gate's bound is reached, and with the context's error when
// that ends first: in both cases a summary may still be on its way, and the log goes on without it.
func (g *Gate) Wait(ctx context.Context, thread string) error {
	token, err := Token(thread)
	if err != nil {
		return fmt.Errorf("wait for summaries: %w", err)
	}
	bounded, cancel := context.WithTimeoutCause(ctx, g.maxWait, ErrGateTimeout)
	defer cancel()
	for {
		err := g.follow(bounded, token)
		if err == nil {
			return nil
		}
		if bounded.Err() != nil {
			return fmt.Errorf("wait for summaries: %w", context.Cause(bounded))
		}
		if errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, nats.ErrConnectionClosed) {
			return fmt.Errorf("wait for summaries: %w", err)
		}
		pause(bounded, gatePause)
	}
}

// follow reads the thread's log from where all was settled until all is settled again.
func (g *Gate) follow(ctx context.Context, token string) error {
	asking, cancel := context.WithTimeout(ctx, gateRequest)
	defer cancel()
	stream, err := g.js.Stream(asking, StreamSummaries)
	if err != nil {
		return err
	}
	last, err := stream.GetLastMsgForSubject(asking, string(SummaryStarted)+"."+token)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	from := g.settledAt(token, stream.CachedInfo().Created)
	if last.Sequence <= from {
		return nil
	}
	consumer, err := stream.CreateConsumer(asking, gateConsumer(token, from+1))
	if err != nil {
		return err
	}
	defer g.forget(stream, consumer)
	upTo, err := untilSettled(ctx, consumer, last.Sequence)
	if err == nil {
		g.settle(token, upTo)
	}
	return err
}

// gateConsumer reads the headers of what starts and ends summaries.
func gateConsumer(token string, from uint64) jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		FilterSubjects: []string{
			string(SummaryStarted) + "." + token, string(SummaryCreated) + "." + token, string(SummaryFailed) + "." + token,
		},
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: from,
		AckPolicy: jetstream.AckNonePolicy, HeadersOnly: true, MemoryStorage: true, Replicas: 1,
		InactiveThreshold: 10 * time.Second, // where deleting it fails
	}
}

// untilSettled reads until all that was started has ended, at least up to a sequence that is known to be there.
func untilSettled(ctx context.Context, consumer jetstream.Consumer, atLeast uint64) (upTo uint64, err error) {
	// Short pulls, so that a server that was started anew, and has forgotten the consumer, is noticed.
	records, err := consumer.Messages(jetstream.PullExpiry(2*time.Second), jetstream.PullHeartbeat(500*time.Millisecond))
	if err != nil {
		return 0, err
	}
	defer records.Stop()
	open := map[string]bool{}
	for {
		msg, err := records.Next(jetstream.NextContext(ctx))
		if err != nil {
			return 0, err
		}
		d, err := deliveryOf(msg)
		if err != nil {
			return 0, err
		}
		if id := strings.TrimPrefix(d.ID, string(d.Type)+"/"); d.Type == SummaryStarted {
			open[id] = true
		} else {
			delete(open, id)
		}
		if len(open) == 0 && d.Seq >= atLeast {
			return d.Seq, nil
		}
	}
}

// forget takes the consumer away, also when the wait was ended by its context.
func (g *Gate) forget(stream jetstream.Stream, consumer jetstream.Consumer) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = stream.DeleteConsumer(ctx, consumer.CachedInfo().Name)
}

// settledAt forgets what it knows of another stream of the name, whose sequences mean nothing in this one.
func (g *Gate) settledAt(token string, made time.Time) uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !made.Equal(g.made) {
		g.made = made
		clear(g.settled)
	}
	return g.settled[token]
}

func (g *Gate) settle(token string, seq uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.settled) >= gateMemory {
		clear(g.settled)
	}
	g.settled[token] = max(g.settled[token], seq)
}

// pause waits, unless the context ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
