package broker

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// consumerIdle is after how long without a request the server drops a consumer.
	consumerIdle = 5 * time.Minute
	// statusRoom is the channel's room for status messages: heartbeats and ends of requests.
	statusRoom = 64
	// openTimeout bounds one attempt to create a consumer.
	openTimeout = 5 * time.Second
)

// puller reads one filtered, ordered sequence of a stream: an ephemeral
// consumer without acks, recreated after the last message read whenever
// messages may be missing (reconnect, gap, silence, a deleted consumer).
//
// It replaces nats.go's OrderedConsumer, which (1.55) bounds its buffer by
// bytes or by messages, but not by both: with both options it requests another
// max_bytes while half its message count is free, and 17 lanes of 8 MiB
// messages take gigabytes; it holds a lock during every reconnect attempt,
// so that Stop waits for an unreachable server; and it arms a timer per message.
//
// Memory: at most window messages, and at most 2 × maxBytes of them, are
// buffered; a message larger than maxBytes is requested alone.
//
// One goroutine owns a puller.
type puller struct {
	js      jetstream.JetStream
	nc      *nats.Conn
	stream  string
	filters []string
	window  int
	bytes   int

	last     uint64 // stream sequence of the last message handed out
	read     item   // that message; none if this puller has handed out none
	known    Mark   // of the last message that was read before
	through  uint64 // no message lies between the last message read and this sequence
	sub      *nats.Subscription
	in       chan *nats.Msg
	consumer string
	inbox    string
	subject  string // the subject of requests
	requests int    // sent for this consumer
	seq      uint64 // consumer sequence of the last message read
	credit   int    // messages requested and not read
	batch    int    // of the last request
	alone    bool   // the next message is larger than bytes
	resting  bool   // the last thing read was a heartbeat: the server has nothing to deliver
	pending  uint64 // at the server, when this consumer was created
	silence  *time.Timer
}

type pullerConfig struct {
	stream  string
	filters []string
	after   uint64 // stream sequence to start after
	known   Mark   // of a message that was read before; zero: none
	through uint64 // no message lies between that message and this sequence
	window  int    // messages
	bytes   int
}

func newPuller(js jetstream.JetStream, c pullerConfig) *puller {
	return &puller{
		js: js, nc: js.Conn(), stream: c.stream, filters: c.filters,
		window: c.window, bytes: c.bytes, last: c.after, known: c.known, through: c.through,
	}
}

// mark returns the mark of the furthest message known to have been read.
func (p *puller) mark() Mark {
	if p.read.msg == nil || p.read.ack.streamSeq < p.known.Seq {
		return p.known
	}
	return MarkOf(received(p.read.msg, p.read.ack))
}

// open creates a consumer after the last message handed out, verifies that the stream still holds what was read,
// and requests messages. ctx should have a deadline of about openTimeout.
func (p *puller) open(ctx context.Context) error {
	p.drop()
	c, err := p.js.CreateConsumer(ctx, p.stream, p.consumerConfig())
	if err != nil {
		return fmt.Errorf("create consumer on stream %s: %w", p.stream, err)
	}
	info := c.CachedInfo()
	p.consumer, p.pending = info.Name, info.NumPending
	// After creating the consumer, which does not outlive its server: so it delivers from the stream that is checked here.
	through := p.through
	if len(p.filters) > 0 {
		through = 0 // messages that don't match lie in between
	}
	if err := NewLogReader(p.js, p.stream).Holds(ctx, p.mark(), through); err != nil {
		return err
	}
	p.subject = apiPrefix(p.js) + "CONSUMER.MSG.NEXT." + p.stream + "." + p.consumer
	p.inbox = p.nc.NewInbox()
	p.in = make(chan *nats.Msg, p.window+statusRoom)
	if p.sub, err = p.nc.ChanSubscribe(p.inbox+".*", p.in); err != nil {
		return fmt.Errorf("subscribe for stream %s: %w", p.stream, err)
	}
	p.seq, p.credit, p.requests, p.alone = 0, 0, 0, false
	return p.ask()
}

func (p *puller) consumerConfig() jetstream.ConsumerConfig {
	c := jetstream.ConsumerConfig{
		DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:       p.last + 1,
		AckPolicy:         jetstream.AckNonePolicy,
		InactiveThreshold: consumerIdle,
		MemoryStorage:     true,
		Replicas:          1,
	}
	if len(p.filters) == 1 {
		c.FilterSubject = p.filters[0] // the server's cheaper path
	} else {
		c.FilterSubjects = p.filters
	}
	return c
}

// apiPrefix is the subject prefix of the JetStream API for this client.
func apiPrefix(js jetstream.JetStream) string {
	o := js.Options()
	if o.Domain != "" {
		return "$JS." + o.Domain + ".API."
	}
	if o.APIPrefix == "" {
		return jetstream.DefaultAPIPrefix
	}
	if o.APIPrefix[len(o.APIPrefix)-1] != '.' {
		return o.APIPrefix + "."
	}
	return o.APIPrefix
}

// ask requests more when everything requested has arrived and half the window
// is free, so that the next messages travel while these are processed.
func (p *puller) ask() error {
	waiting := len(p.in)
	if p.credit > waiting || waiting > p.window/2 {
		return nil
	}
	batch, maxBytes := p.window-waiting, p.bytes
	if p.alone {
		batch, maxBytes = 1, 0
	}
	p.requests++
	p.batch = batch
	p.credit += batch
	reply := fmt.Sprintf("%s.%d", p.inbox, p.requests)
	if err := p.nc.PublishRequest(p.subject, reply, pullRequest(batch, maxBytes)); err != nil {
		return fmt.Errorf("request messages of stream %s: %w", p.stream, err)
	}
	return nil
}

// receive waits for the next message, as long as heartbeats arrive and the connection stays the same.
func (p *puller) receive(ctx context.Context, online <-chan nats.Status) (*nats.Msg, error) {
	if err := ctx.Err(); err != nil { // select might prefer messages forever
		return nil, err
	}
	select {
	case m := <-p.in:
		return m, nil
	default:
	}
	if p.silence == nil {
		p.silence = time.NewTimer(2 * pullHeartbeat)
	} else {
		p.silence.Reset(2 * pullHeartbeat)
	}
	defer p.silence.Stop()
	select {
	case m := <-p.in:
		return m, nil
	case <-online:
		return nil, errReconnected
	case <-p.silence.C:
		return nil, errSilent
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// accept interprets a message from p.in. ok: it is the next message of the
// sequence; broken: the consumer must be reopened. Both are possible: a message
// whose arrival triggered a request that failed.
func (p *puller) accept(m *nats.Msg) (a ackReply, ok bool, broken error) {
	status, left := statusOf(m)
	p.resting = status == statusHeartbeat
	if status != statusNone {
		return a, false, p.acceptStatus(status, left, m)
	}
	a, err := parseAckReply(m.Reply)
	if err != nil {
		return a, false, err
	}
	if a.consumerSeq != p.seq+1 {
		return a, false, fmt.Errorf("%w: consumer sequence %d after %d", errGap, a.consumerSeq, p.seq)
	}
	p.seq = a.consumerSeq
	p.credit--
	p.alone = false
	if a.streamSeq <= p.last { // never hand out twice, whatever the server does
		return a, false, p.ask()
	}
	p.last, p.read = a.streamSeq, item{m, a}
	return a, true, p.ask()
}

func (p *puller) acceptStatus(status pullStatus, left int, m *nats.Msg) error {
	switch status {
	case statusHeartbeat:
		return nil
	case statusTooSmall:
		// The next message exceeded the remaining bytes of this request. Only a
		// request that delivered nothing proves that it exceeds a whole one.
		p.credit -= left
		p.alone = left >= p.batch
		return p.ask()
	case statusExpired:
		p.credit -= left
		return p.ask()
	default:
		return fmt.Errorf("%w: %s %s", errBroken, m.Header.Get("Status"), m.Header.Get("Description"))
	}
}

// drop deletes the consumer, and notifies the server without waiting for it.
func (p *puller) drop() {
	if p.sub != nil {
		_ = p.sub.Unsubscribe() // fails only when the connection is gone, and the subscription with it
		p.sub = nil
	}
	if p.consumer != "" {
		_ = p.nc.Publish(apiPrefix(p.js)+"CONSUMER.DELETE."+p.stream+"."+p.consumer, nil)
		p.consumer = ""
	}
	p.in = nil
}

const (
	// pullExpires is how long a request for messages waits at the server.
	pullExpires = 30 * time.Second
	// pullHeartbeat is how often the server must confirm that it still holds the
	// request; after two missed heartbeats the consumer is recreated.
	pullHeartbeat = 5 * time.Second
)

// pullRequest is the body of a request for messages. maxBytes 0: no limit.
func pullRequest(batch, maxBytes int) []byte {
	return fmt.Appendf(nil, `{"batch":%d,"max_bytes":%d,"expires":%d,"idle_heartbeat":%d}`,
		batch, maxBytes, pullExpires.Nanoseconds(), pullHeartbeat.Nanoseconds())
}

// pullStatus is what an empty message says about a request.
type pullStatus int

const (
	statusNone      pullStatus = iota // an ordinary message
	statusHeartbeat                   // the request waits; there is nothing to deliver
	statusExpired                     // the request is over; its remainder will not come
	statusTooSmall                    // the next message is larger than the request's max_bytes
	statusBroken                      // the consumer or its server is gone
)

// statusOf classifies m and returns how many messages of its request will not come.
func statusOf(m *nats.Msg) (pullStatus, int) {
	if len(m.Data) > 0 || m.Reply != "" && strings.HasPrefix(m.Reply, ackPrefix) {
		return statusNone, 0
	}
	left, _ := strconv.Atoi(m.Header.Get("Nats-Pending-Messages"))
	switch m.Header.Get("Status") {
	case "":
		return statusNone, 0
	case "100":
		return statusHeartbeat, 0
	case "408":
		return statusExpired, left
	case "409":
		return conflict(m.Header.Get("Description")), left
	default:
		return statusBroken, 0
	}
}

// conflict distinguishes 409s by their description, as nats.go does.
func conflict(description string) pullStatus {
	switch strings.ToLower(description) {
	case "message size exceeds maxbytes":
		return statusTooSmall
	case "batch completed":
		return statusExpired
	default:
		return statusBroken
	}
}
