package brokertest

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// patience bounds every wait: a cluster elects its first leader within ten seconds.
const patience = 60 * time.Second

// Held is the name of the server that a Cluster can hold back.
const Held = "held"

// Cluster is three servers in this process.
type Cluster struct {
	servers [3]*server.Server // the last is Held
	holding atomic.Bool
}

// StartCluster starts three servers and waits until they take streams. Each is reached through a relay alone, which
// listens before its server does: no port is reserved beforehand that another process could take.
func StartCluster(t testing.TB) *Cluster {
	t.Helper()
	c := &Cluster{}
	names := [3]string{"first", "second", Held}
	var routes [3]*url.URL
	var started [3]atomic.Pointer[server.Server]
	for i := range names {
		r := newRelay(t, func() string {
			if srv := started[i].Load(); srv != nil {
				return srv.ClusterAddr().String() // no address as long as the server does not listen
			}
			return ""
		}, func() edits { return dropping(func(f frame) bool { return names[i] != Held || c.passes(f) }) })
		t.Cleanup(r.close)
		routes[i] = &url.URL{Scheme: "nats-route", Host: r.addr()}
	}
	// Each dials those behind it alone. Two that dial each other at the same time both refuse the other's route, again
	// and again. All have as many routes as there are servers: that is how large they take the cluster for.
	unused := [2]*url.URL{{Scheme: "nats-route", Host: "127.0.0.1:1"}, {Scheme: "nats-route", Host: "127.0.0.1:2"}}
	for i, name := range names {
		srv, err := server.NewServer(&server.Options{
			ServerName: name, Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true,
			JetStream: true, StoreDir: t.TempDir(), SyncInterval: time.Minute,
			Routes: append(unused[:i:i], routes[i:]...),
			Cluster: server.ClusterOpts{
				Name: "precis", Host: "127.0.0.1", Port: server.RANDOM_PORT, PoolSize: -1,
				NoAdvertise: true, Advertise: unused[0].Host, Compression: server.CompressionOpts{Mode: server.CompressionOff},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		c.servers[i] = srv
		srv.Start()
		t.Cleanup(func() {
			srv.Shutdown()
			srv.WaitForShutdown()
		})
		started[i].Store(srv)
	}
	c.await(t, "a leader of the cluster", func() bool {
		for _, srv := range c.servers {
			if srv.JetStreamIsLeader() && len(srv.JetStreamClusterPeers()) == len(c.servers) {
				return true
			}
		}
		return false
	})
	return c
}

// passes drops, while Held is held back, what the streams' leaders send it to store. Heartbeats pass, so that it knows
// of a leader and doesn't stand for election; so does all of the cluster's own group: consumers are placed on Held.
func (c *Cluster) passes(f frame) bool {
	return !c.holding.Load() || !storing(f) && !catchingUp(f)
}

// Raft's messages on a route are RMSG <account> $NRG.<kind>.<group> …, and the group of a replicated stream is S-R3F-<id>.

// storing: entries for a replica's log. Their number stands behind the leader's id and four numbers.
func storing(f frame) bool {
	const count = 8 + 4*8
	words := f.fields()
	return len(words) > 3 && words[0] == "RMSG" && strings.HasPrefix(words[2], "$NRG.AE.S-R") &&
		len(f.body) > count+2 && binary.LittleEndian.Uint16(f.body[count:]) > 0
}

// catchingUp: entries that a replica has asked for.
func catchingUp(f frame) bool {
	words := f.fields()
	return len(words) > 3 && words[0] == "RMSG" && strings.HasPrefix(words[2], "$NRG.CR.")
}

// URL is where clients reach the cluster: not Held.
func (c *Cluster) URL() string { return c.servers[0].ClientURL() }

// HeldURL is where clients reach Held, whose replicas answer their direct gets.
func (c *Cluster) HeldURL() string { return c.servers[2].ClientURL() }

// HoldBack keeps from Held what the streams store from now on, until Release. Held is the leader of none of them then,
// holds what they held before, and answers direct gets from that.
func (c *Cluster) HoldBack(t testing.TB, nc *nats.Conn, streams ...string) {
	t.Helper()
	for _, stream := range streams {
		c.await(t, "another leader of "+stream+", and Held to follow it", func() bool {
			if c.servers[2].JetStreamIsStreamLeader(server.DEFAULT_GLOBAL_ACCOUNT, stream) {
				_, _ = nc.Request("$JS.API.STREAM.LEADER.STEPDOWN."+stream, []byte(`{"placement":{"preferred":"first"}}`), time.Second)
			}
			return c.led(stream) && c.servers[2].JetStreamIsStreamCurrent(server.DEFAULT_GLOBAL_ACCOUNT, stream) && c.direct(stream)
		})
	}
	c.holding.Store(true)
}

// led: one of the others is the stream's leader.
func (c *Cluster) led(stream string) bool {
	for _, srv := range c.servers[:2] {
		if srv.JetStreamIsStreamLeader(server.DEFAULT_GLOBAL_ACCOUNT, stream) {
			return true
		}
	}
	return false
}

// direct: Held answers direct gets of a stream; a follower begins to some seconds after it is current.
func (c *Cluster) direct(stream string) bool {
	found, err := c.servers[2].Subsz(&server.SubszOptions{Subscriptions: true, Test: "$JS.API.DIRECT.GET." + stream})
	return err == nil && found.Total > 0
}

// Release lets Held catch up.
func (c *Cluster) Release() { c.holding.Store(false) }

// OnHeld counts a stream's consumers that live on Held.
func OnHeld(ctx context.Context, js jetstream.JetStream, stream string) (n int, err error) {
	s, err := js.Stream(ctx, stream)
	if err != nil {
		return 0, fmt.Errorf("look for consumers of %s: %w", stream, err)
	}
	list := s.ListConsumers(ctx)
	for info := range list.Info() {
		if info.Cluster != nil && info.Cluster.Leader == Held {
			n++
		}
	}
	return n, list.Err()
}

func (c *Cluster) await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("timed out waiting for %s", what)
		}
	}
}
