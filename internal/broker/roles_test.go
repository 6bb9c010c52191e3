package broker

import (
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"precis/events"
)

// deployed runs a server from deploy/nats/nats.conf unchanged, except for its
// addresses and store directory.
func deployed(t *testing.T) (url string) {
	t.Helper()
	passwords(t)
	opts, err := server.ProcessConfigFile("../../deploy/nats/nats.conf")
	require.NoError(t, err)
	require.EqualValues(t, MaxPayload, opts.MaxPayload)
	require.True(t, opts.SyncAlways)
	opts.SyncAlways = false // these tests don't depend on it
	opts.Host, opts.Port, opts.HTTPPort = "127.0.0.1", server.RANDOM_PORT, 0
	opts.StoreDir, opts.NoSigs, opts.NoLog = t.TempDir(), true, true
	srv, err := server.NewServer(opts)
	require.NoError(t, err)
	srv.Start()
	require.True(t, srv.ReadyForConnections(patience))
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	return srv.ClientURL()
}

// passwords sets those that deploy/nats/nats.conf reads.
func passwords(t *testing.T) {
	for _, role := range []string{"PROCESSOR", "SERVICE", "AGENT", "AUDITOR", "ADMIN"} {
		t.Setenv("NATS_"+role+"_PASSWORD", strings.ToLower(role)+"-secret")
	}
}

func as(t *testing.T, url, role string) *Broker {
	t.Helper()
	return openBroker(t, func(o *Options) {
		*o = Options{
			URL: url, User: role, Password: role + "-secret", Logger: zerolog.Nop(),
			Service: Login{User: "service", Password: "service-secret"},
		}
	})
}

func TestPasswordsMustBeSet(t *testing.T) {
	_, err := server.ProcessConfigFile("../../deploy/nats/nats.conf")
	require.ErrorContains(t, err, "_PASSWORD")
}

func TestWrongPasswordIsRefused(t *testing.T) {
	url := deployed(t)
	_, err := Open(testContext(t), Options{URL: url, User: "agent", Password: "guess", Logger: zerolog.Nop()})
	require.ErrorIs(t, err, ErrAuth)
	_, err = Open(testContext(t), Options{URL: url, Logger: zerolog.Nop()})
	require.ErrorIs(t, err, ErrAuth)
}

// The whole workflow, each step by its role.
func TestRolesCanDoTheirWork(t *testing.T) {
	url := deployed(t)
	ctx := testContext(t)
	processor := as(t, url, "processor")
	_, err := Provision(ctx, processor.JetStream(), StreamSpec{Partitions: 4})
	require.NoError(t, err)
	answering, err := processor.OpenService()
	require.NoError(t, err)
	svc, err := micro.AddService(answering, micro.Config{Name: "precis", Version: "1.0.0"})
	require.NoError(t, err)
	defer svc.Stop()
	require.NoError(t, svc.AddEndpoint("get", micro.HandlerFunc(func(r micro.Request) { _ = r.Respond([]byte("state")) }), micro.WithEndpointSubject("precis.thread.get.*")))
	require.NoError(t, answering.FlushWithContext(ctx)) // the server knows the subscription before the agent asks

	agent := as(t, url, "agent")
	publish(t, agent, "tool.result.t", "output")
	reply, err := agent.Conn().RequestWithContext(ctx, "precis.thread.get.t", nil)
	require.NoError(t, err)
	require.Equal(t, "state", string(reply.Data))

	lanes := newMemoryLanes(allLanes(4)...)
	collect(t, newSubscriber(t, processor, lanes), nil).await(t, 1)
	p := newTestPublisher(t, processor, PublisherConfig{})
	require.NoError(t, p.PublishBatch(ctx, []*nats.Msg{{Subject: "summary.created.t", Data: []byte("summary")}})[0].Err)
	require.NoError(t, p.PublishBatch(ctx, []*nats.Msg{{Subject: "event.rejected.t", Data: []byte("why")}})[0].Err)

	// An agent's durable subscription, with acks.
	c, err := agent.JetStream().CreateOrUpdateConsumer(ctx, StreamSummaries, jetstream.ConsumerConfig{Durable: "me", AckPolicy: jetstream.AckExplicitPolicy})
	require.NoError(t, err)
	m, err := c.Next()
	require.NoError(t, err)
	require.Equal(t, "summary", string(m.Data()))
	require.NoError(t, m.DoubleAck(ctx))

	// Its threads' rejections, and an event that nothing acknowledges.
	c, err = agent.JetStream().CreateOrUpdateConsumer(ctx, StreamRejected, jetstream.ConsumerConfig{FilterSubject: "event.rejected.t"})
	require.NoError(t, err)
	m, err = c.Next()
	require.NoError(t, err)
	require.Equal(t, "event.rejected.t", m.Subject())
	require.NoError(t, agent.Conn().Publish("tool.result.plain", []byte("output")))
	publish(t, agent, "tool.result.t", "output") // behind it

	auditor := as(t, url, "auditor")
	for _, stream := range []string{StreamEvents, StreamSummaries, StreamRejected} {
		r := NewLogReader(auditor.JetStream(), stream)
		_, err := r.Get(ctx, 1)
		require.NoError(t, err)
		_, err = r.Last(ctx, ">")
		require.NoError(t, err)
		n := 0
		require.NoError(t, r.Scan(ctx, 1, nil, func(Stored) error { n++; return nil }, nil))
		require.Equal(t, map[string]int{StreamEvents: 3, StreamSummaries: 1, StreamRejected: 1}[stream], n)
		ordered, err := auditor.JetStream().OrderedConsumer(ctx, stream, jetstream.OrderedConsumerConfig{})
		require.NoError(t, err)
		_, err = ordered.Next()
		require.NoError(t, err)
	}
	_, err = Provision(ctx, auditor.JetStream(), StreamSpec{Partitions: 4, CheckOnly: true})
	require.NoError(t, err)

	admin := as(t, url, "admin")
	s, err := admin.JetStream().Stream(ctx, StreamSummaries)
	require.NoError(t, err)
	require.NoError(t, s.DeleteMsg(ctx, 1), "auditing must be able to try tampering")

	for _, typ := range events.Types() { // what agents publish, and operators with rejected --retry
		if typ.Incoming() {
			publish(t, agent, string(typ)+".t", "{}")
			publish(t, processor, string(typ)+".t", "{}")
		}
	}
}

func TestRolesCanDoNoMore(t *testing.T) {
	url := deployed(t)
	_, err := Provision(testContext(t), as(t, url, "processor").JetStream(), StreamSpec{Partitions: 4})
	require.NoError(t, err)
	destroy := []string{
		"$JS.API.STREAM.DELETE.EVENTS", "$JS.API.STREAM.PURGE.EVENTS", "$JS.API.STREAM.MSG.DELETE.EVENTS",
		"$JS.API.STREAM.UPDATE.EVENTS", "$JS.API.STREAM.RESTORE.EVENTS", "$JS.API.STREAM.DELETE.SUMMARIES",
	}
	for role, subjects := range map[string][]string{
		"processor": destroy,
		"agent": append([]string{
			"summary.created.t", "summary.invalidated.t", "usage.recorded.t", "config.applied.=p0", "partition.claimed.=p0", "event.rejected.t",
			"0.tool.result.t", "anything.else", "_INBOX.somebody.1",
			"$JS.API.STREAM.CREATE.MINE", "$JS.API.STREAM.MSG.GET.EVENTS", "$JS.API.DIRECT.GET.EVENTS",
			"$JS.API.CONSUMER.CREATE.EVENTS", "$JS.API.CONSUMER.CREATE.REJECTED.c", "$JS.API.CONSUMER.MSG.NEXT.EVENTS.c",
		}, destroy...),
		"auditor": append([]string{
			"thread.message.t", "tool.result.t", "message.edited.t", "thread.forked.t", "summary.created.t", "event.rejected.t",
			"precis.thread.summarize.t", "_INBOX.somebody.1", "$JS.API.STREAM.CREATE.MINE",
			"$JS.API.CONSUMER.DURABLE.CREATE.EVENTS.c", "$JS.API.CONSUMER.DELETE.EVENTS.c",
		}, destroy...),
	} {
		for _, subject := range subjects {
			require.ErrorIs(t, tryPublish(t, as(t, url, role), subject), nats.ErrPermissionViolation, "%s publishes %s", role, subject)
		}
	}
	for role, subjects := range map[string][]string{
		"agent":   {">", "tool.result.*", "summary.>", "precis.>", "$JS.>"},
		"auditor": {">", "tool.result.*", "precis.>"},
	} {
		for _, subject := range subjects {
			require.ErrorIs(t, trySubscribe(t, as(t, url, role), subject), nats.ErrPermissionViolation, "%s subscribes %s", role, subject)
		}
	}
}

// tryPublish returns the server's error, which arrives before its pong.
func tryPublish(t *testing.T, b *Broker, subject string) error {
	t.Helper()
	require.NoError(t, b.Conn().Publish(subject, nil))
	require.NoError(t, b.Conn().FlushWithContext(testContext(t)))
	return b.Conn().LastError()
}

func trySubscribe(t *testing.T, b *Broker, subject string) error {
	t.Helper()
	sub, err := b.Conn().SubscribeSync(subject)
	require.NoError(t, err)
	defer func() { _ = sub.Unsubscribe() }()
	require.NoError(t, b.Conn().FlushWithContext(testContext(t)))
	return b.Conn().LastError()
}
