package events

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
)

const (
	// DefaultGateWait is the default limit of a Gate's Wait. A cheap model summarizes 50,000 characters in a few
	// seconds; the processor's own timeout for a call is 30s.
	DefaultGateWait = 30 * time.Second
	// gatePause is the pause before the next request to the processor after a fault.
	gatePause = 50 * time.Millisecond
	// gateAgain bounds how long the end of a summary can go unnoticed: a message on a plain subscription may be lost
	// with its connection.
	gateAgain = time.Second
	// gateRequest bounds one request. It exceeds the time that the processor holds a request until it reaches the
	// event (10s), so that a held request is not sent twice.
	gateRequest = 12 * time.Second
)

// Codes of the service's errors, as in the contract.
const (
	serviceErrorHeader     = "Nats-Service-Error"
	serviceErrorCodeHeader = "Nats-Service-Error-Code"
	serviceNotFound        = "404"
	serviceUnavailable     = "503"
)

// GateOptions are a Gate's settings; a zero field takes its default.
type GateOptions struct {
	// MaxWait bounds one Wait. Default: DefaultGateWait.
	MaxWait time.Duration
}

// Gate blocks a session while summaries of its thread are in progress, so that the next prompt contains them. It asks
// the processor, so that an agent that has just started also waits for summaries that other sessions triggered.
//
// It is safe for concurrent use, and runs nothing in the background between calls to Wait.
type Gate struct {
	nc      *nats.Conn
	maxWait time.Duration
}

// NewGate returns a gate over a connection.
func NewGate(nc *nats.Conn, opts GateOptions) (*Gate, error) {
	if opts.MaxWait < 0 {
		return nil, errors.New("gate options: negative wait")
	}
	return &Gate{nc: nc, maxWait: orDefault(opts.MaxWait, DefaultGateWait)}, nil
}

// Wait blocks until the processor has decided the event at seq and no summary of the thread is in progress. seq is the
// sequence of the newest publish, as Receipt.Wait or Publisher.LastSeq returns it, of any thread; with 0 Wait only
// waits for summaries that have already started.
//
// It fails with ErrGateTimeout when the wait limit expires, and with the context's error when the context ends first:
// in both cases a summary may still be in progress, and the log proceeds without it. It fails with
// nats.ErrConnectionClosed on a closed connection, and with the service's error if the service refuses the request.
func (g *Gate) Wait(ctx context.Context, thread string, seq uint64) error {
	token, err := Token(thread)
	if err != nil {
		return fmt.Errorf("wait for summaries: %w", err)
	}
	bounded, cancel := context.WithTimeoutCause(ctx, g.maxWait, ErrGateTimeout)
	defer cancel()
	if err := g.untilIdle(bounded, token, seq); err != nil {
		if bounded.Err() != nil {
			err = context.Cause(bounded)
		}
		return fmt.Errorf("wait for summaries: %w", err)
	}
	return nil
}

// untilIdle polls until no summary is in progress. Records of the thread are hints to poll again: they are published
// after the commit that the answer is read from.
func (g *Gate) untilIdle(ctx context.Context, token string, seq uint64) error {
	hints := make(chan *nats.Msg, 64)
	sub, err := g.nc.ChanSubscribe("summary.*."+token, hints)
	if err != nil {
		return err
	}
	defer func() { _ = sub.Unsubscribe() }()
	for {
		started, err := g.started(ctx, token, seq)
		switch {
		case err == nil && started == 0:
			return nil
		case err == nil:
			awaitHint(ctx, hints)
		case !g.passing(err):
			return err
		default:
			pause(ctx, gatePause)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// awaitHint returns when the thread has a new record, or after gateAgain.
func awaitHint(ctx context.Context, hints <-chan *nats.Msg) {
	again := time.NewTimer(gateAgain)
	defer again.Stop()
	select {
	case <-hints:
	case <-again.C:
	case <-ctx.Done():
	}
	for len(hints) > 0 { // one request covers them all
		<-hints
	}
}

// started returns the number of the thread's summaries in progress, once the event at seq is decided.
func (g *Gate) started(ctx context.Context, token string, seq uint64) (uint64, error) {
	body, err := json.Marshal(struct {
		MinEventSeq uint64 `json:"min_event_seq,omitzero"`
	}{seq})
	if err != nil {
		return 0, err
	}
	reply, err := g.request(ctx, "precis.thread.get."+token, body)
	if err != nil {
		return 0, err
	}
	switch code := reply.Header.Get(serviceErrorCodeHeader); code {
	case "":
	case serviceNotFound: // every event of the thread is decided, and none has created anything
		return 0, nil
	case serviceUnavailable:
		return 0, errUnavailable
	default:
		return 0, fmt.Errorf("%s: %s", code, reply.Header.Get(serviceErrorHeader))
	}
	var counters struct {
		SummariesStarted uint64 `json:"summaries_started"`
	}
	if err := json.Unmarshal(reply.Data, &counters); err != nil {
		return 0, fmt.Errorf("read the processor's answer: %w", err)
	}
	return counters.SummariesStarted, nil
}

// errUnavailable is a processor that can't answer yet: it is catching up, or has not reached the event.
var errUnavailable = errors.New("the processor is not ready to answer")

// request sends one request. A change of the connection's status ends it, since its answer is then lost.
func (g *Gate) request(ctx context.Context, subject string, body []byte) (*nats.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, gateRequest)
	defer cancel()
	status := g.nc.StatusChanged(nats.RECONNECTING, nats.CONNECTED, nats.CLOSED)
	defer g.nc.RemoveStatusListener(status)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-status:
			cancel()
		case <-ctx.Done():
		}
	}()
	reply, err := g.nc.RequestMsgWithContext(ctx, &nats.Msg{Subject: subject, Data: body})
	cancel()
	<-watched
	return reply, err
}

// passing reports whether a retry may help.
func (g *Gate) passing(err error) bool {
	return !g.nc.IsClosed() && (errors.Is(err, errUnavailable) || errors.Is(err, nats.ErrNoResponders) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.Is(err, nats.ErrTimeout) ||
		errors.Is(err, nats.ErrDisconnected) || errors.Is(err, nats.ErrReconnectBufExceeded))
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
