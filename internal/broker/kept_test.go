package broker

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// Calls of Ahead get on, whatever their limit; what was read is kept, also where the log has it no longer.
func TestAhead(t *testing.T) {
	b := provisioned(t, 1)
	kept := NewKept(1 << 20)
	r := NewLogReader(b.JetStream(), StreamEvents).Through(kept)
	var seqs []uint64
	for i := range 20 {
		seqs = append(seqs, publish(t, b, "tool.result.t", fmt.Sprint("body ", i)))
	}
	seqs = append(seqs, seqs[0]) // one that is asked for twice is one
	left, _ := r.Ahead(testContext(t), seqs[10:20], time.Hour)
	require.Zero(t, left)
	_, other := kept.Message(seqs[9])
	require.False(t, other, "it read what it was not asked for")
	for left = len(seqs); left > 0; { // a call without any time reads two
		was := left
		left, _ = r.Ahead(testContext(t), seqs, 0)
		require.LessOrEqual(t, left, was)
		require.NoError(t, testContext(t).Err())
	}
	_, bytes := r.Ahead(testContext(t), seqs, time.Hour)
	require.Greater(t, bytes, 20*len("body 1"))

	s, err := b.JetStream().Stream(testContext(t), StreamEvents)
	require.NoError(t, err)
	require.NoError(t, s.Purge(testContext(t), jetstream.WithPurgeSequence(seqs[10])))
	m, err := r.Get(testContext(t), seqs[3])
	require.NoError(t, err)
	require.Equal(t, "body 3", string(m.Data))
	m, ok := kept.Message(seqs[4])
	require.True(t, ok)
	require.Equal(t, seqs[4], m.Seq)

	// What is gone is not left: Get says what is wrong.
	fresh := NewLogReader(b.JetStream(), StreamEvents).Through(NewKept(1 << 20))
	left, _ = fresh.Ahead(testContext(t), seqs, time.Hour)
	require.Zero(t, left)
	_, err = fresh.Get(testContext(t), seqs[3])
	require.ErrorIs(t, err, ErrGone)
}

// What is kept stays below its limit, but for one message; what was read last stays longest.
func TestKeptIsBounded(t *testing.T) {
	const limit = 20_000
	k := NewKept(limit)
	for seq := range uint64(1000) {
		k.keep(Stored{Seq: seq, Data: make([]byte, 700)})
		k.keep(Stored{Seq: seq, Data: make([]byte, 700)})
		_, first := k.Message(0)
		require.True(t, first, "what is read all the time was dropped")
		held := 0
		for _, list := range []map[uint64]Stored{k.young, k.old} {
			for _, m := range list {
				held += sizeOf(m)
			}
		}
		require.LessOrEqual(t, held, limit)
	}
	_, old := k.Message(500)
	require.False(t, old)
	k.keep(Stored{Seq: 5000, Data: make([]byte, 10*limit)})
	_, large := k.Message(5000)
	require.True(t, large, "a message that is larger than all others may be")

	var none *Kept
	none.keep(Stored{Seq: 1})
	_, ok := none.Message(1)
	require.False(t, ok)
}
