package broker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"
)

// PublisherConfig of a Publisher.
type PublisherConfig struct {
	// AckTimeout is how long a batch waits without any acknowledgement. Default 10s.
	AckTimeout time.Duration
}

// Publisher publishes to JetStream and waits for the acknowledgements. It is safe for concurrent use. Close does not
// touch the connection.
type Publisher struct {
	nc      *nats.Conn
	cfg     PublisherConfig
	inbox   string
	replies *nats.Subscription

	mu      sync.Mutex
	closed  bool
	serial  uint64
	pending map[string]*ackSet // by the inbox's middle token
}

// NewPublisher subscribes for acknowledgements on nc.
func NewPublisher(nc *nats.Conn, cfg PublisherConfig) (*Publisher, error) {
	cfg.AckTimeout = orDefault(cfg.AckTimeout, 10*time.Second)
	p := &Publisher{nc: nc, cfg: cfg, inbox: nc.NewInbox() + ".", pending: make(map[string]*ackSet)}
	var err error
	if p.replies, err = nc.Subscribe(p.inbox+"*.*", p.reply); err != nil {
		return nil, fmt.Errorf("subscribe for acknowledgements: %w", err)
	}
	return p, nil
}

// reply passes an acknowledgement to its batch.
func (p *Publisher) reply(m *nats.Msg) {
	set, index, ok := strings.Cut(strings.TrimPrefix(m.Subject, p.inbox), ".")
	i, err := strconv.Atoi(index)
	if !ok || err != nil {
		return
	}
	p.mu.Lock()
	acks := p.pending[set]
	p.mu.Unlock()
	if acks != nil { // else it arrived after its timeout
		acks.put(i, parseAck(m))
	}
}

// Close does not wait: PublishBatch and PublishAtomic return only when they are done.
func (p *Publisher) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	p.closed = true
	if err := p.replies.Unsubscribe(); err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
		return fmt.Errorf("close publisher: %w", err)
	}
	return nil
}

// register makes room for n acknowledgements; release gives it back.
func (p *Publisher) register(n int) (set *ackSet, prefix string, release func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, "", nil, ErrClosed
	}
	p.serial++
	key := strconv.FormatUint(p.serial, 36)
	set = newAckSet(n)
	p.pending[key] = set
	release = func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.pending, key)
	}
	return set, p.inbox + key + ".", release, nil
}

// PublishBatch publishes msgs in order, with many in flight, and returns one Ack for
// each. It waits for all of them, until ctx ends, the connection is lost, or no ack arrived for AckTimeout.
// It overwrites the messages' Reply field.
//
// Order is that of sending: if one fails and later ones do not, publishing it
// again stores it after them. A caller that needs more must guard with an expected last
// sequence, or keep one message in flight. The server (2.15) checks that guard
// before the duplicate window: a retry whose first copy was stored fails with
// ErrWrongLastSequence, and LogReader.Last shows whether that copy exists.
func (p *Publisher) PublishBatch(ctx context.Context, msgs []*nats.Msg) []Ack {
	acks := make([]Ack, 0, len(msgs))
	for len(msgs) > 0 {
		if err := ctx.Err(); err != nil {
			return append(acks, failAll(len(msgs), fmt.Errorf("%w: %w", ErrTransient, err))...)
		}
		n := windowOf(msgs)
		acks = append(acks, p.publishWindow(ctx, msgs[:n])...)
		msgs = msgs[n:]
	}
	return acks
}

const (
	// windowMessages and windowBytes bound what one batch has in flight: the
	// server refuses what exceeds its ingest queue (10,000 messages or 128 MiB per stream).
	windowMessages = 512
	windowBytes    = 8 << 20
)

// windowOf returns how many of msgs, at least one, to send before waiting.
func windowOf(msgs []*nats.Msg) int {
	size := 0
	for i, m := range msgs {
		size += len(m.Data)
		if i == windowMessages || i > 0 && size > windowBytes {
			return i
		}
	}
	return len(msgs)
}

func (p *Publisher) publishWindow(ctx context.Context, msgs []*nats.Msg) []Ack {
	set, prefix, release, err := p.register(len(msgs))
	if err != nil {
		return failAll(len(msgs), err)
	}
	defer release()
	lost := p.nc.StatusChanged(nats.RECONNECTING, nats.CLOSED)
	defer p.nc.RemoveStatusListener(lost)
	for i, m := range msgs {
		m.Reply = prefix + strconv.Itoa(i)
		if err := p.nc.PublishMsg(m); err != nil {
			set.put(i, Ack{Err: classifySend(err)})
		}
	}
	return set.wait(ctx, lost, p.cfg.AckTimeout)
}

func failAll(n int, err error) []Ack {
	acks := make([]Ack, n)
	for i := range acks {
		acks[i].Err = err
	}
	return acks
}

// MaxAtomic is the server's limit of messages per atomic batch.
const MaxAtomic = 1000

// Headers of an atomic batch (ADR-50).
const (
	headerBatchID     = "Nats-Batch-Id"
	headerBatchSeq    = "Nats-Batch-Sequence"
	headerBatchCommit = "Nats-Batch-Commit"
)

// PublishAtomic publishes 1 to MaxAtomic messages of one stream so that all are
// stored, contiguously, or none: with one sync for all of them, if
// the server syncs every write. On failure every Ack holds the same error. The
// server refuses a batch with a known Nats-Msg-Id (ErrBatchDuplicate), and one for a
// stream that does not allow batches (ErrRefused). A guard by subject must be the only one for that
// subject in the batch.
func (p *Publisher) PublishAtomic(ctx context.Context, msgs []*nats.Msg) []Ack {
	if len(msgs) == 1 {
		return p.PublishBatch(ctx, msgs)
	}
	if len(msgs) > MaxAtomic {
		return failAll(len(msgs), fmt.Errorf("%w: %d messages in an atomic batch", ErrRefused, len(msgs)))
	}
	set, prefix, release, err := p.register(1)
	if err != nil {
		return failAll(len(msgs), err)
	}
	defer release()
	lost := p.nc.StatusChanged(nats.RECONNECTING, nats.CLOSED)
	defer p.nc.RemoveStatusListener(lost)
	for i, m := range batchOf(msgs, prefix+"0") {
		if err := p.nc.PublishMsg(m); err != nil {
			// The server discards a batch that never ends.
			return failAll(len(msgs), fmt.Errorf("message %d: %w", i, classifySend(err)))
		}
	}
	return spread(set.wait(ctx, lost, p.cfg.AckTimeout)[0], len(msgs))
}

// batchOf marks copies of msgs as one batch; the server answers only its last message.
func batchOf(msgs []*nats.Msg, reply string) []*nats.Msg {
	id := nuid.Next()
	batch := make([]*nats.Msg, len(msgs))
	for i, m := range msgs {
		header := make(nats.Header, len(m.Header)+3)
		maps.Copy(header, m.Header)
		header[headerBatchID] = []string{id}
		header[headerBatchSeq] = []string{strconv.Itoa(i + 1)}
		batch[i] = &nats.Msg{Subject: m.Subject, Header: header, Data: m.Data}
	}
	last := batch[len(batch)-1]
	last.Header[headerBatchCommit] = []string{"1"}
	last.Reply = reply
	return batch
}

// spread turns the answer to the batch into one per message: their
// sequences are contiguous, and the answer holds the last.
func spread(a Ack, n int) []Ack {
	acks := make([]Ack, n)
	for i := range acks {
		acks[i] = a
		if a.Err == nil {
			acks[i].Seq = a.Seq - uint64(n-1-i)
		}
	}
	return acks
}
