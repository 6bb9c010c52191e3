package broker

import (
	"fmt"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"precis/internal/broker/brokertest"
)

// Whatever a lagging follower delivers, and when: each reader gets every message once, in order, and no lane's position
// is ahead of its messages.
func TestReadersOfALogThatLags(t *testing.T) {
	const messages = 300
	server := provisioned(t, 4, func(o *Options) { o.Listen = "127.0.0.1:0" })
	p, err := NewPublisher(server.Conn(), PublisherConfig{})
	require.NoError(t, err)
	defer p.Close()
	put := func(t *testing.T, n int) {
		for _, a := range p.PublishBatch(testContext(t), eventBatch(n)) {
			require.NoError(t, a.Err)
		}
	}
	put(t, messages)
	rests := 0
	for seed := range uint64(8) {
		clean := t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			lag := brokertest.StartLag(t, server.URL(), seed)
			b := openBroker(t, func(o *Options) { o.URL = lag.URL() })
			log := NewLogReader(b.JetStream(), StreamEvents)
			last, err := log.LastSeq(testContext(t))
			require.NoError(t, err)
			for _, filters := range [][]string{nil, {"*.tool.result.*", "*.thread.message.*", "*.message.edited.*"}} {
				next := uint64(1)
				require.NoError(t, log.Scan(testContext(t), 1, filters, func(m Stored) error {
					require.Equal(t, next, m.Seq)
					next++
					return nil
				}, nil))
				require.Equal(t, last+1, next)
			}
			bySubject := map[uint64]bool{}
			require.NoError(t, log.ScanSubjects(testContext(t), 1, []string{"*.*.*.t3"}, func(m Stored) error {
				require.False(t, bySubject[m.Seq])
				bySubject[m.Seq] = true
				return nil
			}, nil))
			leads := 0
			require.NoError(t, NewLogReader(server.JetStream(), StreamEvents).Scan(testContext(t), 1, []string{"*.*.*.t3"}, func(Stored) error { leads++; return nil }, nil))
			require.Len(t, bySubject, leads)
			for seq := uint64(1); seq <= last; seq += 10 {
				m, err := log.Get(testContext(t), seq)
				require.NoError(t, err)
				require.Equal(t, seq, m.Seq)
			}

			lanes := newMemoryLanes(allLanes(4)...)
			c := collect(t, newSubscriber(t, b, lanes, func(c *SubscriberConfig) { c.AdvanceEvery = 1 + seed }), func(m *message.Message) {
				d := DeliveryOf(m)
				if position, _, _ := lanes.Position(d.Lane); position >= d.Seq {
					t.Errorf("lane %s stands at %d and is handed %d", d.Lane, position, d.Seq)
				}
			})
			put(t, messages/2)
			handed := map[string]uint64{}
			for _, d := range c.await(t, int(last)+messages/2) {
				require.Greater(t, d.Seq, handed[d.Lane])
				handed[d.Lane] = d.Seq
			}
			rests += lag.Rests()
		})
		if !clean { // a reader that waits in vain takes its time
			return
		}
	}
	require.NotZero(t, rests)
	t.Logf("deliveries rested %d times before the end", rests)
}
