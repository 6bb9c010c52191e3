package events_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"precis/events"
)

// patience bounds every wait in these tests; none should come near it.
const patience = 30 * time.Second

// testServer is a real nats-server with JetStream that can be stopped and restarted with its data.
type testServer struct {
	t    *testing.T
	dir  string
	port int
	srv  *server.Server
}

func startServer(t *testing.T) *testServer {
	t.Helper()
	s := &testServer{t: t, dir: t.TempDir(), port: server.RANDOM_PORT}
	s.start()
	t.Cleanup(s.stop)
	return s
}

func (s *testServer) start() {
	s.t.Helper()
	srv, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: s.port, JetStream: true, StoreDir: s.dir, NoLog: true, NoSigs: true, MaxPayload: 1 << 20,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	srv.Start()
	if !srv.ReadyForConnections(patience) {
		s.t.Fatal("server is not ready")
	}
	s.srv, s.port = srv, addrPort(srv)
}

func addrPort(srv *server.Server) int {
	_, port, _ := splitAddr(srv.ClientURL())
	return port
}

func (s *testServer) stop() {
	if s.srv != nil {
		s.srv.Shutdown()
		s.srv.WaitForShutdown()
		s.srv = nil
	}
}

func (s *testServer) url() string { return "nats://127.0.0.1:" + itoa(s.port) }

// connect returns a client connection that recovers soon after a restart.
func (s *testServer) connect() *nats.Conn {
	s.t.Helper()
	nc, err := events.Connect(s.url(), nats.ReconnectWait(10*time.Millisecond), nats.ReconnectJitter(0, 0))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(nc.Close)
	return nc
}

// eventsStream is EVENTS as the processor creates it.
func eventsStream() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: "EVENTS", Subjects: []string{"thread.message.*", "tool.result.*", "message.edited.*"},
		SubjectTransform:   &jetstream.SubjectTransformConfig{Source: "*.*.*", Destination: "{{partition(4,3)}}.{{wildcard(1)}}.{{wildcard(2)}}.{{wildcard(3)}}"},
		Duplicates:         100 * time.Millisecond,
		AllowAtomicPublish: true, AllowDirect: true, MaxMsgSize: -1,
	}
}

func summariesStream() jetstream.StreamConfig {
	return jetstream.StreamConfig{Name: "SUMMARIES", AllowDirect: true, Subjects: []string{
		"summary.started.*", "summary.created.*", "summary.invalidated.*", "summary.failed.*", "usage.recorded.*", "config.applied.*",
	}}
}

func rejectedStream() jetstream.StreamConfig {
	return jetstream.StreamConfig{Name: "REJECTED", AllowDirect: true, Subjects: []string{"event.rejected.*"}}
}

func (s *testServer) stream(nc *nats.Conn, config jetstream.StreamConfig) jetstream.Stream {
	s.t.Helper()
	return makeStream(s.t, nc, config)
}

func makeStream(t testing.TB, nc *nats.Conn, config jetstream.StreamConfig) jetstream.Stream {
	t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.CreateOrUpdateStream(within(t), config)
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

// within returns a context that ends with the test, or after patience.
func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// stored returns all messages of a stream, in order.
func stored(t *testing.T, stream jetstream.Stream) []*jetstream.RawStreamMsg {
	t.Helper()
	info, err := stream.Info(within(t))
	if err != nil {
		t.Fatal(err)
	}
	var all []*jetstream.RawStreamMsg
	for seq := info.State.FirstSeq; seq <= info.State.LastSeq && seq > 0; seq++ {
		msg, err := stream.GetMsg(within(t), seq)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, msg)
	}
	return all
}
