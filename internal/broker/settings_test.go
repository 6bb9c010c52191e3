package broker

import (
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// Each changeable setting is reported, changed to the configured value, and then no longer reported.
func TestApplyStreams(t *testing.T) {
	for name, edit := range map[string]func(*jetstream.StreamConfig){
		"max_age":              func(c *jetstream.StreamConfig) { c.MaxAge = 2 * time.Hour },
		"max_msgs":             func(c *jetstream.StreamConfig) { c.MaxMsgs = 10 },
		"max_bytes":            func(c *jetstream.StreamConfig) { c.MaxBytes = 1 << 20 },
		"max_msgs_per_subject": func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 1 },
		"max_msg_size":         func(c *jetstream.StreamConfig) { c.MaxMsgSize = 1000 },
		"duplicate_window":     func(c *jetstream.StreamConfig) { c.Duplicates = time.Minute },
		"allow_rollup_hdrs":    func(c *jetstream.StreamConfig) { c.AllowRollup = true },
		"allow_direct":         func(c *jetstream.StreamConfig) { c.AllowDirect = false },
		"allow_atomic":         func(c *jetstream.StreamConfig) { c.AllowAtomicPublish = false },
		"no_ack":               func(c *jetstream.StreamConfig) { c.NoAck = true },
		"subjects":             func(c *jetstream.StreamConfig) { c.Subjects = c.Subjects[1:] },
	} {
		t.Run(name, func(t *testing.T) {
			b := openBroker(t)
			ctx := testContext(t)
			spec := StreamSpec{Partitions: 4, MaxAge: time.Hour}
			made := spec.configs()[0]
			edit(&made)
			_, err := b.JetStream().CreateStream(ctx, made)
			require.NoError(t, err)
			reports, err := CompareStreams(ctx, b.JetStream(), spec)
			require.NoError(t, err)
			require.Len(t, reports[0].Differences, 1)
			require.Equal(t, name, reports[0].Differences[0].Setting)
			require.NotEqual(t, reports[0].Differences[0].Value, reports[0].Differences[0].Want)
			require.True(t, reports[0].Differences[0].Applies)
			require.False(t, reports[1].Exists)

			applied, err := ApplyStreams(ctx, b.JetStream(), spec)
			require.NoError(t, err)
			for _, r := range applied {
				require.True(t, r.Exists)
				require.Empty(t, r.Differences)
			}
			_, err = Provision(ctx, b.JetStream(), spec)
			require.NoError(t, err)
		})
	}
}

// A stream from before forks lacks their subject, which loses nothing: it is used as it is, and differs. One that lacks another is refused.
func TestStreamWithoutForks(t *testing.T) {
	for subject, loses := range map[string]bool{"thread.forked.*": false, "tool.result.*": true} {
		b := openBroker(t)
		ctx := testContext(t)
		spec := StreamSpec{Partitions: 4}
		made := spec.configs()[0]
		made.Subjects = slices.DeleteFunc(made.Subjects, func(s string) bool { return s == subject })
		_, err := b.JetStream().CreateStream(ctx, made)
		require.NoError(t, err)
		streams, err := Provision(ctx, b.JetStream(), spec)
		if loses {
			require.ErrorIs(t, err, ErrStreamSettings)
			continue
		}
		require.NoError(t, err)
		require.Len(t, streams.Differences[StreamEvents], 1)
		require.True(t, streams.Differences[StreamEvents][0].Applies)
		_, err = b.JetStream().Publish(ctx, "thread.forked.f", []byte("{}"))
		require.Error(t, err)
		_, err = ApplyStreams(ctx, b.JetStream(), spec)
		require.NoError(t, err)
		_, err = b.JetStream().Publish(ctx, "thread.forked.f", []byte("{}"))
		require.NoError(t, err)
	}
}

// A setting that can't change without touching stored messages is reported and not changed.
func TestApplyStreamsLeavesWhatIsFixed(t *testing.T) {
	b := openBroker(t)
	ctx := testContext(t)
	_, err := Provision(ctx, b.JetStream(), StreamSpec{Partitions: 4})
	require.NoError(t, err)
	reports, err := ApplyStreams(ctx, b.JetStream(), StreamSpec{Partitions: 8})
	require.NoError(t, err)
	require.Len(t, reports[0].Differences, 1)
	require.Equal(t, "subject_transform", reports[0].Differences[0].Setting)
	require.True(t, reports[0].Differences[0].Loses)
	require.False(t, reports[0].Differences[0].Applies)
	_, err = Provision(ctx, b.JetStream(), StreamSpec{Partitions: 4})
	require.NoError(t, err, "the stream was changed")
}

// A retention configured later is not silently ignored: a start reports the difference, in either direction.
func TestProvisionReportsDifferences(t *testing.T) {
	b := openBroker(t)
	ctx := testContext(t)
	made, err := Provision(ctx, b.JetStream(), StreamSpec{Partitions: 4})
	require.NoError(t, err)
	require.Empty(t, made.Differences[StreamEvents])
	made, err = Provision(ctx, b.JetStream(), StreamSpec{Partitions: 4, MaxAge: time.Hour})
	require.NoError(t, err)
	require.Len(t, made.Differences[StreamEvents], 1)
	differs := made.Differences[StreamEvents][0]
	require.Equal(t, []any{"max_age", "unlimited", "1h0m0s", false, true}, []any{differs.Setting, differs.Value, differs.Want, differs.Loses, differs.Applies})
	_, err = ApplyStreams(ctx, b.JetStream(), StreamSpec{Partitions: 4, MaxAge: time.Hour})
	require.NoError(t, err)
	_, err = Provision(ctx, b.JetStream(), StreamSpec{Partitions: 4, MaxAge: 2 * time.Hour})
	require.ErrorIs(t, err, ErrStreamSettings)
	require.Contains(t, err.Error(), "processor streams --apply")
}
