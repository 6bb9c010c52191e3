package broker

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"precis/internal/datadir"
)

func TestEmbeddedServesInProcessAndOverItsListener(t *testing.T) {
	b := provisioned(t, 1, func(o *Options) { o.Listen = "127.0.0.1:0" })
	require.True(t, b.Embedded())
	nc, err := nats.Connect(b.URL())
	require.NoError(t, err)
	defer nc.Close()
	require.Regexp(t, `^nats://127\.0\.0\.1:\d+$`, b.URL())
	require.Equal(t, nc.ConnectedAddr(), b.Conn().ConnectedAddr(), "the program's own connection")
	require.NoError(t, nc.Publish("tool.result.t", []byte("x")))
	require.NoError(t, nc.Flush())
	require.EqualValues(t, MaxPayload, nc.MaxPayload())
}

func TestEmbeddedWithoutAListener(t *testing.T) {
	b := provisioned(t, 1)
	require.Empty(t, b.URL())
	publish(t, b, "tool.result.t", "x")
}

func TestEmbeddedKeepsItsStreams(t *testing.T) {
	dir := t.TempDir()
	for i := range 3 {
		b, err := Open(testContext(t), Options{StoreDir: dir, Logger: zerolog.Nop()}) // synced, the default
		require.NoError(t, err)
		_, err = Provision(testContext(t), b.JetStream(), StreamSpec{Partitions: 4})
		require.NoError(t, err)
		require.EqualValues(t, i+1, publish(t, b, "tool.result.t", "x"))
		require.NoError(t, b.Close(testContext(t)))
		require.NoError(t, b.Close(testContext(t)), "a second Close")
	}
}

func TestEmbeddedAsksForCredentials(t *testing.T) {
	b := openBroker(t, func(o *Options) { o.Listen, o.User, o.Password = "127.0.0.1:0", "precis", "secret" })
	_, err := Open(testContext(t), Options{URL: b.URL(), User: "precis", Password: "wrong"})
	require.ErrorIs(t, err, ErrAuth)
	require.NotContains(t, err.Error(), "wrong")
	c := openBroker(t, func(o *Options) { *o = Options{URL: b.URL(), User: "precis", Password: "secret"} })
	require.False(t, c.Embedded())
	require.Equal(t, b.URL(), c.URL())
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	held := t.TempDir()
	openBroker(t, func(o *Options) { o.StoreDir = held })
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	plain := plainServer(t)

	for name, c := range map[string]struct {
		opts Options
		want error
		text string
	}{
		"port in use":        {Options{StoreDir: t.TempDir(), Listen: taken.Addr().String()}, ErrPortInUse, taken.Addr().String()},
		"store is a file":    {Options{StoreDir: file}, ErrStoreDir, file},
		"store held":         {Options{StoreDir: held}, datadir.ErrInUse, "process"},
		"no store":           {Options{}, ErrInvalidOptions, "store directory"},
		"bad sync":           {Options{StoreDir: t.TempDir(), Sync: "sometimes"}, ErrInvalidOptions, "sometimes"},
		"bad address":        {Options{StoreDir: t.TempDir(), Listen: "127.0.0.1"}, ErrInvalidOptions, "127.0.0.1"},
		"bad port":           {Options{StoreDir: t.TempDir(), Listen: "127.0.0.1:http"}, ErrInvalidOptions, "http"},
		"half a certificate": {Options{StoreDir: t.TempDir(), TLS: TLS{Cert: "a.pem"}}, ErrInvalidOptions, "key"},
		"no certificate":     {Options{StoreDir: t.TempDir(), TLS: TLS{Cert: "a.pem", Key: "b.pem"}}, ErrInvalidOptions, "a.pem"},
		"nobody there":       {Options{URL: "nats://127.0.0.1:1"}, ErrUnreachable, "127.0.0.1:1"},
		"no JetStream":       {Options{URL: plain}, ErrNoJetStream, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c.opts.Logger = zerolog.Nop()
			_, err := Open(testContext(t), c.opts)
			require.ErrorIs(t, err, c.want)
			require.ErrorContains(t, err, c.text)
			require.NotContains(t, err.Error(), "\n", "one line")
		})
	}
}

// The server can't use its store: its fatal line becomes the error.
func TestUnusableJetStreamDirectory(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "jetstream"), nil, 0o600))
	_, err := Open(testContext(t), Options{StoreDir: dir, Logger: zerolog.Nop()})
	require.ErrorIs(t, err, ErrStoreDir)
	require.ErrorContains(t, err, dir)
}

// A failed Open leaves no port, directory lock or goroutine behind.
func TestOpenCanBeTriedAgain(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	o := Options{StoreDir: t.TempDir(), Listen: taken.Addr().String(), Logger: zerolog.Nop()}
	_, err = Open(testContext(t), o)
	require.ErrorIs(t, err, ErrPortInUse)
	require.NoError(t, taken.Close())
	b, err := Open(testContext(t), o)
	require.NoError(t, err)
	require.NoError(t, b.Close(testContext(t)))
}

func TestCancelledStart(t *testing.T) {
	ctx, cancel := context.WithCancel(testContext(t))
	cancel()
	_, err := Open(ctx, Options{StoreDir: t.TempDir(), Logger: zerolog.Nop()})
	require.ErrorIs(t, err, context.Canceled)
}

// The start is cancelled at the server's first log line, which precedes its goroutine accounting: nothing races with
// it, and it leaves nothing behind (TestMain).
func TestStartCancelledOnTheWay(t *testing.T) {
	ctx, cancel := context.WithCancel(testContext(t))
	log := zerolog.New(io.Discard).Hook(zerolog.HookFunc(func(*zerolog.Event, zerolog.Level, string) { cancel() }))
	_, err := Open(ctx, Options{StoreDir: t.TempDir(), Logger: log})
	require.ErrorIs(t, err, context.Canceled)
}

// The connection survives what makes nats.go give up: refusals beyond the second attempt.
func TestReconnectsForEver(t *testing.T) {
	r := newRestartable(t)
	b := r.client(t)
	r.stop(t)
	r.opts.User, r.opts.Password = "someone", "else"
	refused := make(chan struct{}, 16)
	b.Conn().SetErrorHandler(func(*nats.Conn, *nats.Subscription, error) { refused <- struct{}{} })
	r.start(t)
	for range 3 {
		select {
		case <-refused:
		case <-testContext(t).Done():
			t.Fatal("no refusal seen")
		}
	}
	r.stop(t)
	r.opts.User, r.opts.Password = "", ""
	r.start(t)
	require.NoError(t, reconnected(t, b))
}

// plainServer runs without JetStream.
func plainServer(t *testing.T) (url string) {
	t.Helper()
	srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true})
	require.NoError(t, err)
	srv.Start()
	require.True(t, srv.ReadyForConnections(patience))
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	return srv.ClientURL()
}

func TestStoreLimitLeavesAReserve(t *testing.T) {
	dir := t.TempDir()
	empty := storeLimit(dir)
	require.Positive(t, empty)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "block"), []byte(strings.Repeat("x", 1<<20)), 0o600))
	require.EqualValues(t, 1<<20, dirBytes(dir))
	require.EqualValues(t, 1<<30, reserve(1<<40))
	require.EqualValues(t, 5<<20, reserve(100<<20))
}

func TestCloseIsBounded(t *testing.T) {
	b, err := Open(testContext(t), Options{StoreDir: t.TempDir(), Logger: zerolog.Nop()})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Nanosecond)
	defer cancel()
	srv := b.server.srv
	_ = b.Close(ctx) // it returns, in time or not
	srv.WaitForShutdown()
}
