package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go/micro"

	"precis/events"
)

// decidedPatience bounds the wait for the processor after the last event is stored.
const decidedPatience = 2 * time.Minute

// verdicts collects what the processor rejects of what is published. Rejections are followed from before the first
// event is published; a thread's counter says how many of them there must be.
type verdicts struct {
	server *server
	stop   context.CancelFunc
	ended  chan struct{} // closed with err set when the subscription has ended
	err    error

	mu       sync.Mutex
	changed  chan struct{}               // closed and made anew with each rejection
	rejected map[uint64]*events.Rejected // by EVENTS sequence
	seen     map[string]uint64           // rejections by thread
	before   map[string]uint64           // what a thread's counter said before its first event
}

// followVerdicts begins to listen.
func followVerdicts(ctx context.Context, s *server) (*verdicts, error) {
	v := &verdicts{
		server: s, ended: make(chan struct{}), changed: make(chan struct{}),
		rejected: map[uint64]*events.Rejected{}, seen: map[string]uint64{}, before: map[string]uint64{},
	}
	rejections, err := events.Subscribe(ctx, s.conn, events.SubscriptionOptions{
		Types: []events.Type{events.EventRejected}, From: events.FromNow,
	})
	if err != nil {
		return nil, serverError("follow REJECTED", err)
	}
	ctx, v.stop = context.WithCancel(ctx)
	go func() {
		defer close(v.ended)
		v.err = rejections.Run(ctx, v.add)
	}()
	return v, nil
}

func (v *verdicts) close() {
	v.stop()
	<-v.ended
}

func (v *verdicts) add(_ context.Context, d events.Delivery) error {
	rejected, err := d.Rejected()
	if err != nil {
		return nil // a foreign message: no event of ours
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.rejected[rejected.StreamSeq] = rejected
	v.seen[d.Thread]++
	close(v.changed)
	v.changed = make(chan struct{})
	return nil
}

// begin reads a thread's counter before its first event is published.
func (v *verdicts) begin(ctx context.Context, thread string) error {
	if _, known := v.before[thread]; known {
		return nil
	}
	n, err := v.rejectedOf(ctx, thread, 0)
	if err != nil {
		return err
	}
	v.before[thread] = n
	return nil
}

// rejectedOf is a thread's counter of rejected events once the event at seq is decided.
func (v *verdicts) rejectedOf(ctx context.Context, thread string, seq uint64) (uint64, error) {
	token, err := events.Token(thread)
	if err != nil {
		return 0, nil // no event of such a thread is published
	}
	request := []byte(`{"min_event_seq":` + strconv.FormatUint(seq, 10) + `}`)
	reply, err := v.server.conn.RequestWithContext(ctx, threadEndpoint+token, request)
	if err != nil {
		return 0, serverError("ask the processor", err)
	}
	if reply.Header.Get(micro.ErrorCodeHeader) == strconv.Itoa(http.StatusNotFound) {
		return 0, nil
	}
	if err := replyError(reply); err != nil {
		return 0, err
	}
	var counters threadReply
	if err := json.Unmarshal(reply.Data, &counters); err != nil {
		return 0, unreachable("read the processor's answer: %w", err)
	}
	return uint64(counters.Rejected), nil
}

// until returns when every event up to seq is decided and each rejection of the threads is here.
func (v *verdicts) until(ctx context.Context, seq uint64) error {
	ctx, cancel := context.WithTimeout(ctx, decidedPatience)
	defer cancel()
	for thread, before := range v.before {
		after, err := v.decided(ctx, thread, seq)
		if err != nil {
			return fmt.Errorf("wait for the processor to decide EVENTS %d: %w", seq, err)
		}
		if err := v.arrived(ctx, thread, after-before); err != nil {
			return err
		}
	}
	return nil
}

// decided asks again while the processor is behind.
func (v *verdicts) decided(ctx context.Context, thread string, seq uint64) (uint64, error) {
	for {
		n, err := v.rejectedOf(ctx, thread, seq)
		if err == nil || ctx.Err() != nil || !errors.Is(err, errNotReady) {
			return n, err
		}
		select {
		case <-time.After(reconnectWait):
		case <-ctx.Done():
		}
	}
}

// arrived waits until n rejections of a thread have come.
func (v *verdicts) arrived(ctx context.Context, thread string, n uint64) error {
	for {
		v.mu.Lock()
		seen, changed := v.seen[thread], v.changed
		v.mu.Unlock()
		if seen >= n {
			return nil
		}
		select {
		case <-changed:
		case <-v.ended:
			return serverError("follow REJECTED", errors.Join(v.err, errors.New("the subscription ended")))
		case <-ctx.Done():
			return unreachable("%d of %d rejections of thread %q are in REJECTED: %w", seen, n, printable(thread), ctx.Err())
		}
	}
}

// of is the rejection of the event at seq; nil where it was not rejected.
func (v *verdicts) of(seq uint64) *events.Rejected {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.rejected[seq]
}
