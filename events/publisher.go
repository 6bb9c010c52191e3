package events

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"golang.org/x/sync/semaphore"
)

// Publisher publishes events for an agent. What it has accepted it keeps in memory until the server has stored
// it, and sends it again through lost connections and restarts of the server; what is in memory is lost with
// the process. Events reach the log in the order in which they were accepted, whatever is sent again: one
// write is on its way at a time, and the events that come meanwhile make up the next one.
//
// An event may reach the log twice when the server's word is lost. precis tells copies by message id and content,
// and edits by edit id, and counts them once. No Nats-Msg-Id is set: nothing may be taken for a copy but a copy.
//
// It is safe for concurrent use. It does not own its connection.
type Publisher struct {
	opts   PublisherOptions
	nc     *nats.Conn
	sender *sender
	queue  *queue
	events *semaphore.Weighted // room left in the buffer
	bytes  *semaphore.Weighted

	stop    context.CancelFunc
	stopped chan struct{}

	mu      sync.Mutex
	lastErr error  // why the events in the buffer are still there
	refused error  // the first event that the server won't take
	lastSeq uint64 // the highest sequence of a stored event
}

// NewPublisher returns a publisher over a connection, which should reconnect without end (Connect makes one
// that does): a connection that is closed can't be resumed. Close it to end what it started.
func NewPublisher(nc *nats.Conn, opts PublisherOptions) (*Publisher, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	opts = opts.WithDefaults()
	s, err := newSender(nc, opts.AckWait)
	if err != nil {
		return nil, fmt.Errorf("start publisher: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	p := &Publisher{
		opts: opts, nc: nc, sender: s, queue: newQueue(),
		events: semaphore.NewWeighted(int64(opts.BufferEvents)),
		bytes:  semaphore.NewWeighted(int64(opts.BufferBytes)),
		stop:   stop, stopped: make(chan struct{}),
	}
	go p.run(ctx)
	return p, nil
}

// Message publishes a thread.message. A message without an id is given one.
func (p *Publisher) Message(ctx context.Context, thread string, m *Message) (*Receipt, error) {
	return p.publishMessage(ctx, ThreadMessage, thread, m)
}

// ToolResult publishes a tool.result. A result without an id is given one.
func (p *Publisher) ToolResult(ctx context.Context, thread string, m *Message) (*Receipt, error) {
	return p.publishMessage(ctx, ToolResult, thread, m)
}

func (p *Publisher) publishMessage(ctx context.Context, t Type, thread string, m *Message) (*Receipt, error) {
	if m.MessageID == "" {
		m.MessageID = NewMessageID()
	}
	return p.marshal(ctx, t, thread, m)
}

// Edit publishes a message.edited. An edit without an id is given one, so that the same change made twice is
// two edits and one change sent twice is one.
func (p *Publisher) Edit(ctx context.Context, thread string, e *Edit) (*Receipt, error) {
	if e.EditID == "" {
		e.EditID = NewEditID()
	}
	return p.marshal(ctx, MessageEdited, thread, e)
}

func (p *Publisher) marshal(ctx context.Context, t Type, thread string, value any) (*Receipt, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("marshal %s: %w", t, err)
	}
	return p.Publish(ctx, t, thread, data)
}

// Publish accepts an event whose data is written already, as it stands. It fails with a *RejectError where the
// processor would reject the event whatever its thread holds (PublisherOptions.Unchecked leaves that to the
// processor); a conflict with an earlier event is found by the processor alone, and published to REJECTED.
// While the buffer is full it waits for the context, and fails with ErrBufferFull when that ends first. It fails
// with ErrTooLarge where neither buffer nor server would ever take the event, and with ErrPublisherClosed after
// Close.
func (p *Publisher) Publish(ctx context.Context, t Type, thread string, data []byte) (*Receipt, error) {
	if !t.Incoming() {
		return nil, fmt.Errorf("publish event: %w: %q", ErrType, string(t))
	}
	subject, err := Subject(t, thread)
	if err != nil {
		return nil, fmt.Errorf("publish event: %w", err)
	}
	if p.nc.IsClosed() {
		return nil, fmt.Errorf("publish event: %w", nats.ErrConnectionClosed)
	}
	if limit := p.limit(); len(data) > limit {
		return nil, fmt.Errorf("publish event: %w: %d bytes, at most %d", ErrTooLarge, len(data), limit)
	}
	if !p.opts.Unchecked {
		if _, reject := Decode(Raw{Subject: subject, Body: data}, Limits{EventBytes: p.opts.EventBytes}); reject != nil {
			return nil, fmt.Errorf("publish event: %w", reject)
		}
	}
	if err := p.reserve(ctx, len(data)); err != nil {
		return nil, fmt.Errorf("publish event: %w", err)
	}
	ev := &pending{Receipt: Receipt{done: make(chan struct{})}, subject: subject, data: bytes.Clone(data)}
	if !p.queue.put(ev) {
		p.release(ev)
		return nil, fmt.Errorf("publish event: %w", ErrPublisherClosed)
	}
	return &ev.Receipt, nil
}

// limit is the longest data that can get through: the server counts headers in, which a batch needs.
func (p *Publisher) limit() int {
	limit := p.opts.BufferBytes
	if most := int(p.nc.MaxPayload()); most > 0 { // 0 before the first connection
		limit = min(limit, most-batchHeaderBytes)
	}
	return limit
}

func (p *Publisher) reserve(ctx context.Context, size int) error {
	if err := acquire(ctx, p.events, 1); err != nil {
		return err
	}
	if err := acquire(ctx, p.bytes, int64(size)); err != nil {
		p.events.Release(1)
		return err
	}
	return nil
}

// acquire takes room that is there also for a context that has ended.
func acquire(ctx context.Context, room *semaphore.Weighted, n int64) error {
	if room.TryAcquire(n) {
		return nil
	}
	if err := room.Acquire(ctx, n); err != nil {
		return fmt.Errorf("%w: %w", ErrBufferFull, err)
	}
	return nil
}

func (p *Publisher) release(ev *pending) {
	p.bytes.Release(int64(len(ev.data)))
	p.events.Release(1)
}

// Flush waits until everything accepted before it is stored. It fails with ErrRefused if, ever, an event was one
// the server won't take, and with the context's error and the reason for the delay if that ends first.
func (p *Publisher) Flush(ctx context.Context) error {
	if last := p.queue.newest(); last != nil {
		select {
		case <-last.done:
		case <-ctx.Done():
			return fmt.Errorf("flush events: %w", errors.Join(ctx.Err(), p.reason()))
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refused
}

// LastSeq is the highest EVENTS sequence of an event that this publisher has stored; 0 before the first. After Flush
// it covers everything accepted before: Gate.Wait and a request's min_event_seq take it.
func (p *Publisher) LastSeq() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lastSeq
}

// Close flushes and ends the publisher, and returns when all that it started has ended. What is not stored when
// the context ends is given up: that is ErrUnsent, and the events' receipts say which.
func (p *Publisher) Close(ctx context.Context) error {
	p.queue.close()
	err := p.Flush(ctx)
	p.stop()
	<-p.stopped
	if n := p.queue.abandoned(); n > 0 {
		return fmt.Errorf("close publisher: %w", errors.Join(fmt.Errorf("%w: %d", ErrUnsent, n), err))
	}
	return err
}

func (p *Publisher) reason() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lastErr
}
