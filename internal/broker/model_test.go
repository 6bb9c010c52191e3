package broker

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// modelLanes checks, from the store's side, the Subscriber's promises: one hand
// in flight per lane, no Flush or turn meanwhile, growing positions,
// and a Flush that covers exactly what was acked. A hand that is nacked keeps what was applied of it.
type modelLanes struct {
	*memoryLanes
	fault func(format string, args ...any)
	hand  int // the most messages of one

	mu       sync.Mutex
	inFlight map[string]int
	acked    map[string]uint64 // last, by lane
	applied  map[string]uint64 // the same, of hands that were nacked too
	split    map[string]bool   // the lane's hand was nacked: its messages come one by one,
	splitTo  map[string]uint64 // up to its last
}

func (m *modelLanes) Flush(ctx context.Context, lane string, last uint64, by Mark) error {
	m.mu.Lock()
	if m.inFlight[lane] != 0 {
		m.fault("flush of lane %s with a message in flight", lane)
	}
	if last < m.acked[lane] {
		m.fault("flush of lane %s at %d, though %d was acked", lane, last, m.acked[lane])
	}
	m.mu.Unlock()
	return m.memoryLanes.Flush(ctx, lane, last, by)
}

// begin returns those of a message's deliveries that are not applied yet.
func (m *modelLanes) begin(msg *message.Message) []Delivery {
	hand := slices.Collect(HandOf(msg))
	m.mu.Lock()
	defer m.mu.Unlock()
	lane, topic := hand[0].Lane, suffix(hand[0].Subject)
	m.inFlight[lane]++
	if m.inFlight[lane] != 1 {
		m.fault("%d messages of lane %s in flight", m.inFlight[lane], lane)
	}
	if len(hand) > m.hand || len(hand) > 1 && m.split[lane] {
		m.fault("%d messages in a hand of lane %s, split: %v", len(hand), lane, m.split[lane])
	}
	if string(msg.Payload) != string(hand[0].Data) {
		m.fault("the payload is not the first delivery's")
	}
	before := m.acked[lane]
	for _, d := range hand {
		if d.Seq <= before || d.Lane != lane || suffix(d.Subject) != topic {
			m.fault("sequence %d of lane %s, %s came after %d of lane %s, %s", d.Seq, d.Lane, d.Subject, before, lane, topic)
		}
		before = d.Seq
	}
	return slices.DeleteFunc(hand, func(d Delivery) bool { return d.Seq <= m.applied[lane] })
}

// end is called before the ack: afterwards the next message may already be handed out.
func (m *modelLanes) end(msg *message.Message, applied []Delivery, ack bool) {
	hand := slices.Collect(HandOf(msg))
	m.mu.Lock()
	defer m.mu.Unlock()
	lane := hand[0].Lane
	m.inFlight[lane]--
	if len(applied) > 0 {
		m.applied[lane] = applied[len(applied)-1].Seq
	}
	if last := hand[len(hand)-1].Seq; ack {
		m.acked[lane] = last
		m.split[lane] = m.split[lane] && last < m.splitTo[lane]
	} else if len(hand) > 1 {
		m.split[lane], m.splitTo[lane] = true, last
	}
}

func suffix(subject string) string { return subject[strings.LastIndexByte(subject, '.')+1:] }

// Every message is acked once, in the order of its lane, whatever is nacked, however large batches and queues are,
// whatever turns run in between, and however often the subscriber is closed and replaced.
func TestEveryMessageOnceInOrder(t *testing.T) {
	b := openBroker(t)
	p, err := NewPublisher(b.Conn(), PublisherConfig{})
	require.NoError(t, err)
	defer p.Close()
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		name := fmt.Sprintf("M%d", run)
		c := modelCase{
			name:     name,
			lanes:    rapid.IntRange(1, 5).Draw(rt, "lanes"),
			messages: rapid.IntRange(0, 300).Draw(rt, "messages"),
			batch:    rapid.IntRange(1, 50).Draw(rt, "batch"),
			queue:    rapid.IntRange(1, 20).Draw(rt, "queue"),
			hand:     rapid.IntRange(1, 8).Draw(rt, "hand"),
			bytes:    rapid.SampledFrom([]int{1, 500, 1 << 20}).Draw(rt, "bytes"),
			nacks:    rapid.IntRange(0, 50).Draw(rt, "nacks in a hundred"),
			closes:   rapid.IntRange(0, 4).Draw(rt, "closes"),
			seed:     rapid.Uint64().Draw(rt, "seed"),
		}
		c.run(t, rt, b, p)
	})
}

type modelCase struct {
	name                                                      string
	lanes, messages, batch, queue, hand, bytes, nacks, closes int
	seed                                                      uint64
}

func (c modelCase) run(t *testing.T, rt *rapid.T, b *Broker, p *Publisher) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err := b.JetStream().CreateStream(ctx, jetstream.StreamConfig{Name: c.name, Subjects: []string{c.name + ".>"}, Storage: jetstream.MemoryStorage})
	require.NoError(rt, err)
	defer func() { require.NoError(rt, b.JetStream().DeleteStream(context.Background(), c.name)) }()

	var lanes []Lane
	for i := range c.lanes {
		lanes = append(lanes, Lane{Name: fmt.Sprint(i), Filters: []string{fmt.Sprintf("%s.%d.>", c.name, i)}})
	}
	m := &modelLanes{
		memoryLanes: newMemoryLanes(lanes...), fault: t.Errorf, hand: c.hand, inFlight: map[string]int{},
		acked: map[string]uint64{}, applied: map[string]uint64{}, split: map[string]bool{}, splitTo: map[string]uint64{},
	}
	rng := rand.New(rand.NewPCG(c.seed, 0))
	msgs := make([]*nats.Msg, c.messages)
	for i := range msgs {
		msgs[i] = &nats.Msg{Subject: fmt.Sprintf("%s.%d.%s", c.name, rng.IntN(c.lanes), "ab"[rng.IntN(2):][:1]), Data: make([]byte, rng.IntN(400))}
	}
	for _, a := range p.PublishBatch(ctx, msgs) {
		require.NoError(rt, a.Err)
	}
	got := map[uint64]int{}
	for range c.closes {
		c.consume(rt, b, m, got, 1+rng.IntN(c.messages+1), rng.Uint64())
	}
	c.consume(rt, b, m, got, -1, rng.Uint64())
	require.Len(rt, got, c.messages)
	for seq, times := range got {
		require.Equal(rt, 1, times, "sequence %d", seq)
	}
}

// consume runs one subscriber until it has acked stopAfter messages, or (-1) until all lanes have caught up.
func (c modelCase) consume(rt *rapid.T, b *Broker, m *modelLanes, got map[uint64]int, stopAfter int, seed uint64) {
	m.memoryLanes.mu.Lock()
	m.reached = map[string]int{}
	m.memoryLanes.mu.Unlock()
	clear(m.split) // another subscriber knows nothing of a hand that was nacked
	s, err := NewSubscriber(b.JetStream(), SubscriberConfig{
		Stream: c.name, Lanes: m, Topic: suffix,
		BatchMessages: c.batch, HandMessages: c.hand, PrefetchMessages: c.queue, PrefetchBytes: c.bytes,
		RetryWait: time.Microsecond, RetryMaxWait: time.Microsecond,
	})
	require.NoError(rt, err)
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(seed, 1))
	enough := make(chan struct{})
	n := 0
	handle := func(msg *message.Message) {
		var applied []Delivery
		ack := true
		for _, d := range m.begin(msg) {
			mu.Lock()
			if ack = rng.IntN(100) >= c.nacks; ack {
				applied = append(applied, d)
				got[d.Seq]++
				if n++; n == stopAfter {
					close(enough)
				}
			}
			mu.Unlock()
			if !ack {
				break
			}
		}
		m.end(msg, applied, ack)
		if ack {
			msg.Ack()
		} else {
			msg.Nack()
		}
	}
	var wg sync.WaitGroup
	for _, topic := range []string{"a", "b"} {
		ch, err := s.Subscribe(context.Background(), topic)
		require.NoError(rt, err)
		wg.Go(func() {
			for msg := range ch {
				wg.Go(func() { handle(msg) })
			}
		})
	}
	c.until(rt, m, enough)
	require.NoError(rt, s.Close())
	wg.Wait()
	require.NoError(rt, s.Err())
}

func (c modelCase) until(rt *rapid.T, m *modelLanes, enough <-chan struct{}) {
	limit := time.After(patience)
	for {
		m.memoryLanes.mu.Lock()
		done, changed := caughtUp(m.memoryLanes), m.changed
		m.memoryLanes.mu.Unlock()
		if done {
			return
		}
		select {
		case <-enough:
			return
		case m.turns <- func() {}:
		case <-changed:
		case <-limit:
			rt.Fatalf("not caught up")
		}
	}
}
