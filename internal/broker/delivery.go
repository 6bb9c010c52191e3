package broker

import (
	"context"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/nats-io/nats.go"
)

// Delivery is the origin of a message, and what Watermill's message can't
// hold: headers with all their values.
type Delivery struct {
	Lane    string
	Subject string // as stored: <partition>.<type>.<thread>, or the unprefixed subject of a stray
	Seq     uint64 // stream sequence
	Time    time.Time
	Header  nats.Header // as published; read only
	Pending uint64      // messages after this one in the lane when it was sent
}

type deliveryKey struct{}

// deliveryContext carries a Delivery; one allocation for both.
type deliveryContext struct {
	context.Context //nolint:containedctx // it is a context: what Watermill's message carries, with a value
	delivery        Delivery
}

func (c *deliveryContext) Value(key any) any {
	if _, ok := key.(deliveryKey); ok {
		return &c.delivery
	}
	return c.Context.Value(key)
}

// DeliveryOf returns the delivery of a message from a Subscriber, as long as the message's context descends from the
// original; else the zero Delivery.
func DeliveryOf(msg *message.Message) Delivery {
	if d, ok := msg.Context().Value(deliveryKey{}).(*Delivery); ok {
		return *d
	}
	return Delivery{}
}
