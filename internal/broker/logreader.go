package broker

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Stored is one message of a stream.
type Stored struct {
	Subject string      // as stored
	Header  nats.Header // as published
	Data    []byte
	Seq     uint64
	Time    time.Time
}

// LogReader reads single messages and ranges of a stream. Safe for concurrent use.
type LogReader struct {
	js      jetstream.JetStream
	stream  string
	prefix  string // of the JetStream API
	missing func(Missing)
	beside  []jetstream.JetStream
	turn    *atomic.Uint64 // of the connections; nil where there is one
	kept    *Kept          // nil: nothing is kept
}

// NewLogReader reads stream through js.
func NewLogReader(js jetstream.JetStream, stream string) *LogReader {
	return &LogReader{js: js, stream: stream, prefix: apiPrefix(js)}
}

// Watch returns a reader that reports messages that are missing from a Scan.
func (r *LogReader) Watch(missing func(Missing)) *LogReader {
	watching := *r
	watching.missing = missing
	return &watching
}

// Beside returns a reader that has further connections to the same server, of which Get uses one after the other: the server answers the requests of
// a connection in turn, and may have to read a block of the stream for each.
func (r *LogReader) Beside(more []jetstream.JetStream) *LogReader {
	wider := *r
	wider.beside, wider.turn = more, &atomic.Uint64{}
	return &wider
}

// next is the connection whose turn it is.
func (r *LogReader) next() *nats.Conn {
	if len(r.beside) > 0 {
		if i := r.turn.Add(1) % uint64(len(r.beside)+1); i > 0 {
			return r.beside[i-1].Conn()
		}
	}
	return r.js.Conn()
}

// Get returns the message with sequence seq, or ErrGone.
func (r *LogReader) Get(ctx context.Context, seq uint64) (Stored, error) {
	if m, ok := r.kept.Message(seq); ok {
		return m, nil
	}
	m, err := r.get(ctx, seq)
	if err == nil {
		r.kept.keep(m)
	}
	return m, err
}

func (r *LogReader) get(ctx context.Context, seq uint64) (Stored, error) {
	body := fmt.Appendf(nil, `{"seq":%d}`, seq)
	reply, err := r.request(ctx, r.next(), "DIRECT.GET."+r.stream, body)
	if errors.Is(err, nats.ErrNoResponders) { // allow_direct is off, or there is no such stream
		return r.fromLeader(ctx, body)
	}
	if err != nil {
		return Stored{}, err
	}
	m, err := directMessage(reply, false)
	if err == nil && m.Seq == seq {
		return m, nil
	}
	// The answer may come from a lagging replica: only the leader's "not found" counts.
	return r.fromLeader(ctx, body)
}

// Last returns the newest message whose stored subject matches filter, or ErrGone.
func (r *LogReader) Last(ctx context.Context, filter string) (Stored, error) {
	body, err := json.Marshal(map[string]string{"last_by_subj": filter})
	if err != nil {
		return Stored{}, fmt.Errorf("ask for last message: %w", err)
	}
	return r.fromLeader(ctx, body)
}

// Next returns the first message at or after sequence from whose stored subject matches filter, or ErrGone. The leader
// answers, which knows every acknowledged message.
func (r *LogReader) Next(ctx context.Context, filter string, from uint64) (Stored, error) {
	return r.fromLeader(ctx, fmt.Appendf(nil, `{"seq":%d,"next_by_subj":%q}`, from, filter))
}

// State returns the stream's state from its leader.
func (r *LogReader) State(ctx context.Context) (StreamState, error) {
	return StateOf(ctx, r.js, r.stream)
}

// LastSeq is the last sequence that the stream has assigned.
func (r *LogReader) LastSeq(ctx context.Context) (uint64, error) {
	state, err := StateOf(ctx, r.js, r.stream)
	return state.Last, err
}

func (r *LogReader) request(ctx context.Context, nc *nats.Conn, subject string, body []byte) (*nats.Msg, error) {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, openTimeout)
		defer cancel()
	}
	reply, err := nc.RequestWithContext(ctx, r.prefix+subject, body)
	if err != nil {
		return nil, fmt.Errorf("read from stream %s: %w", r.stream, err)
	}
	return reply, nil
}

// Headers that a direct get appends to the publisher's own.
const (
	headerStream   = "Nats-Stream"
	headerSubject  = "Nats-Subject"
	headerSequence = "Nats-Sequence"
	headerTime     = "Nats-Time-Stamp"
	headerPending  = "Nats-Num-Pending" // these two only in multi-message answers
	headerBefore   = "Nats-Last-Sequence"
)

// directMessage reads the answer to a direct get. The server appends its headers to
// the publisher's of the same name: only the last value is the server's (nats.go takes
// the first, which a publisher can forge). many: the answer is one of several.
func directMessage(m *nats.Msg, many bool) (Stored, error) {
	seq, err := strconv.ParseUint(takeLast(m.Header, headerSequence), 10, 64)
	if err != nil {
		return Stored{}, fmt.Errorf("%w: %s", ErrGone, m.Header.Get("Description"))
	}
	at, err := time.Parse(time.RFC3339Nano, takeLast(m.Header, headerTime))
	if err != nil {
		return Stored{}, fmt.Errorf("read time of message %d: %w", seq, err)
	}
	takeLast(m.Header, headerStream)
	if many {
		takeLast(m.Header, headerPending)
		takeLast(m.Header, headerBefore)
	}
	return Stored{Subject: takeLast(m.Header, headerSubject), Header: m.Header, Data: m.Data, Seq: seq, Time: at}, nil
}

// takeLast removes and returns the last value of a header.
func takeLast(h nats.Header, name string) string {
	values := h[name]
	if len(values) == 0 {
		return ""
	}
	last := values[len(values)-1]
	if len(values) == 1 {
		delete(h, name)
	} else {
		h[name] = values[:len(values)-1]
	}
	return last
}

// storedReply is the leader's answer on the wire.
type storedReply struct {
	Message *struct {
		Subject string    `json:"subject"`
		Seq     uint64    `json:"seq"`
		Header  []byte    `json:"hdrs"` // base64 in JSON
		Data    []byte    `json:"data"`
		Time    time.Time `json:"time"`
	} `json:"message"`
	Error *jetstream.APIError `json:"error"`
}

func (r *LogReader) fromLeader(ctx context.Context, body []byte) (Stored, error) {
	reply, err := r.request(ctx, r.js.Conn(), "STREAM.MSG.GET."+r.stream, body)
	if err != nil {
		return Stored{}, err
	}
	var s storedReply
	if err := json.Unmarshal(reply.Data, &s); err != nil {
		return Stored{}, fmt.Errorf("read from stream %s: %w", r.stream, err)
	}
	if s.Error != nil && s.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound {
		return Stored{}, ErrGone
	}
	if s.Error != nil {
		return Stored{}, fmt.Errorf("read from stream %s: %w", r.stream, s.Error)
	}
	if s.Message == nil {
		return Stored{}, fmt.Errorf("read from stream %s: %w", r.stream, jetstream.ErrInvalidJetStreamResponse)
	}
	m := s.Message
	header, err := nats.DecodeHeadersMsg(m.Header)
	if err != nil {
		header = nil // an invalid header block counts as absent: the message is delivered and decided that way, too
	}
	return Stored{Subject: m.Subject, Header: header, Data: m.Data, Seq: m.Seq, Time: m.Time}, nil
}

// SeqAt is the last sequence, from first-1 to last, in front of all messages that came later than a time; its message may be missing. The server
// looks it up by the times of its blocks and reads one of them: halving the stream with reads would load a block for each.
func (r *LogReader) SeqAt(ctx context.Context, first, last uint64, t time.Time) (uint64, error) {
	first = max(first, 1)
	switch { // the server counts nanoseconds in 64 bits
	case t.Before(time.Unix(0, 0)):
		return first - 1, nil
	case !t.Before(time.Unix(0, math.MaxInt64)):
		return max(last, first-1), nil
	}
	body := fmt.Appendf(nil, `{"start_time":%q}`, t.Add(1).UTC().Format(time.RFC3339Nano))
	later, err := r.fromLeader(ctx, body)
	switch {
	case errors.Is(err, ErrGone):
		return max(last, first-1), nil
	case err != nil:
		return 0, err
	}
	return min(max(later.Seq, first)-1, max(last, first-1)), nil
}

// severalWait is how long Several waits for each message.
const severalWait = time.Second

// severalBytes is the byte limit of one request, which includes the whole message that reaches it: a server closes a
// connection with 64 MiB pending, and many readers may share one.
const severalBytes = 1 << 20

// Several calls fn for up to n messages from sequence from on, in order. It needs one request where Get needs one each,
// and a third of the work. It may end early without an error (a lagging replica, a server without batched gets, the byte
// limit): the caller reads the remaining messages individually.
//
// It reads every subject. With a wildcard filter the server walks all subjects of a block for each message:
// among 10,000 threads 1.7 ms, where Get takes 0.04.
func (r *LogReader) Several(ctx context.Context, from uint64, n int, fn func(Stored)) error {
	return r.several(ctx, from, n, "", fn)
}

// several is Several of one subject; empty: all.
func (r *LogReader) several(ctx context.Context, from uint64, n int, subject string, fn func(Stored)) error {
	nc := r.js.Conn()
	inbox := nc.NewInbox()
	answers := make(chan *nats.Msg, n+1) // with the end; SubscribeSync takes half a megabyte for its own
	sub, err := nc.ChanSubscribe(inbox, answers)
	if err != nil {
		return fmt.Errorf("read from stream %s: %w", r.stream, err)
	}
	defer func() { _ = sub.Unsubscribe() }() // fails where the connection is closed
	body := fmt.Appendf(nil, `{"seq":%d,"batch":%d,"max_bytes":%d,"next_by_subj":%q}`, from, n, severalBytes, subject)
	if err := nc.PublishRequest(r.prefix+"DIRECT.GET."+r.stream, inbox, body); err != nil {
		return fmt.Errorf("read from stream %s: %w", r.stream, err)
	}
	for range n {
		m, err := r.oneOf(ctx, answers)
		if m == nil || err != nil {
			return err
		}
		batched := len(m.Header[headerPending]) > 0
		s, err := directMessage(m, batched)
		if err != nil {
			return nil // not a message: the end of the batch, or an error status
		}
		fn(s)
		if !batched {
			return nil // a server before 2.11 sends one, without an end
		}
	}
	return nil
}

// oneOf returns the next message of a batch; nil if it does not arrive.
func (r *LogReader) oneOf(ctx context.Context, answers <-chan *nats.Msg) (*nats.Msg, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	timer := time.NewTimer(severalWait)
	defer timer.Stop()
	select {
	case m := <-answers:
		if noResponders(m) {
			return nil, fmt.Errorf("read from stream %s: %w", r.stream, nats.ErrNoResponders)
		}
		return m, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-timer.C:
		return nil, nil
	}
}
