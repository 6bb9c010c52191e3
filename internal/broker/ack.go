package broker

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
)

// Ack is the result of publishing one message.
type Ack struct {
	Seq       uint64 // stream sequence; of the first copy if Duplicate
	Duplicate bool   // its Nats-Msg-Id was stored before, within the duplicate window
	Err       error  // ErrWrongLastSequence, ErrTooLarge, ErrRefused or ErrTransient
}

// JetStream error codes (server/errors.json) that a publisher can get.
const (
	codeMessageTooLarge = 10054 // JSStreamMessageExceedsMaximumErr
	codeHeaderTooLarge  = 10097 // JSStreamHeaderExceedsMaximumErr
	codeWrongLastMsgID  = 10070 // JSStreamWrongLastMsgIDErrF
	codeWrongLastSeq    = 10071 // JSStreamWrongLastSequenceErrF
	codeWrongLastSeqC   = 10164 // JSStreamWrongLastSequenceConstantErr
	codeIncompleteBatch = 10176 // JSAtomicPublishIncompleteBatchErr: too many in flight, too slow, or a message was dropped
	codeBatchDuplicate  = 10201 // JSAtomicPublishContainsDuplicateMessageErr
	codeRollup          = 10111 // JSStreamRollupFailedF: sent with code 500, yet permanent
)

// ackReplyBody is a publish acknowledgement on the wire.
type ackReplyBody struct {
	Seq       uint64 `json:"seq"`
	Duplicate bool   `json:"duplicate"`
	Stream    string `json:"stream"`
	Error     *struct {
		Code        int    `json:"code"`
		ErrCode     int    `json:"err_code"`
		Description string `json:"description"`
	} `json:"error"`
}

func parseAck(m *nats.Msg) Ack {
	if noResponders(m) {
		return Ack{Err: fmt.Errorf("%w: no stream accepts the subject now", ErrTransient)}
	}
	var body ackReplyBody
	if err := json.Unmarshal(m.Data, &body); err != nil {
		return Ack{Err: fmt.Errorf("%w: read acknowledgement: %w", ErrTransient, err)}
	}
	if e := body.Error; e != nil {
		return Ack{Err: fmt.Errorf("%w: %s (%d)", kindOf(e.Code, e.ErrCode), e.Description, e.ErrCode)}
	}
	if body.Stream == "" {
		return Ack{Err: fmt.Errorf("%w: acknowledgement names no stream", ErrTransient)}
	}
	return Ack{Seq: body.Seq, Duplicate: body.Duplicate}
}

// kindOf classifies an error as permanent or transient; no other place decides that.
func kindOf(code, errCode int) error {
	switch errCode {
	case codeWrongLastSeq, codeWrongLastSeqC, codeWrongLastMsgID:
		return ErrWrongLastSequence
	case codeMessageTooLarge, codeHeaderTooLarge:
		return ErrTooLarge
	case codeIncompleteBatch:
		return ErrTransient
	case codeBatchDuplicate:
		return ErrBatchDuplicate
	case codeRollup:
		return ErrRefused
	}
	if code == 400 {
		return ErrRefused
	}
	return ErrTransient
}

func classifySend(err error) error {
	switch {
	case errors.Is(err, nats.ErrMaxPayload):
		return fmt.Errorf("%w: %w", ErrTooLarge, err)
	case errors.Is(err, nats.ErrBadSubject), errors.Is(err, nats.ErrBadHeaderMsg):
		return fmt.Errorf("%w: %w", ErrRefused, err)
	default:
		return fmt.Errorf("%w: %w", ErrTransient, err)
	}
}

// ackSet collects the acknowledgements of one window.
type ackSet struct {
	mu       sync.Mutex
	acks     []Ack
	have     []bool
	missing  int
	progress chan struct{} // capacity 1: an answer arrived
}

func newAckSet(n int) *ackSet {
	return &ackSet{acks: make([]Ack, n), have: make([]bool, n), missing: n, progress: make(chan struct{}, 1)}
}

// put records the first answer to message i and ignores a retransmitted one.
func (s *ackSet) put(i int, a Ack) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i < 0 || i >= len(s.acks) || s.have[i] {
		return
	}
	s.acks[i], s.have[i] = a, true
	s.missing--
	select {
	case s.progress <- struct{}{}:
	default:
	}
}

// wait returns when all answers have arrived, ctx ends, the connection is lost, or no answer arrived for timeout.
// Answers in flight are lost with their connection.
func (s *ackSet) wait(ctx context.Context, lost <-chan nats.Status, timeout time.Duration) []Ack {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	for !s.complete() {
		select {
		case <-s.progress:
			timer.Reset(timeout)
		case <-ctx.Done():
			return s.giveUp(ctx.Err())
		case <-lost:
			return s.giveUp(nats.ErrDisconnected)
		case <-timer.C:
			return s.giveUp(nats.ErrTimeout)
		}
	}
	return s.acks
}

func (s *ackSet) complete() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.missing == 0
}

// giveUp fails the missing answers and ignores later ones.
func (s *ackSet) giveUp(err error) []Ack {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.acks {
		if !s.have[i] {
			s.acks[i], s.have[i] = Ack{Err: fmt.Errorf("%w: %w", ErrTransient, err)}, true
		}
	}
	s.missing = 0
	return s.acks
}

// ackReply is JetStream's metadata of a delivered message, from its reply subject:
//
//	$JS.ACK.<stream>.<consumer>.<delivered>.<stream seq>.<consumer seq>.<time>.<pending>
//	$JS.ACK.<domain>.<account>.<stream>.<consumer>.<delivered>.<stream seq>.<consumer seq>.<time>.<pending>[.<token>]
//
// nats.go parses the same with an allocation per message; this parser has none.
type ackReply struct {
	streamSeq   uint64
	consumerSeq uint64
	stamp       int64 // Unix nanoseconds
	pending     uint64
}

func (a ackReply) time() time.Time { return time.Unix(0, a.stamp) }

const (
	ackPrefix    = "$JS.ACK."
	ackTokensV1  = 9
	ackTokensV2  = 11
	ackMaxTokens = 12
)

func parseAckReply(reply string) (ackReply, error) {
	if !strings.HasPrefix(reply, ackPrefix) {
		return ackReply{}, errNotJetStream
	}
	var tokens [ackMaxTokens]string
	n := 0
	for rest, more := reply, true; more; n++ {
		if n == ackMaxTokens {
			return ackReply{}, errNotJetStream
		}
		tokens[n], rest, more = strings.Cut(rest, ".")
	}
	first := 5 // stream seq in the first form
	if n >= ackTokensV2 {
		first = 7
	} else if n != ackTokensV1 {
		return ackReply{}, errNotJetStream
	}
	return numbers(tokens[first : first+4])
}

func numbers(tokens []string) (ackReply, error) {
	var v [4]uint64
	for i, t := range tokens {
		n, err := strconv.ParseUint(t, 10, 64)
		if err != nil {
			return ackReply{}, errNotJetStream
		}
		v[i] = n
	}
	return ackReply{streamSeq: v[0], consumerSeq: v[1], stamp: int64(v[2]), pending: v[3]}, nil
}

// noResponders reports whether an answer is the server's own: nothing has subscribed to the request's subject.
func noResponders(m *nats.Msg) bool { return len(m.Data) == 0 && m.Header.Get("Status") == "503" }
