package broker

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/nats-io/nats.go"
)

// deliver hands a message out until a handler acks it.
func (l *lane) deliver(ctx context.Context, one []item) error {
	for wait := l.cfg.RetryWait; ; wait = min(2*wait, l.cfg.RetryMaxWait) {
		acked, err := l.try(ctx, one)
		if acked || err != nil {
			return err
		}
		l.log.Debug().Uint64("seq", one[0].ack.streamSeq).Msg("message nacked, handing it out again")
		if err := l.pause(ctx, wait); err != nil {
			return err
		}
	}
}

// try hands messages out, as one of Watermill's.
func (l *lane) try(ctx context.Context, hand []item) (acked bool, err error) {
	msg, cancel, err := l.offered(ctx, l.cfg.Topic(hand[0].msg.Subject), hand)
	if err != nil {
		return false, err
	}
	defer cancel()
	return l.outcome(ctx, msg)
}

// offered passes messages to an output of topic, and waits if there is none.
func (l *lane) offered(ctx context.Context, topic string, hand []item) (*message.Message, context.CancelFunc, error) {
	for {
		now := l.topics.current.Load()
		list := now.byTopic[topic]
		if len(list) == 0 {
			if err := l.awaitOutput(ctx, now); err != nil {
				return nil, nil, err
			}
			continue
		}
		l.rotation++
		o := list[l.rotation%len(list)]
		msg, cancel := l.message(o.ctx, hand)
		declined := l.offer(ctx, now, o, msg)
		if declined == nil {
			return msg, cancel, nil
		}
		cancel()
		if err := declined(); err != nil {
			return nil, nil, err
		}
	}
}

// awaitOutput waits until the outputs change.
func (l *lane) awaitOutput(ctx context.Context, now *outputs) error {
	if err := l.flush(ctx); err != nil {
		return err
	}
	return l.waitFor(ctx, now.changed, 0)
}

// offer tries to send msg to o, which can't close meanwhile. It returns what must happen before msg is offered again; nil
// if o took it.
func (l *lane) offer(ctx context.Context, now *outputs, o *output, msg *message.Message) (declined func() error) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	if o.closed {
		return func() error { return l.awaitOutput(ctx, now) }
	}
	select {
	case o.ch <- msg:
		return nil
	default:
	}
	l.timer.Reset(l.cfg.BatchWait)
	defer l.timer.Stop()
	select {
	case o.ch <- msg:
		return nil
	case fn := <-l.turns:
		return func() error {
			l.turn(fn)
			return l.flushFull(ctx)
		}
	case <-o.ctx.Done():
		return func() error { return l.awaitOutput(ctx, now) }
	case <-ctx.Done():
		return func() error { return errStopping }
	case <-l.timer.C:
		if l.backlog() && time.Since(l.since) < l.oldAge() {
			return func() error { return nil } // the handlers are busy; the lane is not idle
		}
		return func() error { return l.flush(ctx) }
	}
}

// outcome waits for the handler, even when the lane is stopping: a running handler
// may still apply its message, so nothing may be flushed meanwhile.
func (l *lane) outcome(ctx context.Context, msg *message.Message) (acked bool, err error) {
	select {
	case <-msg.Acked():
		return true, nil
	case <-msg.Nacked():
		return false, nil
	case <-ctx.Done():
	}
	l.timer.Reset(l.cfg.CloseTimeout)
	defer l.timer.Stop()
	select {
	case <-msg.Acked():
		return true, nil
	case <-msg.Nacked():
		return false, errStopping
	case <-l.timer.C:
		return false, fmt.Errorf("%w: lane %s, message %s", ErrHandlerStuck, l.Name, msg.UUID)
	}
}

// message creates a new Watermill message: an acked or nacked one can't be
// reused, and a retry must not see a handler's changes to the previous one.
func (l *lane) message(parent context.Context, hand []item) (*message.Message, context.CancelFunc) {
	m := hand[0].msg
	ctx, cancel := context.WithCancel(parent)
	msg := message.NewMessage(uuidOf(m.Header, hand[0].ack.streamSeq), m.Data)
	for key, values := range m.Header {
		if len(values) > 0 {
			msg.Metadata[key] = values[0]
		}
	}
	msg.SetContext(&deliveryContext{Context: ctx, lane: l.Name, hand: hand})
	return msg, cancel
}

// headerUUID carries a message's UUID if Nats-Msg-Id differs.
const headerUUID = "Watermill-UUID"

// uuidOf names a message for logs; it does not identify it (two agents may use one id).
func uuidOf(h nats.Header, seq uint64) string {
	if id := h.Get(headerUUID); id != "" {
		return id
	}
	if id := h.Get(nats.MsgIdHdr); id != "" {
		return id
	}
	return strconv.FormatUint(seq, 10)
}

// Delivery is the origin of a message, and what Watermill's message can't
// hold: headers with all their values.
type Delivery struct {
	Lane    string
	Subject string // as stored: <partition>.<type>.<thread>, or the unprefixed subject of a stray
	Seq     uint64 // stream sequence
	Time    time.Time
	Header  nats.Header // as published; read only
	Data    []byte
	Pending uint64 // messages after this one in the lane when it was sent
}

type deliveryKey struct{}

// deliveryContext carries a message's deliveries; one allocation for both.
type deliveryContext struct {
	context.Context //nolint:containedctx // it is a context: what Watermill's message carries, with a value
	lane            string
	hand            []item
}

func (c *deliveryContext) Value(key any) any {
	if _, ok := key.(deliveryKey); ok {
		return c
	}
	return c.Context.Value(key)
}

func (c *deliveryContext) delivery(i int) Delivery {
	m, a := c.hand[i].msg, c.hand[i].ack
	return Delivery{
		Lane: c.lane, Subject: m.Subject, Seq: a.streamSeq, Time: a.time(), Header: m.Header, Data: m.Data, Pending: a.pending,
	}
}

// DeliveryOf returns the delivery of a message from a Subscriber, as long as the message's context descends from the
// original; else the zero Delivery. Of a hand of several it is the first.
func DeliveryOf(msg *message.Message) Delivery {
	if c, ok := msg.Context().Value(deliveryKey{}).(*deliveryContext); ok {
		return c.delivery(0)
	}
	return Delivery{}
}

// HandSize returns how many deliveries a message from a Subscriber has.
func HandSize(msg *message.Message) int {
	if c, ok := msg.Context().Value(deliveryKey{}).(*deliveryContext); ok {
		return len(c.hand)
	}
	return 0
}

// HandOf yields the deliveries of a message from a Subscriber, in order; more than one where the Subscriber's
// HandMessages allow it. The message's own payload and metadata are those of the first.
func HandOf(msg *message.Message) iter.Seq[Delivery] {
	return func(yield func(Delivery) bool) {
		c, ok := msg.Context().Value(deliveryKey{}).(*deliveryContext)
		for i := 0; ok && i < len(c.hand); i++ {
			if !yield(c.delivery(i)) {
				return
			}
		}
	}
}
