package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"precis/internal/broker"
	"precis/internal/broker/brokertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, brokertest.Leftovers()...) }

// patience bounds every wait in these tests; nothing takes that long.
const patience = time.Minute

func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// opened is a server over a directory.
func opened(t testing.TB, dir string) *broker.Broker {
	t.Helper()
	return openedOn(t, dir, "")
}

// listening is a server that others can connect to.
func listening(t testing.TB) *broker.Broker {
	t.Helper()
	return openedOn(t, t.TempDir(), "127.0.0.1:0")
}

func openedOn(t testing.TB, dir, listen string) *broker.Broker {
	t.Helper()
	b, err := broker.Open(within(t), broker.Options{StoreDir: dir, Listen: listen, Sync: "1m", Logger: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close(within(t))) })
	return b
}

// provisioned has the three streams, empty.
func provisioned(t testing.TB) *broker.Broker {
	t.Helper()
	b := opened(t, t.TempDir())
	_, err := broker.Provision(within(t), b.JetStream(), broker.StreamSpec{Partitions: 2})
	require.NoError(t, err)
	return b
}

// say stores messages on a subject, and returns the last sequence.
func say(t testing.TB, b *broker.Broker, subject string, bodies ...string) (seq uint64) {
	t.Helper()
	for _, body := range bodies {
		m := nats.NewMsg(subject)
		m.Data = []byte(body)
		m.Header["ce-id"], m.Header["X-Two"] = []string{fmt.Sprintf("id of %.9s", body)}, []string{"one", "two: 2"}
		ack, err := b.JetStream().PublishMsg(within(t), m)
		require.NoError(t, err)
		seq = ack.Sequence
	}
	return seq
}

// backedUp runs a backup.
func backedUp(t testing.TB, b *broker.Broker, dir string) *Report {
	t.Helper()
	r, err := Run(within(t), Options{JetStream: b.JetStream(), Place: Dir(dir), Program: "v1", Now: time.Now})
	require.NoError(t, err)
	return r
}

// restoredFrom is an empty server to which a backup is restored.
func restoredFrom(t testing.TB, dir string, at time.Time) *broker.Broker {
	t.Helper()
	b := opened(t, t.TempDir())
	require.NoError(t, restoreTo(t, b, dir, at, Target{}))
	return b
}

func restoreTo(t testing.TB, b *broker.Broker, dir string, at time.Time, to Target) error {
	t.Helper()
	of, err := Open(within(t), Dir(dir), at)
	if err != nil {
		return err
	}
	none := func(uint64, uint64) {}
	to.JetStream, to.Progress = b.JetStream(), none
	if err := errors.Join(of.Verify(within(t), none), Check(within(t), to)); err != nil {
		return err
	}
	return of.Restore(within(t), to)
}

// holding is everything that a reader can see of the streams, but their creation times.
func holding(t testing.TB, b *broker.Broker) (lines []string) {
	t.Helper()
	for _, name := range streams {
		s, err := b.JetStream().Stream(within(t), name)
		require.NoError(t, err)
		info := s.CachedInfo()
		lines = append(lines, fmt.Sprintf("%s %d messages, %d to %d: %+v", name, info.State.Msgs, info.State.FirstSeq, info.State.LastSeq, plain(info.Config)))
		err = broker.NewLogReader(b.JetStream(), name).Scan(within(t), 1, nil, func(m broker.Stored) error {
			lines = append(lines, fmt.Sprintf("%s %d %s %s %q %q", name, m.Seq, m.Time, m.Subject, headerBytes(m.Header), m.Data))
			return nil
		}, nil)
		require.NoError(t, err)
	}
	return lines
}

// plain is a configuration without what it points to.
func plain(c jetstream.StreamConfig) any {
	transform := fmt.Sprintf("%+v", c.SubjectTransform)
	c.SubjectTransform, c.Placement = nil, nil
	return []any{c, transform}
}

// files are those of a directory.
func files(t testing.TB, dir, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	require.NoError(t, err)
	return found
}

// overwrite changes a file.
func overwrite(t testing.TB, file string, change func([]byte) []byte) {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, change(data), 0o600))
}
