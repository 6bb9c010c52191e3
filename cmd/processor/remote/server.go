package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/alecthomas/kong"
	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"

	"precis/cmd/processor/console"
	"precis/events"
	"precis/internal/broker"
	"precis/internal/natsurl"
)

// Flags are the flags of every command that talks to a server; the names and variables are the nats
// tool's.
type Flags struct {
	NATS string `name:"nats" env:"NATS_URL" placeholder:"URL" group:"Server" help:"NATS server (nats://127.0.0.1:4222)."`
	Login
	JSON bool `name:"json" group:"Server" help:"Print JSON."`
}

// Login say who asks, and whom to trust.
type Login struct {
	Creds    string `env:"NATS_CREDS" type:"existingfile" placeholder:"FILE" group:"Server" help:"Credentials file."`
	User     string `env:"NATS_USER" placeholder:"NAME" group:"Server" help:"User."`
	Password string `env:"NATS_PASSWORD" placeholder:"WORD" group:"Server" help:"Password of the user; prefer $$${env}."`
	Token    string `env:"NATS_TOKEN" placeholder:"WORD" group:"Server" help:"Token; prefer $$${env}."`
	TLSCA    string `name:"tlsca" env:"NATS_CA" type:"existingfile" placeholder:"FILE" group:"Server" help:"Certificate authority of the server."`
	TLSCert  string `name:"tlscert" env:"NATS_CERT" type:"existingfile" placeholder:"FILE" group:"Server" help:"Client certificate."`
	TLSKey   string `name:"tlskey" env:"NATS_KEY" type:"existingfile" placeholder:"FILE" group:"Server" help:"Key of the client certificate."`
}

// Validate is asked by kong for every command that has these flags. A command that asks two servers has them twice, with a prefix.
func (f *Login) Validate(given *kong.Context) error {
	if (f.TLSCert == "") != (f.TLSKey == "") {
		return errors.New("--tlscert and --tlskey must be given together")
	}
	for _, part := range given.Path {
		if part.Flag != nil && part.Flag.Target.CanAddr() && part.Flag.Target.Addr().Interface() == any(&f.Password) && f.User == "" {
			prefix := strings.TrimSuffix(part.Flag.Name, "password")
			return fmt.Errorf("--%spassword requires --%suser", prefix, prefix)
		}
	}
	return nil
}

// connectTimeout bounds the first connection, for which the user waits.
const connectTimeout = 5 * time.Second

// ReconnectWait is the pause between attempts to find a server again.
const ReconnectWait = 500 * time.Millisecond

// Server is a connection for one command.
type Server struct {
	URL  string
	Conn *nats.Conn
	JS   jetstream.JetStream
	may  *rights
	told <-chan struct{} // closed when the last callback has returned
}

// Connect reaches the server, or says why it can't. The caller closes the connection.
func (f Flags) Connect(a *console.App, more ...nats.Option) (*Server, error) {
	if err := CheckAddress(f.URL()); err != nil {
		return nil, err
	}
	may := &rights{}
	told := make(chan struct{})
	conn, err := nats.Connect(f.URL(), slices.Concat(f.Options(), watch(a, may), more, []nats.Option{nats.ClosedHandler(func(*nats.Conn) { close(told) })})...)
	if err != nil {
		return nil, f.ConnectError(err)
	}
	s := &Server{URL: f.Shown(), Conn: conn, may: may, told: told}
	if s.JS, err = jetstream.New(conn); err != nil {
		s.Close()
		return nil, console.Unreachable("connect to %s: %w", f.Shown(), err)
	}
	return s, nil
}

// watch reports changes of the connection.
func watch(a *console.App, may *rights) []nats.Option {
	return []nats.Option{
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if !leftBehind(err) && !may.refused(err) {
				a.Note("processor: server: %v", err)
			}
		}),
		nats.ReconnectHandler(func(c *nats.Conn) { a.Note("processor: connected again to %s", c.ConnectedUrlRedacted()) }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				a.Note("processor: connection lost, trying again: %v", err)
			}
		}),
	}
}

// Options of a connection with these flags.
func (f Flags) Options() []nats.Option {
	options := []nats.Option{
		nats.Name("precis processor"), nats.Timeout(connectTimeout),
		nats.MaxReconnects(-1), nats.ReconnectWait(ReconnectWait),
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

// ConnectError says why a server was not reached and what to do.
func (f Flags) ConnectError(err error) error {
	switch {
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired):
		return console.Unreachable("connect to %s: the server refuses this user; give --creds, --user or --token (%w)", f.Shown(), err)
	case errors.Is(err, nats.ErrNoServers):
		return console.Unreachable("connect to %s: no server there; start one with \"processor run\", or name another with --nats URL or NATS_URL (%w)", f.Shown(), err)
	default:
		return console.Unreachable("connect to %s: %w", f.Shown(), err)
	}
}

// URL is the server's address; by default one on this machine.
func (f Flags) URL() string { return cmp.Or(f.NATS, nats.DefaultURL) }

// CheckAddress refuses what is not an address before anything shows it.
func CheckAddress(list string) error {
	if server, wrong := natsurl.Wrong(list); wrong {
		return console.Usage("--nats: %q is not a server address; allowed: nats://host:port, tls://…, ws://…, wss://…, several with commas", natsurl.Redacted(server))
	}
	return nil
}

// Shown is the address as it may stand in a message.
func (f Flags) Shown() string { return natsurl.Redacted(f.URL()) }

// Close closes the connection, and returns when its callbacks have: none of them writes behind the command's last line.
func (s *Server) Close() {
	s.Conn.Close()
	<-s.told
}

// With runs work on a connection of its own.
func (f Flags) With(ctx context.Context, a *console.App, work func(context.Context, *Server) error) error {
	s, err := f.Connect(a)
	if err != nil {
		return err
	}
	defer s.Close()
	return work(ctx, s)
}

// rights ends requests that the user may not make. The server does not answer those: the request would wait for its timeout, while
// the refusal arrives at once, as an error of the connection.
type rights struct {
	mu     sync.Mutex
	asking context.CancelCauseFunc // nil: no request is waiting
}

// Refusable runs a request that this user may have no right to make, and ends it with the server's refusal. Only one runs at a time.
func (s *Server) Refusable(ctx context.Context, request func(context.Context) error) error {
	return s.may.ask(ctx, request)
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

// Ask sends a request about one thread or summary to the service and returns the reply's JSON.
func (s *Server) Ask(ctx context.Context, endpoint, id string, request any) ([]byte, error) {
	token, err := events.Token(id)
	if err != nil {
		return nil, console.Usage("%q: %w", console.Printable(id), err)
	}
	return s.AskAt(ctx, endpoint+token, request)
}

// AskAt is Ask at a whole subject.
func (s *Server) AskAt(ctx context.Context, subject string, request any) ([]byte, error) {
	body, err := json.Marshal(request)
	if err != nil {
		return nil, console.Usage("build request: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	reply, err := s.Conn.RequestWithContext(ctx, subject, body)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return nil, console.Unreachable("no processor answers at %s; start one with \"processor run\"", s.URL)
	case err != nil:
		return nil, Explain("ask the processor", err)
	}
	return reply.Data, ReplyError(reply)
}

// Reply is ask with the reply read.
func Reply[T any](ctx context.Context, s *Server, endpoint, id string, request any) (reply T, raw []byte, err error) {
	if raw, err = s.Ask(ctx, endpoint, id, request); err != nil {
		return reply, nil, err
	}
	if err := json.Unmarshal(raw, &reply); err != nil {
		return reply, nil, console.Unreachable("read the answer: %w", err)
	}
	return reply, raw, nil
}

// ErrNotReady is an answer that a later request can have.
var ErrNotReady = errors.New("the processor has not caught up or does not own this thread")

// ReplyError turns the service's error headers into an error with its exit status.
func ReplyError(reply *nats.Msg) error {
	code, message := reply.Header.Get(micro.ErrorCodeHeader), reply.Header.Get(micro.ErrorHeader)
	switch code {
	case "":
		return nil
	case "400":
		return console.Usage("%s", message)
	case "404", "409":
		return console.Wrong("%s", message)
	case "413":
		return console.Unreachable("%s: the answer is larger than the server lets through; ask for less (--lines, --max-tokens), or raise its max_payload", message)
	case "503":
		return console.Unreachable("%s: %w; try again in a moment", message, ErrNotReady)
	default:
		return console.Unreachable("the processor answers %s: %s", code, message)
	}
}

// HasStreams finds out early that no stream takes events. It asks for SUMMARIES first: it is where EVENTS is, and
// agents may ask about it.
func (s *Server) HasStreams(ctx context.Context) error {
	_, err := s.JS.Stream(ctx, broker.StreamSummaries)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		_, err = s.JS.Stream(ctx, broker.StreamEvents)
	}
	if errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrJetStreamNotEnabled) {
		return Explain("open EVENTS", err)
	}
	return nil
}

// Explain explains an error of a server that was reached.
func Explain(doing string, err error) error {
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return console.Unreachable("%s: the server has no such stream; has a processor run against it? (%w)", doing, err)
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return console.Unreachable("%s: the server has no JetStream for this account; start it with -js, or use another account (%w)", doing, err)
	case errors.Is(err, nats.ErrPermissionViolation):
		return console.Unreachable("%s: this user may not: use one that may (--creds or --user) (%w)", doing, err)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout):
		return console.Unreachable("%s: no answer in time; is the server busy, or this user without the right? (%w)", doing, err)
	default:
		return console.Unreachable("%s: %w", doing, err)
	}
}
