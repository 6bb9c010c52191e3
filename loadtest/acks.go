package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// ledger has what the servers have acknowledged: an event and the sequence at which they said that EVENTS holds it. With it, what the servers
// lost is told from what a processor did wrong.
type ledger struct {
	mu   sync.Mutex
	acks []ack
}

type ack struct {
	seq    uint64
	digest uint64
	typ    string // and thread, for people
}

// acked notes an ack.
func (l *ledger) acked(m *nats.Msg, by *jetstream.PubAck) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acks = append(l.acks, ack{by.Sequence, digest(m.Subject, m.Data), m.Subject})
}

// digest identifies an event. Its subject in EVENTS has the partition in front.
func digest(subject string, data []byte) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(subject[strings.LastIndexByte(subject, '.')+1:])) // never fails
	_, _ = h.Write([]byte{0})
	_, _ = h.Write(data)
	return h.Sum64()
}

// lost lists what was acknowledged and is not in EVENTS where the ack says it is.
func (l *ledger) lost(ctx context.Context, nc *nats.Conn) ([]string, error) {
	l.mu.Lock()
	acks := slices.Clone(l.acks)
	l.mu.Unlock()
	if len(acks) == 0 {
		return nil, nil
	}
	slices.SortFunc(acks, func(a, b ack) int { return int(a.seq) - int(b.seq) })
	held, err := digests(ctx, nc, acks[0].seq, acks[len(acks)-1].seq)
	if err != nil {
		return nil, fmt.Errorf("read EVENTS: %w", err)
	}
	elsewhere := map[uint64]uint64{}
	for seq, d := range held {
		elsewhere[d] = seq
	}
	var wrong []string
	for _, a := range acks {
		switch d, there := held[a.seq]; {
		case there && d == a.digest:
		case elsewhere[a.digest] > 0:
			wrong = append(wrong, fmt.Sprintf("%s was acknowledged at %d of EVENTS, and is at %d", a.typ, a.seq, elsewhere[a.digest]))
		case there:
			wrong = append(wrong, fmt.Sprintf("%s was acknowledged at %d of EVENTS, which holds another event there: the servers lost it", a.typ, a.seq))
		default:
			wrong = append(wrong, fmt.Sprintf("%s was acknowledged at %d of EVENTS, which holds nothing there: the servers lost it", a.typ, a.seq))
		}
	}
	return wrong, nil
}

// digests reads EVENTS from one sequence to another, or to its end.
func digests(ctx context.Context, nc *nats.Conn, from, to uint64) (map[uint64]uint64, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	stream, err := js.Stream(ctx, "EVENTS")
	if err != nil {
		return nil, err
	}
	held := map[uint64]uint64{}
	if to = min(to, stream.CachedInfo().State.LastSeq); to < from {
		return held, nil
	}
	consumer, err := stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: from})
	if err != nil {
		return nil, err
	}
	messages, err := consumer.Messages()
	if err != nil {
		return nil, err
	}
	defer messages.Stop()
	for {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return nil, err
		}
		meta, err := m.Metadata()
		if err != nil {
			return nil, err
		}
		if meta.Sequence.Stream <= to {
			held[meta.Sequence.Stream] = digest(m.Subject(), m.Data())
		}
		if meta.Sequence.Stream >= to || meta.NumPending == 0 {
			return held, nil
		}
	}
}
