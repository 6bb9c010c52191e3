package ask

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go/jetstream"

	"precis/cmd/processor/remote"
	"precis/events"
	"precis/internal/broker"
)

// settled is how long a processor that has partitions has had its first when it takes one over. Within that time it has started: it takes its share,
// or those of the one that ran before it.
const settled = 5 * time.Second

// claimsTimeout bounds the reading of the last claims: what happens now is not to wait for it.
const claimsTimeout = 5 * time.Second

// owners says which claims move a partition from one processor to another that has run beside it, as where one dies or leaves. Claims at a start do not.
type owners struct {
	of    map[int]string       // by partition
	seq   map[int]uint64       // of the claim
	since map[string]time.Time // the first claim of each that is known
}

func newOwners() *owners {
	return &owners{of: map[int]string{}, seq: map[int]uint64{}, since: map[string]time.Time{}}
}

// claimed notes a claim and says what it is; empty: nothing moves. One that is older than what is known of its partition says nothing either.
func (o *owners) claimed(e remote.Entry) string {
	var c events.Claimed
	if json.Unmarshal(e.Raw.Body, &c) != nil || c.Owner == "" {
		return ""
	}
	before, known := o.of[c.Partition]
	if e.Seq > 0 && e.Seq <= o.seq[c.Partition] {
		return ""
	}
	o.seq[c.Partition] = e.Seq
	first, had := o.since[c.Owner]
	if !had || e.Time.Before(first) {
		o.since[c.Owner] = e.Time
	}
	o.of[c.Partition] = c.Owner
	if !known || before == c.Owner || !had || e.Time.Sub(first) < settled {
		return ""
	}
	return fmt.Sprintf("partition %d: moved from %s to %s", c.Partition, before, c.Owner)
}

// lastClaims notes who has each partition now. A user that may not read them, or a server that does not answer, leaves that unknown: a partition's first
// claim then says nothing.
func (o *owners) lastClaims(ctx context.Context, s *remote.Server) {
	ctx, cancel := context.WithTimeout(ctx, claimsTimeout)
	defer cancel()
	_ = s.Refusable(ctx, func(ctx context.Context) error {
		c, err := s.JS.OrderedConsumer(ctx, broker.StreamSummaries, jetstream.OrderedConsumerConfig{
			FilterSubjects: []string{string(events.PartitionClaimed) + ".*"}, DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy,
		})
		if err != nil {
			return err
		}
		info, err := c.Info(ctx)
		if err != nil || info.NumPending == 0 {
			return err
		}
		in, err := c.Messages()
		if err != nil {
			return err
		}
		defer in.Stop()
		for {
			msg, err := in.Next(jetstream.NextContext(ctx))
			if err != nil {
				return err
			}
			meta, err := msg.Metadata()
			if err != nil {
				return err
			}
			o.claimed(remote.Entry{Seq: meta.Sequence.Stream, Time: meta.Timestamp, Raw: events.Raw{Body: msg.Data()}})
			if meta.NumPending == 0 {
				return nil
			}
		}
	})
}
