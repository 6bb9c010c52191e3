package events

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	neturl "net/url"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"golang.org/x/sync/semaphore"
)

// Publisher publishes events for an agent. It keeps accepted events in memory until the server has stored them, and
// resends them across lost connections and server restarts; events in memory are lost with the process. Events reach
// the log in the order in which they were accepted, retries included: only one write is in flight at a time, and
// events accepted meanwhile form the next one.
//
// An event may reach the log twice when the server's ack is lost. precis identifies duplicates by message id and
// content, and duplicate edits by edit id, and counts them once. The publisher sets no Nats-Msg-Id: the server must
// not drop an event that is not a duplicate.
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
	lastErr error  // why the events in the buffer are not stored yet
	refused error  // the first refusal by the server
	lastSeq uint64 // the highest sequence of a stored event
}

// NewPublisher returns a publisher over a connection that should reconnect without limit, as one from Connect does:
// a closed connection can't be resumed. Close the publisher to stop its goroutines.
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
		opts: opts, nc: nc, sender: s, queue: newQueue(opts.Linger),
		events: semaphore.NewWeighted(int64(opts.BufferEvents)),
		bytes:  semaphore.NewWeighted(int64(opts.BufferBytes)),
		stop:   stop, stopped: make(chan struct{}),
	}
	go p.run(ctx)
	return p, nil
}

// Message publishes a thread.message. It sets a missing message id.
func (p *Publisher) Message(ctx context.Context, thread string, m *Message) (*Receipt, error) {
	return p.publishMessage(ctx, ThreadMessage, thread, m)
}

// ToolResult publishes a tool.result. It sets a missing message id.
func (p *Publisher) ToolResult(ctx context.Context, thread string, m *Message) (*Receipt, error) {
	return p.publishMessage(ctx, ToolResult, thread, m)
}

func (p *Publisher) publishMessage(ctx context.Context, t Type, thread string, m *Message) (*Receipt, error) {
	if m.MessageID == "" {
		m.MessageID = NewMessageID()
	}
	return p.marshal(ctx, t, thread, m)
}

// Edit publishes a message.edited. It sets a missing edit id, so that two equal changes are two edits, and a resent
// change is one.
func (p *Publisher) Edit(ctx context.Context, thread string, e *Edit) (*Receipt, error) {
	if e.EditID == "" {
		e.EditID = NewEditID()
	}
	return p.marshal(ctx, MessageEdited, thread, e)
}

// Fork publishes a thread.forked: the thread begins with the parent's messages. It sets a missing fork id.
func (p *Publisher) Fork(ctx context.Context, thread string, f *Fork) (*Receipt, error) {
	if f.ForkID == "" {
		f.ForkID = NewForkID()
	}
	return p.marshal(ctx, ThreadForked, thread, f)
}

func (p *Publisher) marshal(ctx context.Context, t Type, thread string, value any) (*Receipt, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("marshal %s: %w", t, err)
	}
	return p.Publish(ctx, t, thread, data)
}

// Publish accepts an event whose data is already marshaled. It fails with a *RejectError if the processor would reject
// the event regardless of its thread (PublisherOptions.Unchecked leaves that check to the processor); only the processor
// detects a conflict with an earlier event, and publishes it to REJECTED. While the buffer is full, Publish blocks, and
// fails with ErrBufferFull when the context ends. It fails with ErrTooLarge if the event exceeds the buffer or the
// server's maximum payload, and with ErrPublisherClosed after Close.
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
	ev := &pending{Receipt: Receipt{done: make(chan struct{}), hurry: p.queue.hurry}, subject: subject, data: bytes.Clone(data)}
	if !p.queue.put(ev) {
		p.release(ev)
		return nil, fmt.Errorf("publish event: %w", ErrPublisherClosed)
	}
	return &ev.Receipt, nil
}

// Store publishes an event as Publish does, and returns its EVENTS sequence when it is stored.
func (p *Publisher) Store(ctx context.Context, t Type, thread string, data []byte) (seq uint64, err error) {
	receipt, err := p.Publish(ctx, t, thread, data)
	if err != nil {
		return 0, err
	}
	return receipt.Wait(ctx)
}

// limit is the maximum length of data: headers, which a batch needs, count toward the server's limit.
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

// acquire takes available room even if the context has ended.
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

// Flush waits until all events accepted before it are stored. It fails with ErrRefused if the server has refused any
// event so far, and with the context's error and the reason for the delay if the context ends first.
func (p *Publisher) Flush(ctx context.Context) error {
	if last := p.queue.newest(); last != nil {
		p.queue.hurry()
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
// it covers every event accepted before: pass it to Gate.Wait or as a request's min_event_seq.
func (p *Publisher) LastSeq() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lastSeq
}

// Close flushes and stops the publisher, and returns when its goroutines have ended. It drops events that are not
// stored when the context ends: it then fails with ErrUnsent, and the receipts identify the events.
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

// Bounds of one write to the server.
const (
	// maxBatchEvents is nats-server's limit for one atomic batch (2.12 and later).
	maxBatchEvents = 1000
	// batchBytes keeps the transfer of a batch short compared with PublisherOptions.AckWait.
	batchBytes = 4 << 20
)

// PublisherOptions are a Publisher's settings; a zero field takes its default.
type PublisherOptions struct {
	// BufferEvents is how many accepted events may wait for the server's ack. Default 10,000.
	BufferEvents int
	// BufferBytes is the total size of their data. Default 64 MiB.
	BufferBytes int
	// BatchEvents is the maximum number of events per write, so that the server syncs its disk once for all of
	// them; at most 1000. 1 disables batches. Default 256. A stream that does not allow atomic batches gets single
	// writes.
	BatchEvents int
	// Linger is how long an event may wait for others to share its write. Receipt.Wait, Flush and Close end the wait.
	// Default 0: events share a write only while another one is in flight.
	Linger time.Duration
	// AckWait is how long to wait for the server's ack before resending. Default 5s.
	AckWait time.Duration
	// RetryWait is the pause before resending after a refusal; it doubles up to 32 times its value. Default 50ms.
	RetryWait time.Duration
	// EventBytes is the processor's limits.event_bytes, if known: Publish refuses a longer event. Default 0: not
	// checked.
	EventBytes int
	// Unchecked skips decoding before sending. The processor still rejects invalid events.
	Unchecked bool
	// Warn is called with the error of an attempt that will be retried; it must not block. Default: no call.
	Warn func(error)
}

// WithDefaults returns the options with defaults in place of zero fields.
func (o PublisherOptions) WithDefaults() PublisherOptions {
	o.BufferEvents = orDefault(o.BufferEvents, 10_000)
	o.BufferBytes = orDefault(o.BufferBytes, 64<<20)
	o.BatchEvents = orDefault(o.BatchEvents, 256)
	o.AckWait = orDefault(o.AckWait, 5*time.Second)
	o.RetryWait = orDefault(o.RetryWait, 50*time.Millisecond)
	if o.Warn == nil {
		o.Warn = func(error) {}
	}
	return o
}

// Validate reports the first option that is out of range.
func (o PublisherOptions) Validate() error {
	switch {
	case o.BufferEvents < 0 || o.BufferBytes < 0:
		return fmt.Errorf("publisher options: buffer of %d events and %d bytes", o.BufferEvents, o.BufferBytes)
	case o.BatchEvents < 0 || o.BatchEvents > maxBatchEvents:
		return fmt.Errorf("publisher options: batches of %d events, at most %d", o.BatchEvents, maxBatchEvents)
	case o.EventBytes < 0:
		return fmt.Errorf("publisher options: events of %d bytes", o.EventBytes)
	case o.AckWait < 0 || o.RetryWait < 0 || o.Linger < 0:
		return fmt.Errorf("publisher options: negative wait")
	}
	return nil
}

func orDefault[T int | time.Duration](v, fallback T) T {
	if v == 0 {
		return fallback
	}
	return v
}

// Receipt tracks one accepted event.
type Receipt struct {
	done  chan struct{}
	hurry func() // ends the linger
	seq   uint64
	err   error
}

// Done is closed when the event is stored, refused or dropped. Unlike Wait it does not end PublisherOptions.Linger.
func (r *Receipt) Done() <-chan struct{} { return r.done }

// Wait returns the event's sequence in EVENTS once the server has stored it. It fails with ErrRefused if the server
// refuses the event permanently, with ErrPublisherClosed if the publisher was closed first, and with the context's
// error, which says nothing about the event.
func (r *Receipt) Wait(ctx context.Context) (seq uint64, err error) {
	select {
	case <-r.done: // stored: nothing that lingers now is waited for
		return r.seq, r.err
	default:
	}
	r.hurry()
	select {
	case <-r.done:
		return r.seq, r.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

func (r *Receipt) settle(seq uint64, err error) {
	r.seq, r.err = seq, err
	close(r.done)
}

// pending is an accepted event that is not settled.
type pending struct {
	Receipt
	subject string
	data    []byte
}

// Connect connects with the options that the clients of this package need: it waits for a server that is not up yet
// and reconnects without limit. The caller's options come last and may override these.
func Connect(url string, opts ...nats.Option) (*nats.Conn, error) {
	all := append([]nats.Option{
		nats.Name("precis client"),
		nats.RetryOnFailedConnect(true),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(250 * time.Millisecond),
		nats.ReconnectJitter(100*time.Millisecond, 100*time.Millisecond),
	}, opts...)
	nc, err := nats.Connect(url, all...)
	var malformed *neturl.Error
	switch {
	case errors.As(err, &malformed): // its text contains the address, and with it any password
		return nil, errors.New("connect: not a server's address")
	case err != nil:
		return nil, fmt.Errorf("connect: %w", err)
	}
	return nc, nil
}
