package broker

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

func TestCheckFindsStreamsThatChanged(t *testing.T) {
	b := openBroker(t)
	ctx, js, spec := testContext(t), b.JetStream(), StreamSpec{Partitions: 4, MaxAge: time.Hour}
	found, err := Provision(ctx, js, spec)
	require.NoError(t, err)
	require.NoError(t, Check(ctx, js, spec, found))

	for _, c := range []struct {
		stream, says string
		change       func(*jetstream.StreamConfig)
	}{
		{StreamEvents, "EVENTS: max_age is 1m0s: set it to 1h0m0s", func(c *jetstream.StreamConfig) { c.MaxAge = time.Minute }},
		{StreamEvents, "EVENTS: max_bytes is 1000000", func(c *jetstream.StreamConfig) { c.MaxBytes, c.Discard = 1_000_000, jetstream.DiscardNew }},
		{StreamEvents, "EVENTS: subjects is", func(c *jetstream.StreamConfig) { c.Subjects = c.Subjects[1:] }},
		{StreamSummaries, "SUMMARIES: max_msgs is 10: remove the limit", func(c *jetstream.StreamConfig) { c.MaxMsgs = 10 }},
		{StreamSummaries, "SUMMARIES: max_bytes is 1000000", func(c *jetstream.StreamConfig) { c.MaxBytes, c.Discard = 1_000_000, jetstream.DiscardNew }},
		{StreamSummaries, "SUMMARIES: subjects is", func(c *jetstream.StreamConfig) { c.Subjects = c.Subjects[:2] }},
		{StreamRejected, "REJECTED: max_age is 1h0m0s: set it to 0", func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour }},
		{StreamRejected, "REJECTED: max_msg_size is 100", func(c *jetstream.StreamConfig) { c.MaxMsgSize = 100 }},
		{StreamRejected, "REJECTED: no_ack is true", func(c *jetstream.StreamConfig) { c.NoAck = true }},
	} {
		s, err := js.Stream(ctx, c.stream)
		require.NoError(t, err)
		changed := s.CachedInfo().Config
		c.change(&changed)
		_, err = js.UpdateStream(ctx, changed)
		require.NoError(t, err)
		err = Check(ctx, js, spec, found)
		require.ErrorIs(t, err, ErrStreamSettings)
		require.ErrorContains(t, err, c.says)
		require.ErrorContains(t, err, "processor streams --apply")
		_, err = ApplyStreams(ctx, js, spec)
		require.NoError(t, err)
		require.NoError(t, Check(ctx, js, spec, found), "%s, changed back", c.says)
	}

	for _, stream := range []string{StreamEvents, StreamSummaries, StreamRejected} {
		require.NoError(t, js.DeleteStream(ctx, stream))
		err = Check(ctx, js, spec, found)
		require.ErrorIs(t, err, ErrStreamMissing)
		require.ErrorContains(t, err, stream)
		again, err := Provision(ctx, js, spec)
		require.NoError(t, err)
		err = Check(ctx, js, spec, found)
		require.ErrorIs(t, err, ErrStreamLost)
		require.ErrorContains(t, err, stream+" was recreated")
		found = again
		require.NoError(t, Check(ctx, js, spec, found))
	}
}

// A check stores nothing.
func TestCheckStoresNothing(t *testing.T) {
	b := openBroker(t)
	ctx, spec := testContext(t), StreamSpec{Partitions: 1}
	found, err := Provision(ctx, b.JetStream(), spec)
	require.NoError(t, err)
	publish(t, b, "config.applied.t", "{}")
	states := func() (all [3]StreamState) {
		for i, stream := range []string{StreamEvents, StreamSummaries, StreamRejected} {
			all[i], err = StateOf(ctx, b.JetStream(), stream)
			require.NoError(t, err)
		}
		return all
	}
	before := states()
	for range 3 {
		require.NoError(t, Check(ctx, b.JetStream(), spec, found))
	}
	require.Equal(t, before, states())
}

// The streams may be valid and this user's writes still forbidden: the server drops those without an answer.
func TestCheckNeedsTheRightToWrite(t *testing.T) {
	url := deployed(t)
	processor, auditor := as(t, url, "processor"), as(t, url, "auditor")
	spec := StreamSpec{Partitions: 1}
	found, err := Provision(testContext(t), processor.JetStream(), spec)
	require.NoError(t, err)
	require.NoError(t, Check(testContext(t), processor.JetStream(), spec, found))

	require.NoError(t, checkStream(testContext(t), auditor.JetStream(), spec.configs()[1], found.Created[StreamSummaries]))
	bounded, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	err = checkWrite(bounded, auditor.Conn(), StreamSummaries, writeProbes[StreamSummaries])
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "may this user publish config.applied.")
}
