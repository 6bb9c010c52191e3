package main

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/alecthomas/kong"
	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"

	"precis/events"
	"precis/internal/natsurl"
)

// serverFlags are the flags of every command that talks to a server; the names and variables are the nats
// tool's.
type serverFlags struct {
	NATS string `name:"nats" env:"NATS_URL" placeholder:"URL" group:"Server" help:"NATS server (nats://127.0.0.1:4222)."`
	loginFlags
	JSON bool `name:"json" group:"Server" help:"Print JSON."`
}

// loginFlags say who asks, and whom to trust.
type loginFlags struct {
	Creds    string `env:"NATS_CREDS" type:"existingfile" placeholder:"FILE" group:"Server" help:"Credentials file."`
	User     string `env:"NATS_USER" placeholder:"NAME" group:"Server" help:"User."`
	Password string `env:"NATS_PASSWORD" placeholder:"WORD" group:"Server" help:"Password of the user; prefer $$NATS_PASSWORD."`
	Token    string `env:"NATS_TOKEN" placeholder:"WORD" group:"Server" help:"Token; prefer $$NATS_TOKEN."`
	TLSCA    string `name:"tlsca" env:"NATS_CA" type:"existingfile" placeholder:"FILE" group:"Server" help:"Certificate authority of the server."`
	TLSCert  string `name:"tlscert" env:"NATS_CERT" type:"existingfile" placeholder:"FILE" group:"Server" help:"Client certificate."`
	TLSKey   string `name:"tlskey" env:"NATS_KEY" type:"existingfile" placeholder:"FILE" group:"Server" help:"Key of the client certificate."`
}

// Validate is asked by kong for every command that has these flags.
func (f loginFlags) Validate(given *kong.Context) error {
	if (f.TLSCert == "") != (f.TLSKey == "") {
		return errors.New("--tlscert and --tlskey must be given together")
	}
	for _, part := range given.Path {
		if part.Flag != nil && part.Flag.Name == "password" && f.User == "" {
			return errors.New("--password requires --user")
		}
	}
	return nil
}

// connectTimeout bounds the first connection, for which the user waits.
const connectTimeout = 5 * time.Second

// reconnectWait is the pause between attempts to find a server again.
const reconnectWait = 500 * time.Millisecond

// server is a connection for one command.
type server struct {
	url  string
	conn *nats.Conn
	js   jetstream.JetStream
	may  *rights
}

// connect reaches the server, or says why it can't. The caller closes the connection.
func (f serverFlags) connect(a *app) (*server, error) {
	if err := serverAddress(f.url()); err != nil {
		return nil, err
	}
	may := &rights{}
	conn, err := nats.Connect(f.url(), append(f.options(), watch(a, may)...)...)
	if err != nil {
		return nil, f.connectError(err)
	}
	js, err := jetstream.New(conn)
	if err != nil {
		conn.Close()
		return nil, unreachable("connect to %s: %w", f.shown(), err)
	}
	return &server{url: f.shown(), conn: conn, js: js, may: may}, nil
}

// watch tells what becomes of the connection.
func watch(a *app, may *rights) []nats.Option {
	return []nats.Option{
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if !leftBehind(err) && !may.refused(err) {
				a.note("processor: server: %v", err)
			}
		}),
		nats.ReconnectHandler(func(c *nats.Conn) { a.note("processor: connected again to %s", c.ConnectedUrlRedacted()) }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				a.note("processor: connection lost, trying again: %v", err)
			}
		}),
	}
}

func (f serverFlags) options() []nats.Option {
	options := []nats.Option{
		nats.Name("precis processor"), nats.Timeout(connectTimeout),
		nats.MaxReconnects(-1), nats.ReconnectWait(reconnectWait),
	}
	if f.Creds != "" {
		options = append(options, nats.UserCredentials(f.Creds))
	}
	if f.User != "" {
		options = append(options, nats.UserInfo(f.User, f.Password))
	}
	if f.Token != "" {
		options = append(options, nats.Token(f.Token))
	}
	if f.TLSCA != "" {
		options = append(options, nats.RootCAs(f.TLSCA))
	}
	if f.TLSCert != "" {
		options = append(options, nats.ClientCert(f.TLSCert, f.TLSKey))
	}
	return options
}

func (f serverFlags) connectError(err error) error {
	switch {
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired):
		return unreachable("connect to %s: the server refuses this user; give --creds, --user or --token (%w)", f.shown(), err)
	case errors.Is(err, nats.ErrNoServers):
		return unreachable("connect to %s: no server there; start one with \"processor run\", or name another with --nats URL or NATS_URL (%w)", f.shown(), err)
	default:
		return unreachable("connect to %s: %w", f.shown(), err)
	}
}

// url is the server's address; by default one on this machine.
func (f serverFlags) url() string { return cmp.Or(f.NATS, nats.DefaultURL) }

// serverAddress refuses what is not an address before anything shows it.
func serverAddress(list string) error {
	if server, wrong := natsurl.Wrong(list); wrong {
		return usage("--nats: %q is not a server address; allowed: nats://host:port, tls://…, ws://…, wss://…, several with commas", natsurl.Redacted(server))
	}
	return nil
}

// shown is the address as it may stand in a message.
func (f serverFlags) shown() string { return natsurl.Redacted(f.url()) }

func (s *server) close() { s.conn.Close() }

// withServer runs work on a connection of its own.
func (f serverFlags) withServer(ctx context.Context, a *app, work func(context.Context, *server) error) error {
	s, err := f.connect(a)
	if err != nil {
		return err
	}
	defer s.close()
	return work(ctx, s)
}

// rights ends requests that the user may not make. The server does not answer those: the request would wait for its timeout, while
// the refusal arrives at once, as an error of the connection.
type rights struct {
	mu     sync.Mutex
	asking context.CancelCauseFunc // nil: no request is waiting
}

// ask runs a request that may be refused; only one at a time.
func (r *rights) ask(ctx context.Context, request func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.set(cancel)
	defer r.set(nil)
	err := request(ctx)
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, nats.ErrPermissionViolation) {
		return cause
	}
	return err
}

func (r *rights) set(cancel context.CancelCauseFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asking = cancel
}

// refused reports whether an error of the connection is a refusal of the waiting request, and ends that request with it.
func (r *rights) refused(err error) bool {
	if !errors.Is(err, nats.ErrPermissionViolation) {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asking == nil {
		return false
	}
	r.asking(err)
	return true
}

// leftBehind reports whether an error says that this user may not delete its own ephemeral consumer, as an auditor may not. The
// server deletes an unused one by itself.
func leftBehind(err error) bool {
	return errors.Is(err, nats.ErrPermissionViolation) && strings.Contains(err.Error(), `"$JS.API.CONSUMER.DELETE.`)
}

// requestTimeout bounds one request: the processor may have to catch up with the log first.
const requestTimeout = 30 * time.Second

// ask sends a request about one thread or summary to the service and returns the reply's JSON.
func (s *server) ask(ctx context.Context, endpoint, id string, request any) ([]byte, error) {
	token, err := events.Token(id)
	if err != nil {
		return nil, usage("%q: %w", printable(id), err)
	}
	body, err := json.Marshal(request)
	if err != nil {
		return nil, usage("build request: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	reply, err := s.conn.RequestWithContext(ctx, endpoint+token, body)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return nil, unreachable("no processor answers at %s; start one with \"processor run\"", s.url)
	case err != nil:
		return nil, serverError("ask the processor", err)
	}
	return reply.Data, replyError(reply)
}

// replyTo is ask with the reply read.
func replyTo[T any](ctx context.Context, s *server, endpoint, id string, request any) (reply T, raw []byte, err error) {
	if raw, err = s.ask(ctx, endpoint, id, request); err != nil {
		return reply, nil, err
	}
	if err := json.Unmarshal(raw, &reply); err != nil {
		return reply, nil, unreachable("read the answer: %w", err)
	}
	return reply, raw, nil
}

// errNotReady is an answer that a later request can have.
var errNotReady = errors.New("the processor has not caught up or does not own this thread")

// replyError turns the service's error headers into an error with its exit status.
func replyError(reply *nats.Msg) error {
	code, message := reply.Header.Get(micro.ErrorCodeHeader), reply.Header.Get(micro.ErrorHeader)
	switch code {
	case "":
		return nil
	case "400":
		return usage("%s", message)
	case "404", "409":
		return wrong("%s", message)
	case "413":
		return unreachable("%s: the answer is larger than the server lets through; ask for less (--lines, --max-tokens), or raise its max_payload", message)
	case "503":
		return unreachable("%s: %w; try again in a moment", message, errNotReady)
	default:
		return unreachable("the processor answers %s: %s", code, message)
	}
}
