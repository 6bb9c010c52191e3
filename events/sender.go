package events

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// Headers of nats-server's atomic batches (ADR-50).
const (
	batchIDHeader     = "Nats-Batch-Id"
	batchSeqHeader    = "Nats-Batch-Sequence"
	batchCommitHeader = "Nats-Batch-Commit"

	// batchHeaderBytes exceeds the size of these headers, which counts toward the message size.
	batchHeaderBytes = 256
)

// errLost is a write whose answer can't arrive, because its connection is gone.
var errLost = errors.New("connection lost")

// errNoStream is a subject without a stream, possibly for now: EVENTS does not exist, or the server has just
// started and has not opened it yet.
var errNoStream = errors.New("no stream takes the event now: there is no EVENTS, or the server is still opening it")

// errNoAnswer is an answer that did not arrive in time.
var errNoAnswer = errors.New("no answer from the server")

// sender writes events to the server and waits for its ack, one write at a time. It is not safe for concurrent use.
// Unlike nats.go's publish it detects a lost connection at once, and writes batches.
type sender struct {
	nc      *nats.Conn
	ackWait time.Duration
	status  chan nats.Status
	inbox   string
	sub     *nats.Subscription
	answers chan *nats.Msg
	writes  uint64
}

func newSender(nc *nats.Conn, ackWait time.Duration) (*sender, error) {
	s := &sender{nc: nc, ackWait: ackWait, inbox: nc.NewInbox() + ".", answers: make(chan *nats.Msg, 64)}
	sub, err := nc.ChanSubscribe(s.inbox+"*", s.answers)
	if err != nil {
		return nil, fmt.Errorf("subscribe to answers: %w", err)
	}
	s.sub = sub
	s.status = nc.StatusChanged(nats.CONNECTED, nats.RECONNECTING, nats.CLOSED)
	return s, nil
}

func (s *sender) close() {
	_ = s.sub.Unsubscribe()
	s.nc.RemoveStatusListener(s.status)
}

// connected waits for a connection. It fails when the connection is closed or the context ends.
func (s *sender) connected(ctx context.Context) error {
	for !s.nc.IsConnected() {
		if s.nc.IsClosed() {
			return nats.ErrConnectionClosed
		}
		again := time.NewTimer(time.Second) // nats.go drops status changes that come too fast
		select {
		case <-s.status:
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
			return ctx.Err()
		}
		again.Stop()
	}
	return nil
}

// send writes events, as one atomic batch if there are several, and returns the last one's sequence.
func (s *sender) send(ctx context.Context, batch []*pending) (uint64, error) {
	s.drain()
	s.writes++
	reply := s.inbox + strconv.FormatUint(s.writes, 10)
	id := nuid.Next()
	for i, ev := range batch {
		msg := &nats.Msg{Subject: ev.subject, Data: ev.data}
		if i == len(batch)-1 {
			msg.Reply = reply
		}
		if len(batch) > 1 {
			msg.Header = nats.Header{batchIDHeader: {id}, batchSeqHeader: {strconv.Itoa(i + 1)}}
		}
		if len(batch) > 1 && msg.Reply != "" {
			msg.Header[batchCommitHeader] = []string{"1"}
		}
		if err := s.nc.PublishMsg(msg); err != nil {
			return 0, err
		}
	}
	return s.answer(ctx, reply)
}

// drain discards status changes and answers of earlier writes.
func (s *sender) drain() {
	for {
		select {
		case <-s.status:
		case <-s.answers:
		default:
			return
		}
	}
}

func (s *sender) answer(ctx context.Context, reply string) (uint64, error) {
	late := time.NewTimer(s.ackWait)
	defer late.Stop()
	for {
		select {
		case msg := <-s.answers:
			if msg.Subject == reply {
				return readAnswer(msg)
			}
		case <-s.status:
			return 0, errLost
		case <-late.C:
			return 0, errNoAnswer
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// readAnswer reads the server's answer to a write.
func readAnswer(msg *nats.Msg) (uint64, error) {
	if len(msg.Data) == 0 && msg.Header.Get("Status") == "503" {
		return 0, errNoStream
	}
	var ack struct {
		Stream string              `json:"stream"`
		Seq    uint64              `json:"seq"`
		Error  *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(msg.Data, &ack); err != nil {
		return 0, fmt.Errorf("read the server's answer: %w", err)
	}
	if ack.Error != nil {
		return 0, ack.Error
	}
	if ack.Stream == "" || ack.Seq == 0 {
		return 0, fmt.Errorf("read the server's answer: %q", msg.Data)
	}
	return ack.Seq, nil
}
