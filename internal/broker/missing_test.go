package broker

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const damagedRecords = 200

// damaged returns a server whose SUMMARIES files were overwritten while it was down.
func damaged(t *testing.T, junk []byte, place func(size int64) int64) *Broker {
	t.Helper()
	dir := t.TempDir()
	o := Options{StoreDir: dir, Sync: "1m"}
	b, err := Open(testContext(t), o)
	require.NoError(t, err)
	_, err = Provision(testContext(t), b.JetStream(), StreamSpec{Partitions: 2})
	require.NoError(t, err)
	for n := range damagedRecords {
		publish(t, b, fmt.Sprintf("summary.created.t%d", n%7), fmt.Sprintf(`{"n":%d,"text":"%0100d"}`, n, n))
	}
	require.NoError(t, b.Close(context.Background()))

	blocks, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", StreamSummaries, "msgs", "*.blk"))
	require.NoError(t, err)
	require.Len(t, blocks, 1)
	f, err := os.OpenFile(blocks[0], os.O_RDWR, 0)
	require.NoError(t, err)
	info, err := f.Stat()
	require.NoError(t, err)
	_, err = f.WriteAt(junk, place(info.Size()))
	require.NoError(t, err)
	require.NoError(t, f.Close())

	again := openBroker(t, func(o *Options) { o.StoreDir = dir })
	return again
}

func middle(size int64) int64 { return size / 2 }

// The server silently skips what it can't read: a scan reports it, whether it reads everything or one thread, and
// still ends.
func TestScanTellsWhatIsMissing(t *testing.T) {
	tests := []struct {
		name    string
		junk    string
		place   func(size int64) int64
		filters []string
		want    string
	}{
		{"one in the middle", "XXXX", middle, nil, "[SUMMARIES 101]"},
		{"the last one", "XXXX", func(size int64) int64 { return size - 60 }, nil, "[SUMMARIES 200]"},
		{"of another thread", "XXXX", middle, []string{"*.*.t1"}, "[]"},
		{"of the thread", "XXXX", middle, []string{"*.*.t2"}, "[SUMMARIES 101]"}, // (101-1) % 7
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := damaged(t, []byte(test.junk), test.place)
			missing, read := []Missing{}, 0
			log := NewLogReader(b.JetStream(), StreamSummaries).Watch(func(m Missing) { missing = append(missing, m) })
			require.NoError(t, log.Scan(testContext(t), 1, test.filters, func(Stored) error { read++; return nil }, nil))
			require.Equal(t, test.want, fmt.Sprint(missing))
			if test.filters == nil {
				require.Equal(t, damagedRecords-1, read)
				return
			}
			missing = nil
			bySubject := 0
			require.NoError(t, log.ScanSubjects(testContext(t), 1, test.filters, func(Stored) error { bySubject++; return nil }, nil))
			require.Equal(t, test.want, fmt.Sprint(missing))
			require.Equal(t, read, bySubject)
		})
	}
}

// Deleted messages are missing too; those that retention has dropped at the start of EVENTS are not.
func TestScanTellsWhatWasDeleted(t *testing.T) {
	b := provisioned(t, 2)
	for n := range 10 {
		publish(t, b, "tool.result.t1", fmt.Sprint(n))
		publish(t, b, "summary.created.t1", fmt.Sprint(n))
	}
	for _, name := range []string{StreamEvents, StreamSummaries} {
		stream, err := b.JetStream().Stream(testContext(t), name)
		require.NoError(t, err)
		for _, seq := range []uint64{1, 4, 5, 10} {
			require.NoError(t, stream.DeleteMsg(testContext(t), seq))
		}
	}
	for name, want := range map[string]string{
		StreamEvents:    "[EVENTS 4 to 5 EVENTS 10]",
		StreamSummaries: "[SUMMARIES 1 SUMMARIES 4 to 5 SUMMARIES 10]",
	} {
		var missing []Missing
		log := NewLogReader(b.JetStream(), name).Watch(func(m Missing) { missing = append(missing, m) })
		require.NoError(t, log.Scan(testContext(t), 1, nil, func(Stored) error { return nil }, nil))
		require.Equal(t, want, fmt.Sprint(missing))
	}
}

// Holes counts what the server knows to be gone, and is zero if nothing is.
func TestHoles(t *testing.T) {
	b := provisioned(t, 2)
	holes := func() uint64 {
		state, err := StateOf(testContext(t), b.JetStream(), StreamSummaries)
		require.NoError(t, err)
		return state.Holes()
	}
	require.Zero(t, holes(), "of a new stream")
	for n := range 5 {
		publish(t, b, "summary.created.t1", fmt.Sprint(n))
	}
	require.Zero(t, holes())
	stream, err := b.JetStream().Stream(testContext(t), StreamSummaries)
	require.NoError(t, err)
	require.NoError(t, stream.DeleteMsg(testContext(t), 3))
	require.EqualValues(t, 1, holes())
	require.NoError(t, stream.Purge(testContext(t)))
	require.Zero(t, holes(), "of an emptied stream")
}

// A consumer that continues after a gap reports it, once.
func TestSubscriberTellsWhatIsMissing(t *testing.T) {
	b := provisioned(t, 2)
	for n := range 6 {
		publish(t, b, "tool.result.t1", fmt.Sprint(n))
	}
	stream, err := b.JetStream().Stream(testContext(t), StreamEvents)
	require.NoError(t, err)
	for _, seq := range []uint64{3, 4, 6} {
		require.NoError(t, stream.DeleteMsg(testContext(t), seq))
	}
	missing := make(chan Missing, 10)
	lanes := newMemoryLanes(allLanes(2)...)
	s := newSubscriber(t, b, lanes, func(c *SubscriberConfig) { c.Missing = func(m Missing) { missing <- m } })
	collect(t, s, nil)
	publish(t, b, "tool.result.t1", "behind")
	for _, want := range []string{"EVENTS 3 to 4", "EVENTS 6"} {
		select {
		case m := <-missing:
			require.Equal(t, want, m.String())
		case <-testContext(t).Done():
			t.Fatal("nothing is told")
		}
	}
}
