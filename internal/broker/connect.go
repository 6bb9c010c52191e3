package broker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"precis/internal/natsurl"
)

const (
	// drainTimeout bounds how long Close waits for unsent messages and running callbacks.
	drainTimeout = 5 * time.Second
	// reconnectWait is the pause between two rounds of attempts, per server.
	reconnectWait = 500 * time.Millisecond
)

// connect opens a connection that, once established, reconnects without limit.
func connect(o Options, closed chan<- struct{}, extra ...nats.Option) (*nats.Conn, error) {
	opts := append(connectionOptions(o), extra...)
	opts = append(opts, nats.ClosedHandler(func(*nats.Conn) { close(closed) }))
	nc, err := nats.Connect(o.URL, opts...)
	if err != nil {
		return nil, connectError(o, err)
	}
	return nc, nil
}

func connectionOptions(o Options) []nats.Option {
	opts := []nats.Option{
		nats.Name(o.Name),
		nats.Timeout(o.ConnectTimeout),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(reconnectWait),
		// A server that comes back before its accounts refuses us for a
		// moment; nats.go would give up permanently after the second refusal.
		nats.IgnoreAuthErrorAbort(),
		nats.DrainTimeout(drainTimeout),
	}
	opts = append(opts, credentials(o)...)
	return append(opts, logging(o.Logger)...)
}

func credentials(o Options) []nats.Option {
	var opts []nats.Option
	if o.Creds != "" {
		opts = append(opts, nats.UserCredentials(o.Creds))
	}
	if o.User != "" {
		opts = append(opts, nats.UserInfo(o.User, o.Password))
	}
	if o.Token != "" {
		opts = append(opts, nats.Token(o.Token))
	}
	return opts
}

// checkFiles reports a wrong path, which would otherwise look like an unreachable server.
func checkFiles(o Options) error {
	for _, path := range []string{o.Creds, o.Service.Creds, o.TLS.CA, o.TLS.Cert, o.TLS.Key} {
		if path == "" {
			continue
		}
		if _, err := os.ReadFile(path); err != nil {
			return fmt.Errorf("%w: %w", ErrInvalidOptions, err)
		}
	}
	return nil
}

// clientTLS is only for an external server: the embedded one requires TLS of other clients alone (embedded.reach).
func clientTLS(t TLS) []nats.Option {
	var opts []nats.Option
	if t.CA != "" {
		opts = append(opts, nats.RootCAs(t.CA))
	}
	if t.Cert != "" {
		opts = append(opts, nats.ClientCert(t.Cert, t.Key))
	}
	return opts
}

func logging(log zerolog.Logger) []nats.Option {
	return []nats.Option{
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil { // nil: we closed it
				log.Warn().Err(err).Msg("broker connection lost, reconnecting")
			}
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			log.Info().Str("url", nc.ConnectedUrlRedacted()).Msg("broker connection restored")
		}),
		nats.ErrorHandler(func(_ *nats.Conn, sub *nats.Subscription, err error) {
			e := log.Warn().Err(err)
			if sub != nil {
				e = e.Str("subject", sub.Subject)
			}
			e.Msg("broker connection error")
		}),
	}
}

func connectError(o Options, err error) error {
	url := natsurl.Redacted(o.URL)
	switch {
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired),
		errors.Is(err, nats.ErrAuthRevoked), errors.Is(err, nats.ErrAccountAuthExpired):
		return fmt.Errorf("connect to %s: %w: %s (%w)", url, ErrAuth, o.refused(), err)
	default:
		return fmt.Errorf("connect to %s: %w: %w", url, ErrUnreachable, err)
	}
}

// refused says which user the server refuses, and what to configure.
func (o Options) refused() string {
	keys, flags := "nats.", " (--user and --password-env, --creds, --token-env)"
	if o.forService {
		keys, flags = "nats.service.", ""
	}
	who := "the server requires credentials"
	switch {
	case o.Creds != "":
		who = "the server rejects the user of " + o.Creds
	case o.User != "":
		who = fmt.Sprintf("the server rejects user %q with this password", o.User)
	case o.Token != "":
		who = "the server rejects the token"
	}
	return fmt.Sprintf("%s; set %suser and %[2]spassword_env, %[2]screds or %[2]stoken_env%s", who, keys, flags)
}

// checkJetStream asks the server for our account, so that a server without
// JetStream is named at start instead of timing out later.
func checkJetStream(ctx context.Context, js jetstream.JetStream, o Options) error {
	ctx, cancel := context.WithTimeoutCause(ctx, o.LeaderTimeout, fmt.Errorf("%w: nothing about JetStream within %s: do a majority of the cluster's servers run?", ErrUnreachable, o.LeaderTimeout))
	defer cancel()
	for told := false; ; told = true {
		asking, stop := context.WithTimeout(ctx, o.ConnectTimeout)
		_, err := js.AccountInfo(asking)
		stop()
		switch {
		case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
			return fmt.Errorf("%w: %w", ErrNoJetStream, err)
		case err == nil:
			return nil
		case !errors.Is(err, context.DeadlineExceeded):
			return fmt.Errorf("check JetStream: %w", err)
		case ctx.Err() != nil:
			return fmt.Errorf("check JetStream: %w", context.Cause(ctx))
		case !told:
			o.Logger.Warn().Msg("the server says nothing about JetStream: waiting until its cluster has a leader")
		}
	}
}
