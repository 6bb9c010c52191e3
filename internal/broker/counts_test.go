package broker

import (
	"errors"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// What is counted is what the client's own look at a stream says, in pages as well, and so is the state that comes with it.
func TestCounts(t *testing.T) {
	b := provisioned(t, 4)
	const subjects = 100_001 // the server gives 100,000 at once
	for i := range subjects {
		_, err := b.JetStream().PublishMsgAsync(&nats.Msg{Subject: fmt.Sprintf("tool.result.t%d", i)})
		require.NoError(t, err)
		if i%2000 == 0 {
			<-b.JetStream().PublishAsyncComplete()
		}
	}
	<-b.JetStream().PublishAsyncComplete()
	publish(t, b, "thread.message.t7", "")
	publish(t, b, "thread.message.t7", "")
	r := NewLogReader(b.JetStream(), StreamEvents)
	state, counts, err := r.counts(testContext(t), []string{"*.*.*.t7", "*.tool.result.*"})
	require.NoError(t, err)
	require.Len(t, counts, subjects+1)
	want, err := StateOf(testContext(t), b.JetStream(), StreamEvents)
	require.NoError(t, err)
	require.Equal(t, want, state)
	s, err := b.JetStream().Stream(testContext(t), StreamEvents)
	require.NoError(t, err)
	info, err := s.Info(testContext(t), jetstream.WithSubjectFilter("*.*.*.t7"))
	require.NoError(t, err)
	require.Len(t, info.State.Subjects, 2)
	for name, n := range info.State.Subjects {
		require.Equal(t, n, counts[name])
	}
	none, err := r.Counts(testContext(t), []string{"*.*.*.nobody"})
	require.NoError(t, err)
	require.Empty(t, none)
	_, err = NewLogReader(b.JetStream(), "NONE").Counts(testContext(t), []string{"*"})
	require.True(t, errors.Is(err, jetstream.ErrStreamNotFound), err)
}
