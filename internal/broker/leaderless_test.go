package broker

import (
	"bytes"
	"net/url"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

// A cluster that has just been started answers nothing about JetStream before it has a leader. A start waits for that, and says so.
func TestOpenWaitsForALeader(t *testing.T) {
	start := func(name string, routes ...string) *server.Server {
		o := &server.Options{
			ServerName: name, Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir(),
			Cluster: server.ClusterOpts{Name: "c", Host: "127.0.0.1", Port: server.RANDOM_PORT},
		}
		for _, addr := range routes {
			o.Routes = append(o.Routes, &url.URL{Scheme: "nats-route", Host: addr})
		}
		srv, err := server.NewServer(o)
		require.NoError(t, err)
		srv.Start()
		t.Cleanup(func() {
			srv.Shutdown()
			srv.WaitForShutdown()
		})
		require.True(t, srv.ReadyForConnections(10*time.Second))
		return srv
	}
	first := start("first", "127.0.0.1:1", "127.0.0.1:2")
	_, err := Open(t.Context(), Options{URL: first.ClientURL(), ConnectTimeout: 50 * time.Millisecond, LeaderTimeout: 200 * time.Millisecond, Logger: zerolog.Nop()})
	require.ErrorIs(t, err, ErrUnreachable)
	require.ErrorContains(t, err, "majority")

	waits, opened := make(said, 1), make(chan error, 1)
	go func() {
		b, err := Open(t.Context(), Options{URL: first.ClientURL(), ConnectTimeout: 50 * time.Millisecond, LeaderTimeout: time.Minute, Logger: zerolog.New(waits)})
		if err == nil {
			err = b.Close(t.Context())
		}
		opened <- err
	}()
	<-waits
	start("second", first.ClusterAddr().String(), "127.0.0.1:2")
	require.NoError(t, <-opened)
}

// said gets a value once a log says that a start waits.
type said chan struct{}

func (s said) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("waiting until its cluster has a leader")) {
		s <- struct{}{}
	}
	return len(line), nil
}
