package broker

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"precis/internal/datadir"
)

// readyTimeout bounds the wait for the listener after Start has returned
// (the streams are recovered inside Start, which has no time limit).
const readyTimeout = 10 * time.Second

// embedded is a nats-server in this process and the lock on its directory.
type embedded struct {
	srv     *server.Server
	log     *serverLog
	dir     string
	release func() // of the directory
	tls     bool   // clients must use TLS
	// service is the user of the service's connection.
	service Login
}

func startEmbedded(ctx context.Context, o Options) (*embedded, error) {
	release, err := prepareStoreDir(o.StoreDir)
	if err != nil {
		return nil, err
	}
	log, door := newServerLog(o.Logger), newDoor(o)
	srv, err := runServer(ctx, log, door, o)
	if err != nil {
		release()
		return nil, err
	}
	service := Login{User: door.service.Username, Password: door.service.Password}
	return &embedded{srv: srv, log: log, dir: o.StoreDir, release: release, tls: o.TLS.Cert != "", service: service}, nil
}

// reach is how this process connects: over the listener if that is a plain one on a loopback address, else through a
// pipe. A pipe transfers 512 bytes at a time, and each wakes the other side: a rebuild from the log is a fifth faster
// over the listener. A network address may go away, or move to another machine.
func (e *embedded) reach() (url string, opts []nats.Option) {
	addr, listens := e.srv.Addr().(*net.TCPAddr)
	if listens && !e.tls {
		switch {
		case addr.IP.IsLoopback():
			return "nats://" + addr.String(), nil
		case addr.IP.IsUnspecified() && addr.IP.To4() != nil:
			return fmt.Sprintf("nats://127.0.0.1:%d", addr.Port), nil
		case addr.IP.IsUnspecified():
			return fmt.Sprintf("nats://[::1]:%d", addr.Port), nil
		}
	}
	return "", []nats.Option{nats.InProcessServer(e.srv)}
}

func runServer(ctx context.Context, log *serverLog, door *door, o Options) (*server.Server, error) {
	opts, err := serverOptions(o)
	if err != nil {
		return nil, err
	}
	opts.CustomClientAuthentication = door
	if err := probePort(o.Listen); err != nil {
		return nil, err
	}
	srv, err := server.NewServer(opts)
	if err != nil {
		return nil, fmt.Errorf("set up embedded server: %w", err)
	}
	srv.SetLoggerV2(log, false, false, false)
	if err := awaitServer(ctx, srv, log, o); err != nil {
		srv.Shutdown()
		srv.WaitForShutdown()
		return nil, err
	}
	return srv, nil
}

// awaitServer starts srv and reports exactly why it does not serve. A cancelled start returns only once the server has
// started: its Shutdown races with its Start, and would not shorten the recovery of its files.
func awaitServer(ctx context.Context, srv *server.Server, log *serverLog, o Options) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("start embedded server: %w", err)
	}
	srv.Start()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("start embedded server: %w", err)
	}
	if line := log.fatalLine(); line != "" {
		return fatalError(line, o)
	}
	if !srv.ReadyForConnections(readyTimeout) {
		return fmt.Errorf("start embedded server: not ready after %s", readyTimeout)
	}
	if !srv.JetStreamEnabled() {
		return fmt.Errorf("start embedded server: %w", ErrNoJetStream)
	}
	return nil
}

// fatalError classifies the line that the server logged before giving up.
func fatalError(line string, o Options) error {
	if strings.Contains(line, "listening on port") {
		return portInUse(o.Listen)
	}
	if strings.Contains(line, "JetStream") {
		return fmt.Errorf("start embedded server: %w: %s: %s", ErrStoreDir, o.StoreDir, line)
	}
	return fmt.Errorf("start embedded server: %s", line)
}

func serverOptions(o Options) (*server.Options, error) {
	always, interval, err := o.syncPolicy()
	if err != nil {
		return nil, err
	}
	host, port, err := o.listenAddr()
	if err != nil {
		return nil, err
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	opts := &server.Options{
		ServerName:        o.Name,
		Host:              host,
		Port:              port,
		DontListen:        o.Listen == "",
		JetStream:         true,
		StoreDir:          o.StoreDir,
		JetStreamMaxStore: cmp.Or(o.MaxStore, storeLimit(o.StoreDir)),
		SyncAlways:        always,
		SyncInterval:      interval,
		MaxPayload:        MaxPayload,
		NoSigs:            true, // signals belong to the program
		NoLog:             true,
	}
	return opts, serverTLS(opts, o.TLS)
}

func serverTLS(opts *server.Options, t TLS) error {
	if t.Cert == "" {
		return nil
	}
	cert, err := tls.LoadX509KeyPair(t.Cert, t.Key)
	if err != nil {
		return fmt.Errorf("%w: load tls certificate: %w", ErrInvalidOptions, err)
	}
	opts.TLSConfig = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	return nil
}

// probePort tries the address first, because the server only logs the failure.
func probePort(addr string) error {
	if addr == "" {
		return nil
	}
	l, err := net.Listen("tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return portInUse(addr)
	}
	if err != nil {
		return fmt.Errorf("listen on %s: %w", addr, err)
	}
	return l.Close()
}

// prepareStoreDir creates, checks and locks the directory: nats-server itself would open the same files twice and corrupt them.
func prepareStoreDir(dir string) (release func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStoreDir, err)
	}
	probe, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStoreDir, err)
	}
	defer os.Remove(probe.Name())
	if err := probe.Close(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStoreDir, err)
	}
	return LockStreams(dir)
}

// lockFile is held by the server of a directory.
const lockFile = "broker.lock"

// LockStreams keeps servers out of the directory of an embedded one, until release is called. It creates the directory. It fails with
// datadir.ErrInUse where a server runs on it.
func LockStreams(dir string) (release func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStoreDir, err)
	}
	release, err = datadir.Lock(filepath.Join(dir, lockFile))
	if err != nil && !errors.Is(err, datadir.ErrInUse) {
		return nil, fmt.Errorf("%w: %w", ErrStoreDir, err)
	}
	return release, err
}

// NoStreams reports whether the directory of an embedded server has nothing but what every server and lock leaves: directories and the lock's file.
func NoStreams(dir string) (bool, error) {
	held := errors.New("held")
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && path != filepath.Join(dir, lockFile) {
			return held
		}
		return err
	})
	if errors.Is(err, held) {
		return false, nil
	}
	return err == nil, err
}

// storeLimit is the server's max_store in bytes: the size of its directory plus the free space, less a reserve. The server's own default is
// three quarters of the space free at start: a restart on a filled disk would then set a limit below what is stored and refuse every event.
// No limit at all would be no better: on a full disk the server turns JetStream off permanently.
func storeLimit(dir string) int64 {
	free, total, ok := datadir.Space(dir)
	if !ok {
		return 0 // the server's own default
	}
	return max(dirBytes(dir)+free-reserve(total), 1)
}

// reserve is what stays free: a twentieth of the disk, at most 1 GiB.
func reserve(total int64) int64 { return min(total/20, 1<<30) }

func dirBytes(dir string) int64 {
	var sum int64
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil // a file that vanished meanwhile counts as empty
		}
		if info, err := d.Info(); err == nil {
			sum += info.Size()
		}
		return nil
	})
	return sum
}

// stop shuts the server down and waits until its files are closed, or ctx ends.
func (e *embedded) stop(ctx context.Context) error {
	done := make(chan error, 1)
	go func() {
		e.srv.Shutdown()
		e.srv.WaitForShutdown()
		err := datadir.Entrust(e.dir)
		e.release()
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("stop embedded server: %w", ctx.Err())
	}
}

// serverLog forwards the embedded server's log to zerolog, and keeps its first
// fatal line: nats-server logs a fatal error and carries on half started, so
// only that line contains the reason. A stream whose write has
// failed (a full disk) refuses all others until the server is restarted,
// and only the log reports that, too.
type serverLog struct {
	log    zerolog.Logger
	mu     sync.Mutex
	fatal  string
	broken chan error // holds the first write error
}

// criticalWrite is the server's log message for a stream's failed write.
const criticalWrite = "Critical write error"

func newServerLog(log zerolog.Logger) *serverLog {
	return &serverLog{log: log.With().Str("component", "nats-server").Logger(), broken: make(chan error, 1)}
}

// Noticef logs the server's own notices (banners, "Server is ready") at debug level.
func (l *serverLog) Noticef(format string, v ...any) { l.log.Debug().Msgf(format, v...) }

// Warnf implements server.Logger.
func (l *serverLog) Warnf(format string, v ...any) { l.log.Warn().Msgf(format, v...) }

// Errorf implements server.Logger.
func (l *serverLog) Errorf(format string, v ...any) {
	l.log.Error().Msgf(format, v...)
	if !strings.Contains(format, criticalWrite) {
		return
	}
	select {
	case l.broken <- fmt.Errorf("%w: free disk space and start again: "+format, append([]any{ErrBroken}, v...)...):
	default:
	}
}

// Debugf implements server.Logger.
func (l *serverLog) Debugf(format string, v ...any) { l.log.Trace().Msgf(format, v...) }

// Tracef implements server.Logger.
func (l *serverLog) Tracef(format string, v ...any) { l.log.Trace().Msgf(format, v...) }

// Fatalf must not end the process: Open returns the line as its error.
func (l *serverLog) Fatalf(format string, v ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fatal == "" {
		l.fatal = fmt.Sprintf(format, v...)
	}
	l.log.Debug().Msgf(format, v...)
}

func (l *serverLog) fatalLine() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fatal
}

// door authenticates clients of the embedded server: those with its credentials, if it has any, and the service, whose
// user may only publish replies.
type door struct {
	user, password, token string
	service               *server.User
}

func newDoor(o Options) *door {
	var replies []string
	for _, prefix := range o.ReplyPrefixes {
		replies = append(replies, prefix+".>")
	}
	return &door{user: o.User, password: o.Password, token: o.Token, service: &server.User{
		Username: "precis-service", Password: rand.Text(),
		Permissions: &server.Permissions{
			Publish:   &server.SubjectPermission{Allow: replies},
			Subscribe: &server.SubjectPermission{Allow: []string{"precis.>", "$SRV.>"}},
		},
	}}
}

// Check implements server.Authentication.
func (d *door) Check(c server.ClientAuthentication) bool {
	given := c.GetOpts()
	switch {
	case given.Username == d.service.Username && same(given.Password, d.service.Password):
		c.RegisterUser(d.service)
		return true
	case d.user != "" || d.password != "":
		return given.Username == d.user && same(given.Password, d.password)
	case d.token != "":
		return same(given.Token, d.token)
	default:
		return true
	}
}

// same compares secrets in constant time.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
