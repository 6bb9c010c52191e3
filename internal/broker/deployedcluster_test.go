package broker

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

// Three servers run deploy/nats/cluster/nats.conf unchanged, except for addresses and directories. Streams have three replicas, and go on
// without one of the servers. Without two nothing answers for them, which is no end.
func TestDeployedCluster(t *testing.T) {
	passwords(t)
	cert, key := selfSigned(t)
	t.Setenv("NATS_TLS_CERT", cert)
	t.Setenv("NATS_TLS_KEY", key)
	t.Setenv("NATS_TLS_CA", cert)
	var servers []*server.Server
	var routes []*url.URL
	// Each dials those before it. All have three routes: that is how large they take the cluster for.
	unused := []*url.URL{{Scheme: "nats", Host: "127.0.0.1:1"}, {Scheme: "nats", Host: "127.0.0.1:2"}, {Scheme: "nats", Host: "127.0.0.1:3"}}
	for n := 1; n <= 3; n++ {
		name := fmt.Sprint("n", n)
		t.Setenv("NATS_SERVER_NAME", name)
		opts, err := server.ProcessConfigFile("../../deploy/nats/cluster/nats.conf")
		require.NoError(t, err)
		require.Equal(t, name, opts.ServerName)
		require.Len(t, opts.Routes, 3)
		require.True(t, opts.SyncAlways)
		require.EqualValues(t, MaxPayload, opts.MaxPayload)
		opts.SyncAlways, opts.Routes = false, slices.Concat(routes, unused[len(routes):])
		opts.Host, opts.Port, opts.HTTPPort = "127.0.0.1", server.RANDOM_PORT, 0
		opts.Cluster.Host, opts.Cluster.Port = "127.0.0.1", server.RANDOM_PORT
		opts.StoreDir, opts.NoSigs, opts.NoLog = t.TempDir(), true, true
		srv, err := server.NewServer(opts)
		require.NoError(t, err)
		srv.Start()
		t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
		require.True(t, srv.ReadyForConnections(patience))
		servers, routes = append(servers, srv), append(routes, &url.URL{Scheme: "nats", Host: srv.ClusterAddr().String()})
	}
	require.Eventually(t, func() bool {
		return slices.ContainsFunc(servers, func(s *server.Server) bool { return s.JetStreamIsLeader() && len(s.JetStreamClusterPeers()) == 3 })
	}, patience, patience/1000)
	open := func(role string) *Broker {
		return openBroker(t, func(o *Options) {
			*o = Options{URL: servers[0].ClientURL() + "," + servers[1].ClientURL(), User: role, Password: role + "-secret", TLS: TLS{CA: cert}, Logger: zerolog.Nop()}
		})
	}
	processor, agent := open("processor"), open("agent")
	spec := StreamSpec{Partitions: 4, Replicas: 3}
	_, err := Provision(testContext(t), processor.JetStream(), spec)
	require.NoError(t, err)
	publish(t, agent, "tool.result.t", "output")

	servers[2].Shutdown()
	servers[2].WaitForShutdown()
	require.Eventually(t, func() bool { // when the streams have a leader again, if that was it
		asking, cancel := context.WithTimeout(testContext(t), time.Second) // without a leader there is no answer
		defer cancel()
		reports, err := CompareStreams(asking, processor.JetStream(), spec)
		return err == nil && reports[0].Leader != "" && reports[0].Leader != "n3"
	}, patience, patience/100)
	publish(t, agent, "tool.result.t", "more")
	state, err := StateOf(testContext(t), processor.JetStream(), StreamEvents)
	require.NoError(t, err)
	require.EqualValues(t, 2, state.Msgs)
	require.Equal(t, 3, state.Replicas)
	require.Eventually(t, func() bool { // when the cluster has a leader again: that alone says that there is no such stream
		asking, cancel := context.WithTimeout(testContext(t), time.Second)
		defer cancel()
		_, err = StateOf(asking, processor.JetStream(), "ELSEWHERE")
		return err != nil && !Unanswered(err)
	}, patience, patience/100)

	servers[1].Shutdown()
	servers[1].WaitForShutdown()
	require.Eventually(t, func() bool { // until the one that is left has noticed, it answers as a leader
		asking, cancel := context.WithTimeout(testContext(t), time.Second)
		defer cancel()
		_, err = StateOf(asking, processor.JetStream(), StreamEvents)
		return err != nil
	}, patience, patience/100)
	require.True(t, Unanswered(err), "%v", err)
}
