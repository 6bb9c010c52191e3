package backup

import (
	"bytes"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"precis/internal/broker"
	"precis/internal/datadir"
)

// bucketOn is an object store on a server, over a connection that does not connect again.
func bucketOn(t testing.TB, server *broker.Broker) *Bucket {
	t.Helper()
	conn, err := nats.Connect(server.URL(), nats.NoReconnect())
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	return &Bucket{JetStream: js, Name: "precis", Shown: "nats://elsewhere/precis"}
}

// A backup in an object store restores to the same streams, and goes on where it was interrupted.
func TestObjectStore(t *testing.T) {
	b, place := provisioned(t), bucketOn(t, listening(t))
	_, err := Open(within(t), place, time.Time{})
	require.ErrorIs(t, err, ErrNoBackup, "no bucket")

	run := func(place Place, progress func(copied, all uint64)) error {
		_, err := Run(within(t), Options{JetStream: b.JetStream(), Place: place, Program: "v1", Now: time.Now, SegmentBytes: 200, Progress: progress})
		return err
	}
	say(t, b, "thread.message.t1", "a", "b", "c", string(bytes.Repeat([]byte("large"), 100_000)))
	say(t, b, "summary.created.t1", "{}")
	require.NoError(t, run(place, nil))
	first := holding(t, b)
	of, err := Open(within(t), place, time.Time{})
	require.NoError(t, err)
	then := of.At

	// A run that is cut off keeps what it has copied, and holds others off meanwhile.
	say(t, b, "thread.message.t2", "d", "e", "f", "g")
	second := &Bucket{JetStream: place.JetStream, Name: place.Name}
	require.NoError(t, run(place, func(copied, _ uint64) {
		if copied == 2 {
			require.ErrorIs(t, run(second, nil), datadir.ErrInUse)
		}
	}))

	restored := func(at time.Time) *broker.Broker {
		to, none := opened(t, t.TempDir()), func(uint64, uint64) {}
		of, err := Open(within(t), place, at)
		require.NoError(t, err)
		require.NoError(t, of.Verify(within(t), none))
		require.NoError(t, of.Restore(within(t), Target{JetStream: to.JetStream(), Progress: none}))
		return to
	}
	require.Equal(t, first, holding(t, restored(then)))
	require.Equal(t, holding(t, b), holding(t, restored(time.Time{})))
	require.NoError(t, run(place, nil), "unlocked")
}

// A killed run, whose connection is gone, keeps the next one out for some seconds only.
func TestObjectStoreAfterAKilledRun(t *testing.T) {
	server := listening(t)
	killed, next := bucketOn(t, server), bucketOn(t, server)
	_, err := killed.Lock(within(t))
	require.NoError(t, err)
	_, err = next.Lock(within(t))
	require.ErrorIs(t, err, datadir.ErrInUse)
	killed.JetStream.Conn().Close()
	require.Eventually(t, func() bool {
		unlock, err := next.Lock(within(t))
		if err == nil {
			unlock()
		}
		return err == nil
	}, patience, 100*time.Millisecond)
}

// An object that is missing, cut off or another one is found before anything is restored; objects of others are refused.
func TestDamagedObjectStore(t *testing.T) {
	b := provisioned(t)
	say(t, b, "thread.message.t1", "a", "b", "c")
	for name, damage := range map[string]func(t *testing.T, s jetstream.ObjectStore, object string){
		"missing": func(t *testing.T, s jetstream.ObjectStore, object string) {
			require.NoError(t, s.Delete(within(t), object))
		},
		"other": func(t *testing.T, s jetstream.ObjectStore, object string) {
			_, err := s.PutBytes(within(t), object, []byte("other"))
			require.NoError(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			place := bucketOn(t, listening(t))
			_, err := Run(within(t), Options{JetStream: b.JetStream(), Place: place, Program: "v1", Now: time.Now})
			require.NoError(t, err)
			s, err := place.store(within(t))
			require.NoError(t, err)
			damage(t, s, segmentFile(broker.StreamEvents, 1))
			of, err := Open(within(t), place, time.Time{})
			require.NoError(t, err)
			require.ErrorIs(t, of.Verify(within(t), func(uint64, uint64) {}), ErrDamaged)
		})
	}
	place := bucketOn(t, listening(t))
	s, err := place.JetStream.CreateObjectStore(within(t), jetstream.ObjectStoreConfig{Bucket: place.Name})
	require.NoError(t, err)
	_, err = s.PutString(within(t), "letters.txt", "dear")
	require.NoError(t, err)
	_, err = Run(within(t), Options{JetStream: b.JetStream(), Place: place, Program: "v1", Now: time.Now})
	require.ErrorIs(t, err, ErrNoBackup)
}
