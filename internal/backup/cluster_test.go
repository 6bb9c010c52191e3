package backup

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"precis/internal/broker"
	"precis/internal/broker/brokertest"
)

// Replicated streams come back with their replicas, or with as many as the new server has.
func TestClusterAndBack(t *testing.T) {
	cluster := brokertest.StartCluster(t)
	b, err := broker.Open(within(t), broker.Options{URL: cluster.URL(), Logger: zerolog.Nop()})
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close(within(t))) }()
	_, err = broker.Provision(within(t), b.JetStream(), broker.StreamSpec{Partitions: 2, Replicas: 3})
	require.NoError(t, err)
	say(t, b, "thread.message.t1", "a", "b", "c")
	say(t, b, "summary.created.t1", "s")
	held := holding(t, b)
	dir := t.TempDir()
	backedUp(t, b, dir)

	for _, name := range streams {
		require.NoError(t, b.JetStream().DeleteStream(within(t), name))
	}
	require.NoError(t, restoreTo(t, b, dir, time.Time{}, Target{}))
	require.Equal(t, held, holding(t, b))
	require.Equal(t, uint64(4), say(t, b, "thread.message.t1", "d"))

	single := opened(t, t.TempDir())
	err = restoreTo(t, single, dir, time.Time{}, Target{})
	var refused *jetstream.APIError
	require.True(t, errors.As(err, &refused), "%v", err)
	require.NoError(t, restoreTo(t, single, dir, time.Time{}, Target{Replicas: 1, Overwrite: true}))
	info, err := single.JetStream().Stream(within(t), broker.StreamEvents)
	require.NoError(t, err)
	require.Equal(t, 1, info.CachedInfo().Config.Replicas)
	require.Equal(t, uint64(3), info.CachedInfo().State.LastSeq)
}
