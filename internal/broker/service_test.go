package broker

import (
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
)

// The service's connection can only publish replies, whatever else goes wrong.
func TestServiceConnectionMayOnlyReply(t *testing.T) {
	for name, edit := range map[string]func(*Options){
		"open":        func(*Options) {},
		"by password": func(o *Options) { o.User, o.Password = "me", "secret" },
		"by token":    func(o *Options) { o.Token = "secret" },
	} {
		t.Run(name, func(t *testing.T) {
			b := provisioned(t, 2, func(o *Options) { o.Listen = "127.0.0.1:0" }, edit)
			nc, err := b.OpenService()
			require.NoError(t, err)
			for _, subject := range []string{
				"thread.message.t", "summary.created.t", "event.rejected.t", "config.applied.=p0", "partition.claimed.=p0", "0.tool.result.t", "precis.thread.get.t",
				"$JS.API.INFO", "$JS.API.STREAM.DELETE.EVENTS", "$JS.API.CONSUMER.CREATE.EVENTS", "$JS.ACK.EVENTS.c.1.1.1.1.1", "_R_.x.y",
			} {
				require.NoError(t, nc.Publish(subject, nil))
				require.NoError(t, nc.FlushWithContext(testContext(t)))
				require.ErrorIs(t, nc.LastError(), nats.ErrPermissionViolation, subject)
				require.ErrorContains(t, nc.LastError(), `"`+subject+`"`)
			}
			for _, subject := range []string{">", "tool.result.*", "_INBOX.>", "$JS.>"} {
				sub, err := nc.SubscribeSync(subject)
				require.NoError(t, err)
				require.NoError(t, nc.FlushWithContext(testContext(t)))
				require.ErrorContains(t, nc.LastError(), `"`+subject+`"`)
				_ = sub.Unsubscribe()
			}

			sub, err := nc.Subscribe("precis.thread.get.*", func(m *nats.Msg) { _ = nc.Publish(m.Reply, []byte("state")) })
			require.NoError(t, err)
			defer func() { _ = sub.Unsubscribe() }()
			require.NoError(t, nc.FlushWithContext(testContext(t)))
			reply, err := b.Conn().RequestWithContext(testContext(t), "precis.thread.get.t", nil)
			require.NoError(t, err)
			require.Equal(t, "state", string(reply.Data))
		})
	}
}

// The embedded server requires its configured credentials, and accepts no others.
func TestEmbeddedServerAsksForCredentials(t *testing.T) {
	for name, c := range map[string]struct {
		edit    func(*Options)
		allowed []nats.Option
		refused [][]nats.Option
	}{
		"none": {func(*Options) {}, nil, nil},
		"password": {
			func(o *Options) { o.User, o.Password = "me", "secret" },
			[]nats.Option{nats.UserInfo("me", "secret")},
			[][]nats.Option{nil, {nats.UserInfo("me", "")}, {nats.UserInfo("me", "guess")}, {nats.UserInfo("", "secret")}, {nats.Token("secret")}, {nats.UserInfo("precis-service", "")}},
		},
		"token": {
			func(o *Options) { o.Token = "secret" },
			[]nats.Option{nats.Token("secret")},
			[][]nats.Option{nil, {nats.Token("guess")}, {nats.UserInfo("secret", "secret")}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := openBroker(t, func(o *Options) { o.Listen = "127.0.0.1:0" }, c.edit)
			nc, err := nats.Connect(b.URL(), c.allowed...)
			require.NoError(t, err)
			nc.Close()
			for i, opts := range c.refused {
				nc, err := nats.Connect(b.URL(), opts...)
				if nc != nil {
					nc.Close()
				}
				require.ErrorIs(t, err, nats.ErrAuthorization, "case %d", i)
			}
		})
	}
}
