package broker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

func newTestPublisher(t *testing.T, b *Broker, cfg PublisherConfig) *Publisher {
	t.Helper()
	p, err := NewPublisher(b.Conn(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

func TestPublishBatchKeepsOrder(t *testing.T) {
	b := provisioned(t, 1)
	p := newTestPublisher(t, b, PublisherConfig{})
	msgs := make([]*nats.Msg, 3*windowMessages+7)
	for i := range msgs {
		msgs[i] = &nats.Msg{Subject: "summary.created.t", Data: fmt.Append(nil, i), Header: nats.Header{nats.MsgIdHdr: {fmt.Sprint(i)}}}
	}
	for i, a := range p.PublishBatch(testContext(t), msgs) {
		require.Equal(t, Ack{Seq: uint64(i + 1)}, a)
	}
	for i, a := range p.PublishBatch(testContext(t), msgs) {
		require.Equal(t, Ack{Seq: uint64(i + 1), Duplicate: true}, a)
	}
	require.Empty(t, p.PublishBatch(testContext(t), nil))
}

func TestPublishErrorsAreClassified(t *testing.T) {
	b := provisioned(t, 1)
	_, err := b.JetStream().CreateStream(testContext(t), jetstream.StreamConfig{Name: "SMALL", Subjects: []string{"small"}, MaxMsgSize: 10})
	require.NoError(t, err)
	publish(t, b, "summary.created.t", "first")
	p := newTestPublisher(t, b, PublisherConfig{})
	guard := func(seq, subject string) nats.Header {
		return nats.Header{jetstream.ExpectedLastSubjSeqHeader: {seq}, jetstream.ExpectedLastSubjSeqSubjHeader: {subject}}
	}
	for name, c := range map[string]struct {
		msg  nats.Msg
		want error
	}{
		"stored":               {nats.Msg{Subject: "summary.created.t"}, nil},
		"guard holds":          {nats.Msg{Subject: "summary.failed.u", Header: guard("0", "*.*.u")}, nil},
		"guard does not":       {nats.Msg{Subject: "summary.failed.t", Header: guard("0", "*.*.t")}, ErrWrongLastSequence},
		"last sequence":        {nats.Msg{Subject: "summary.failed.t", Header: nats.Header{jetstream.ExpectedLastSeqHeader: {"77"}}}, ErrWrongLastSequence},
		"last message id":      {nats.Msg{Subject: "summary.failed.t", Header: nats.Header{jetstream.ExpectedLastMsgIDHeader: {"other"}}}, ErrWrongLastSequence},
		"larger than stream":   {nats.Msg{Subject: "small", Data: []byte("more than ten bytes")}, ErrTooLarge},
		"larger than server":   {nats.Msg{Subject: "summary.created.t", Data: make([]byte, MaxPayload+1)}, ErrTooLarge},
		"another stream":       {nats.Msg{Subject: "summary.created.t", Header: nats.Header{jetstream.ExpectedStreamHeader: {StreamEvents}}}, ErrRefused},
		"no subject":           {nats.Msg{Subject: ""}, ErrRefused},
		"no stream listens":    {nats.Msg{Subject: "nobody.there"}, ErrTransient},
		"rollup not permitted": {nats.Msg{Subject: "summary.created.t", Header: nats.Header{jetstream.MsgRollup: {"all"}}}, ErrRefused},
	} {
		t.Run(name, func(t *testing.T) {
			a := p.PublishBatch(testContext(t), []*nats.Msg{&c.msg})[0]
			if c.want == nil {
				require.NoError(t, a.Err)
				require.NotZero(t, a.Seq)
				return
			}
			require.ErrorIs(t, a.Err, c.want)
			for _, other := range []error{ErrWrongLastSequence, ErrTooLarge, ErrRefused, ErrTransient} {
				require.Equal(t, errors.Is(c.want, other), errors.Is(a.Err, other), "%v", a.Err)
			}
		})
	}
}

// The server checks the guard first: a retry after a lost acknowledgement fails
// with a wrong last sequence, although the message is stored and its id within
// the duplicate window. A guarded publisher must then check whether the last message is its own.
func TestGuardGoesBeforeTheDuplicate(t *testing.T) {
	b := provisioned(t, 1)
	p := newTestPublisher(t, b, PublisherConfig{})
	m := &nats.Msg{Subject: "summary.created.t", Header: nats.Header{
		nats.MsgIdHdr:                           {"summary.created/sum_1"},
		jetstream.ExpectedLastSubjSeqHeader:     {"0"},
		jetstream.ExpectedLastSubjSeqSubjHeader: {"*.*.t"},
	}}
	require.Equal(t, Ack{Seq: 1}, p.PublishBatch(testContext(t), []*nats.Msg{m})[0])
	require.ErrorIs(t, p.PublishBatch(testContext(t), []*nats.Msg{m})[0].Err, ErrWrongLastSequence)
	last, err := NewLogReader(b.JetStream(), StreamSummaries).Last(testContext(t), "*.*.t")
	require.NoError(t, err)
	require.EqualValues(t, 1, last.Seq)
	require.Equal(t, "summary.created/sum_1", last.Header.Get(nats.MsgIdHdr))
}

func TestPublishWithoutAServerIsTransient(t *testing.T) {
	r := newRestartable(t)
	b := r.client(t)
	_, err := Provision(testContext(t), b.JetStream(), StreamSpec{Partitions: 1})
	require.NoError(t, err)
	p := newTestPublisher(t, b, PublisherConfig{AckTimeout: 50 * time.Millisecond})
	r.stop(t)
	m := &nats.Msg{Subject: "summary.created.t", Header: nats.Header{nats.MsgIdHdr: {"1"}}}
	require.ErrorIs(t, p.PublishBatch(testContext(t), []*nats.Msg{m})[0].Err, ErrTransient)

	ctx, cancel := context.WithCancel(testContext(t))
	cancel()
	require.ErrorIs(t, p.PublishBatch(ctx, []*nats.Msg{m})[0].Err, ErrTransient)

	r.start(t)
	require.NoError(t, reconnected(t, b))
	patient := newTestPublisher(t, b, PublisherConfig{})
	a := patient.PublishBatch(testContext(t), []*nats.Msg{m})[0]
	require.NoError(t, a.Err)
	require.EqualValues(t, 1, a.Seq, "stored twice")
}

func TestPublishLargeBatch(t *testing.T) {
	b := provisioned(t, 1)
	p := newTestPublisher(t, b, PublisherConfig{})
	body := bytes.Repeat([]byte("x"), 3<<20)
	msgs := make([]*nats.Msg, 10)
	for i := range msgs {
		msgs[i] = &nats.Msg{Subject: "tool.result.t", Data: body}
	}
	for _, a := range p.PublishBatch(testContext(t), msgs) {
		require.NoError(t, a.Err)
	}
}

func TestPublisherReportsWhichFailed(t *testing.T) {
	b := provisioned(t, 1)
	p := newTestPublisher(t, b, PublisherConfig{})
	acks := p.PublishBatch(testContext(t), []*nats.Msg{{Subject: "summary.created.a"}, {Subject: "summary.created.b c"}, {Subject: "summary.created.d"}})
	require.NoError(t, acks[0].Err)
	require.ErrorIs(t, acks[1].Err, ErrRefused)
	require.NoError(t, acks[2].Err)
	require.Empty(t, p.PublishBatch(testContext(t), nil))
	require.NoError(t, p.Close())
	require.ErrorIs(t, p.PublishBatch(testContext(t), []*nats.Msg{{Subject: "summary.created.e"}})[0].Err, ErrClosed)
}

func TestPublishAtomic(t *testing.T) {
	b := provisioned(t, 1)
	p := newTestPublisher(t, b, PublisherConfig{})
	publish(t, b, "summary.created.z", "before")
	message := func(i int) *nats.Msg {
		subject := fmt.Sprintf("summary.created.t%d", i)
		return &nats.Msg{Subject: subject, Data: fmt.Append(nil, i), Header: nats.Header{
			nats.MsgIdHdr:                           {fmt.Sprintf("summary.created/%d", i)},
			jetstream.ExpectedLastSubjSeqHeader:     {"0"},
			jetstream.ExpectedLastSubjSeqSubjHeader: {fmt.Sprintf("*.*.t%d", i)},
		}}
	}
	var msgs []*nats.Msg
	for i := range MaxAtomic {
		msgs = append(msgs, message(i))
	}
	for i, a := range p.PublishAtomic(testContext(t), msgs) {
		require.Equal(t, Ack{Seq: uint64(i + 2)}, a)
	}
	m, err := NewLogReader(b.JetStream(), StreamSummaries).Get(testContext(t), 8)
	require.NoError(t, err)
	require.Equal(t, "6", string(m.Data))
	require.Empty(t, msgs[6].Header.Get(headerBatchID), "the caller's message was changed")

	allFail := func(want error, msgs ...*nats.Msg) {
		t.Helper()
		for _, a := range p.PublishAtomic(testContext(t), msgs) {
			require.ErrorIs(t, a.Err, want)
		}
	}
	fresh, known, guarded := message(2000), message(2001), message(3)
	guarded.Header.Set(nats.MsgIdHdr, "another id")
	allFail(ErrWrongLastSequence, fresh, guarded)
	known.Header.Set(nats.MsgIdHdr, "summary.created/5")
	allFail(ErrRefused, fresh, known)
	allFail(ErrRefused, append(msgs, fresh)...)
	state, err := StateOf(testContext(t), b.JetStream(), StreamSummaries)
	require.NoError(t, err)
	require.EqualValues(t, MaxAtomic+1, state.Last, "part of a refused batch was stored")

	for _, a := range p.PublishAtomic(testContext(t), []*nats.Msg{fresh}) {
		require.NoError(t, a.Err)
	}
}

// Messages in flight on a lost connection fail at once: their answers are lost with it.
func TestPublishGivesUpWithTheConnection(t *testing.T) {
	b := provisioned(t, 1)
	p := newTestPublisher(t, b, PublisherConfig{AckTimeout: time.Hour})
	arrived := make(chan *nats.Msg, 2)
	sub, err := b.Conn().ChanSubscribe("nobody.answers", arrived)
	require.NoError(t, err)
	defer func() { require.NoError(t, sub.Unsubscribe()) }()
	for _, publish := range []func(context.Context, []*nats.Msg) []Ack{p.PublishBatch, p.PublishAtomic} {
		acks := make(chan []Ack, 1)
		go func() {
			acks <- publish(testContext(t), []*nats.Msg{{Subject: "nobody.answers"}, {Subject: "nobody.answers"}})
		}()
		<-arrived
		<-arrived
		require.NoError(t, b.Conn().ForceReconnect())
		got := <-acks
		require.ErrorIs(t, got[0].Err, ErrTransient)
		require.ErrorIs(t, got[0].Err, nats.ErrDisconnected)
	}
}
