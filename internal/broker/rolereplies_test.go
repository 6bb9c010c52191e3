package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// apiSubjects are all requests of JetStream's API about the three streams, their consumer c and a message subject.
func apiSubjects() []string {
	list := []string{
		server.JSApiAccountInfo, server.JSApiStreams, server.JSApiStreamList,
		server.JSApiLeaderStepDown, server.JSApiRemoveServer, server.JSApiEvacuateServer, server.JSApiMetaRescue,
		fmt.Sprintf(server.JSApiAccountPurgeT, "PRECIS"),
	}
	for stream, subject := range map[string]string{StreamEvents: "0.tool.result.t", StreamSummaries: "summary.created.t", StreamRejected: "event.rejected.t"} {
		for _, template := range []string{
			server.JSApiStreamCreateT, server.JSApiStreamUpdateT, server.JSApiStreamInfoT, server.JSApiStreamDeleteT, server.JSApiStreamPurgeT,
			server.JSApiStreamSnapshotT, server.JSApiStreamRestoreT, server.JSApiMsgDeleteT, server.JSApiMsgGetT, server.JSDirectMsgGetT,
			server.JSApiStreamRemovePeerT, server.JSApiStreamEvacuatePeerT, server.JSApiStreamCancelMoveT, server.JSApiStreamLeaderStepDownT,
			server.JSApiConsumerCreateT, server.JSApiConsumersT, server.JSApiConsumerListT,
		} {
			list = append(list, fmt.Sprintf(template, stream))
		}
		for _, template := range []string{
			server.JSApiDurableCreateT, server.JSApiConsumerInfoT, server.JSApiConsumerDeleteT, server.JSApiConsumerPauseT, server.JSApiRequestNextT,
			server.JSApiConsumerResetT, server.JSApiConsumerUnpinT, server.JSApiConsumerLeaderStepDownT, server.JSApiConsumerRemovePeerT,
			server.JSApiConsumerEvacuatePeerT, "$JS.API.CONSUMER.CREATE.%s.%s", "$JS.SNAPSHOT.ACK.%s.%s", "$JS.ACK.%s.%s.1.1.1.1.1",
		} {
			list = append(list, fmt.Sprintf(template, stream, "c"))
		}
		for _, account := range []string{server.JSApiServerStreamMoveT, server.JSApiServerStreamCancelMoveT} {
			list = append(list, fmt.Sprintf(account, "PRECIS", stream))
		}
		list = append(list, fmt.Sprintf(server.JSDirectGetLastBySubjectT, stream, subject), fmt.Sprintf(server.JSApiConsumerCreateExT, stream, "c", subject))
	}
	slices.Sort(list)
	return list
}

// roleRequests are the requests of the API that the table in deploy/nats/README.md allows.
var roleRequests = map[string][]string{
	"agent": {
		"$JS.API.INFO", "$JS.API.STREAM.INFO.SUMMARIES", "$JS.API.STREAM.MSG.GET.SUMMARIES",
		"$JS.API.DIRECT.GET.SUMMARIES", "$JS.API.DIRECT.GET.SUMMARIES.summary.created.t",
		"$JS.API.CONSUMER.CREATE.SUMMARIES", "$JS.API.CONSUMER.CREATE.SUMMARIES.c", "$JS.API.CONSUMER.CREATE.SUMMARIES.c.summary.created.t",
		"$JS.API.CONSUMER.DURABLE.CREATE.SUMMARIES.c", "$JS.API.CONSUMER.INFO.SUMMARIES.c", "$JS.API.CONSUMER.MSG.NEXT.SUMMARIES.c",
		"$JS.API.CONSUMER.DELETE.SUMMARIES.c", "$JS.ACK.SUMMARIES.c.1.1.1.1.1",
		"$JS.API.DIRECT.GET.REJECTED.event.rejected.t", "$JS.API.CONSUMER.CREATE.REJECTED.c.event.rejected.t",
		"$JS.API.CONSUMER.INFO.REJECTED.c", "$JS.API.CONSUMER.MSG.NEXT.REJECTED.c", "$JS.API.CONSUMER.DELETE.REJECTED.c", "$JS.ACK.REJECTED.c.1.1.1.1.1",
	},
	"auditor": {"$JS.API.INFO", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.LIST"}, // and of each stream, below
	"service": nil,
}

func init() {
	for stream, subject := range map[string]string{StreamEvents: "0.tool.result.t", StreamSummaries: "summary.created.t", StreamRejected: "event.rejected.t"} {
		roleRequests["auditor"] = append(roleRequests["auditor"],
			"$JS.API.STREAM.INFO."+stream, "$JS.API.STREAM.MSG.GET."+stream, "$JS.API.DIRECT.GET."+stream, "$JS.API.DIRECT.GET."+stream+"."+subject,
			"$JS.API.CONSUMER.CREATE."+stream, "$JS.API.CONSUMER.CREATE."+stream+".c", "$JS.API.CONSUMER.CREATE."+stream+".c."+subject,
			"$JS.API.CONSUMER.INFO."+stream+".c", "$JS.API.CONSUMER.MSG.NEXT."+stream+".c")
	}
}

// A role may send the requests of the table, and no other.
func TestRolesAndEveryRequest(t *testing.T) {
	url := deployed(t)
	for role, allowed := range roleRequests {
		nc := login(t, url, role)
		for _, subject := range apiSubjects() {
			err := publishAs(t, nc, subject)
			if slices.Contains(allowed, subject) {
				require.NotErrorIs(t, err, nats.ErrPermissionViolation, "%s sends %s", role, subject)
			} else {
				require.ErrorContains(t, err, `"`+subject+`"`, "%s sends %s", role, subject)
			}
		}
		nc.Close()
	}
}

// JetStream replies with the server's rights to any subject: no request with any reply subject, and no consumer with any
// delivery subject, may store, change or delete what its role may not.
func TestRolesAndEveryReply(t *testing.T) {
	url := deployed(t)
	ctx := testContext(t)
	processor := as(t, url, "processor")
	_, err := Provision(ctx, processor.JetStream(), StreamSpec{Partitions: 2})
	require.NoError(t, err)
	publish(t, processor, "tool.result.t", "output")
	p := newTestPublisher(t, processor, PublisherConfig{})
	for _, subject := range []string{"summary.created.t", "event.rejected.t"} {
		require.NoError(t, p.PublishBatch(ctx, []*nats.Msg{{Subject: subject, Data: []byte("{}")}})[0].Err)
	}
	replies := append([]string{
		"summary.created.t9", "summary.failed.t", "usage.recorded.t", "config.applied.=p0", "partition.claimed.=p0", "event.rejected.t9", "0.tool.result.t9",
		"thread.message.t9", "tool.result.t9", "message.edited.t9", "precis.thread.get.t", "$SRV.PING", "_INBOX.x.y", "_R_.x.y", "$SYS.REQ.SERVER.PING",
	}, apiSubjects()...)
	for role, allowed := range roleRequests {
		t.Run(role, func(t *testing.T) {
			nc := login(t, url, role)
			defer nc.Close()
			before := held(t, processor)
			requests := append([]string{"precis.thread.get.t", "$SRV.PING", "thread.message.t", "_INBOX.x.y"}, allowed...)
			barrier := func() { // after all of it in the API's queues
				require.NoError(t, nc.FlushWithContext(ctx))
				_, _ = processor.JetStream().CreateStream(ctx, jetstream.StreamConfig{Name: StreamEvents, Subjects: []string{"other"}})
				_ = held(t, processor)
			}
			for _, stream := range []string{StreamEvents, StreamSummaries, StreamRejected} { // for the requests about it
				for _, body := range []string{`{"stream_name":%q,"config":{"name":"c","filter_subject":%q,"ack_policy":"none"}}`} {
					filter := map[string]string{StreamEvents: "0.tool.result.t", StreamSummaries: "summary.created.t", StreamRejected: "event.rejected.t"}[stream]
					require.NoError(t, nc.PublishRequest("$JS.API.CONSUMER.CREATE."+stream+".c."+filter, "_INBOX.x.y", fmt.Appendf(nil, body, stream, filter)))
				}
			}
			barrier()
			for _, subject := range requests {
				if strings.Contains(subject, ".DELETE.") {
					continue // its own consumer's
				}
				for _, reply := range replies {
					for _, body := range []string{"", `{"seq":1}`, `{"batch":1,"no_wait":true}`} {
						require.NoError(t, nc.PublishRequest(subject, reply, []byte(body)))
					}
				}
				barrier()
			}
			for stream, filter := range map[string]string{StreamEvents: "*.tool.result.t", StreamSummaries: "summary.created.t", StreamRejected: "event.rejected.t"} {
				for i, reply := range replies {
					body := fmt.Sprintf(`{"stream_name":%q,"config":{"name":"p%d","filter_subject":%q,"deliver_subject":%q,"headers_only":true,"ack_policy":"none"}}`, stream, i, filter, reply)
					require.NoError(t, nc.PublishRequest(fmt.Sprintf("$JS.API.CONSUMER.CREATE.%s.p%d.%s", stream, i, filter), "_INBOX.x.y", []byte(body)))
				}
				barrier()
			}
			after := held(t, processor)
			if role == "agent" { // which may publish events with any body
				require.GreaterOrEqual(t, after[StreamEvents].Msgs, before[StreamEvents].Msgs)
				delete(after, StreamEvents)
				delete(before, StreamEvents)
			}
			require.Equal(t, before, after)
		})
	}
}

// login opens a plain connection for a role; a permission violation is its last error.
func login(t *testing.T, url, role string) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(url, nats.UserInfo(role, role+"-secret"), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	require.NoError(t, err)
	return nc
}

func publishAs(t *testing.T, nc *nats.Conn, subject string) error {
	t.Helper()
	before := nc.LastError()
	require.NoError(t, nc.PublishRequest(subject, "_INBOX.nobody.x", nil))
	require.NoError(t, nc.FlushWithContext(testContext(t)))
	if err := nc.LastError(); !errors.Is(err, before) {
		return err
	}
	return nil
}

// held returns the state of each stream, including holes.
func held(t *testing.T, b *Broker) map[string]StreamState {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	all := map[string]StreamState{}
	for _, stream := range []string{StreamEvents, StreamSummaries, StreamRejected} {
		state, err := StateOf(ctx, b.JetStream(), stream)
		require.NoError(t, err)
		all[stream] = state
	}
	return all
}
