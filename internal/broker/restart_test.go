package broker

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/tests"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"precis/internal/race"
)

// restartable is an embedded server on a fixed port that can stop and restart
// with the same files, as an external one does.
type restartable struct {
	opts   Options
	server *Broker
}

func newRestartable(t *testing.T) *restartable {
	t.Helper()
	r := &restartable{opts: Options{StoreDir: t.TempDir(), Sync: "1m", Listen: freeAddr(t), Logger: zerolog.Nop()}}
	r.start(t)
	t.Cleanup(func() { r.stop(t) })
	return r
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

func (r *restartable) start(t *testing.T) {
	b, err := Open(context.Background(), r.opts)
	require.NoError(t, err)
	r.server = b
}

func (r *restartable) stop(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	require.NoError(t, r.server.Close(ctx))
}

// client is a broker that connects to the server as an external one.
func (r *restartable) client(t *testing.T) *Broker {
	t.Helper()
	return openBroker(t, func(o *Options) {
		*o = Options{URL: "nats://" + r.opts.Listen, Logger: zerolog.Nop()}
	})
}

const restartEnv = "PRECIS_TEST_RESTART"

// TestRestartCommand is not a test: it is the command with which Watermill's
// suite restarts the broker, a second run of this binary. It asks the first one to restart it.
func TestRestartCommand(t *testing.T) {
	addr := os.Getenv(restartEnv)
	if addr == "" {
		t.Skip("only run by TestWatermillSuiteReconnect")
	}
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer conn.Close()
	line, err := bufio.NewReader(conn).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "restarted\n", line)
}

func TestWatermillSuiteReconnect(t *testing.T) {
	race.Slow(t) // and it races with itself: its recorder appends while it compares
	if testing.Short() {
		t.Skip("takes ten seconds")
	}
	r := newRestartable(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	t.Setenv(restartEnv, l.Addr().String())
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			r.stop(t)
			r.start(t)
			fmt.Fprintln(conn, "restarted")
			conn.Close()
		}
	}()
	s := &suite{broker: r.client(t), lanes: map[string]*memoryLanes{}, files: true}
	tests.TestReconnect(t, tests.TestContext{TestID: tests.NewTestID(), Features: tests.Features{
		GuaranteedOrder: true, Persistent: true,
		RestartServiceCommand: []string{os.Args[0], "-test.run=^TestRestartCommand$"},
	}}, func(t *testing.T) (message.Publisher, message.Subscriber) {
		pub, sub := s.pair(t)
		p := &countedPublisher{Publisher: pub, all: make(chan struct{})}
		return p, lateTail{sub, p.all}
	})
}

// reconnectMessages is how many messages the suite's TestReconnect publishes.
const reconnectMessages = 10_000

// The suite compares the received messages with what its recorder has noted so far,
// which is less if the last messages arrive as soon as they are published. So their last
// tenth is held back until all publishing is done.
type countedPublisher struct {
	message.Publisher
	n   atomic.Int64
	all chan struct{}
}

func (p *countedPublisher) Publish(topic string, messages ...*message.Message) error {
	err := p.Publisher.Publish(topic, messages...)
	if err == nil && p.n.Add(int64(len(messages))) == reconnectMessages {
		close(p.all)
	}
	return err
}

type lateTail struct {
	message.Subscriber
	all <-chan struct{}
}

func (s lateTail) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	in, err := s.Subscriber.Subscribe(ctx, topic)
	if err != nil {
		return nil, err
	}
	out := make(chan *message.Message)
	go func() {
		defer close(out)
		n := 0
		for msg := range in {
			if n++; n > reconnectMessages*9/10 {
				<-s.all
			}
			out <- msg
		}
	}()
	return out, nil
}
