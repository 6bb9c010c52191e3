package api

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go/jetstream"

	"precis/events"
)

// maxRejections bounds one answer of Rejections.
const maxRejections = 1000

// Rejection is a rejected event of a thread.
type Rejection struct {
	Seq        uint64    `json:"seq"`         // in REJECTED
	RejectedAt time.Time `json:"rejected_at"` // when it was stored there
	events.Rejected
}

// Rejections returns the events of a thread that were rejected, in order: of those behind a sequence of REJECTED (0: from the
// beginning) the first 1,000. To read on, give the last one's Seq. An event is rejected when the processor reaches it; Thread with
// MinEventSeq waits until it has, and its rejection is published right after that. A message of REJECTED that is no rejection, which no
// processor has published, is left out.
//
// It reads REJECTED itself, not through the processor.
func (c *Client) Rejections(ctx context.Context, thread string, after uint64) ([]Rejection, error) {
	token, err := events.Token(thread)
	if err != nil {
		return nil, fmt.Errorf("read rejections: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	list, err := c.rejections(ctx, string(events.EventRejected)+"."+token, after)
	if err != nil {
		return nil, fmt.Errorf("read rejections: %w", err)
	}
	return list, nil
}

func (c *Client) rejections(ctx context.Context, subject string, after uint64) ([]Rejection, error) {
	list := []Rejection{}
	if after == math.MaxUint64 { // nothing is behind it, and the sequence behind it would be 0
		return list, nil
	}
	js, err := jetstream.New(c.nc)
	if err != nil {
		return nil, err
	}
	consumer, err := js.OrderedConsumer(ctx, events.StreamRejected, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{subject}, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: after + 1,
	})
	if err != nil {
		return nil, err
	}
	if consumer.CachedInfo().NumPending == 0 {
		return list, nil
	}
	messages, err := consumer.Messages()
	if err != nil {
		return nil, err
	}
	defer messages.Stop()
	for len(list) < maxRejections {
		msg, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return nil, errors.Join(err, ctx.Err())
		}
		meta, err := msg.Metadata()
		if err != nil {
			return nil, err
		}
		r := Rejection{Seq: meta.Sequence.Stream, RejectedAt: meta.Timestamp}
		if err := json.Unmarshal(msg.Data(), &r.Rejected); err == nil && r.Code != "" {
			list = append(list, r)
		}
		if meta.NumPending == 0 {
			break
		}
	}
	return list, nil
}
