package broker

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
)

// MaxPayload is the embedded server's max_payload in bytes (the contract's 8 MiB).
const MaxPayload = 8 << 20

// SyncAlways is the Sync value for an fsync after every write of the embedded server.
const SyncAlways = "always"

// Options select the broker. The zero value is an embedded server
// without a listener, which needs StoreDir.
type Options struct {
	// URL of an external server (comma-separated for several). Empty: embedded.
	URL string
	// Listen is the embedded server's client address, such as "127.0.0.1:4222".
	// Port 0 picks a free one (see Broker.URL). Empty: in-process only.
	Listen string
	// Creds is a .creds file for an external server.
	Creds string
	// User, Password, Token authenticate against an external server; an
	// embedded one requires them of its clients.
	User, Password, Token string
	// Service is the user of OpenService's connection; the zero value means the user above. An embedded server has a
	// separate user for it.
	Service Login
	// ReplyPrefixes are the subject prefixes under which the embedded server's service user may publish. Default "_INBOX".
	ReplyPrefixes []string
	// TLS of the connection; with an embedded server Cert and Key are its own.
	TLS TLS
	// Sync of the embedded server: SyncAlways (default), or an interval such as
	// "2m": a power failure may then lose acknowledged events of the last interval.
	Sync string
	// StoreDir is the embedded server's directory.
	StoreDir string
	// MaxStore is how many bytes the embedded server may store. Default: the free disk space, less a reserve.
	MaxStore int64
	// Name of the connection and of the embedded server. Default "precis".
	Name string
	// ConnectTimeout bounds the first connection. Default 5s.
	ConnectTimeout time.Duration
	// LeaderTimeout is how long Open waits for servers that answer, but not about JetStream: a cluster that has just been started has no
	// leader yet. Default: as ConnectTimeout.
	LeaderTimeout time.Duration
	forService    bool // the connection is the service's and uses Service
	// Logger for the connection's and the embedded server's events.
	Logger zerolog.Logger
}

// Login is one user's credentials.
type Login struct{ Creds, User, Password, Token string }

// TLS names PEM files. CA alone verifies the server against it; Cert and Key
// present a certificate.
type TLS struct{ CA, Cert, Key string }

// WithDefaults fills what was left empty.
func (o Options) WithDefaults() Options {
	if o.Sync == "" {
		o.Sync = SyncAlways
	}
	if o.Name == "" {
		o.Name = "precis"
	}
	if len(o.ReplyPrefixes) == 0 {
		o.ReplyPrefixes = []string{strings.TrimSuffix(nats.InboxPrefix, ".")}
	}
	if o.ConnectTimeout <= 0 {
		o.ConnectTimeout = 5 * time.Second
	}
	if o.LeaderTimeout <= 0 {
		o.LeaderTimeout = o.ConnectTimeout
	}
	return o
}

// Validate reports the first option that can't be used, wrapped in ErrInvalidOptions.
func (o Options) Validate() error {
	if (o.TLS.Cert == "") != (o.TLS.Key == "") {
		return fmt.Errorf("%w: tls cert and key must be set together", ErrInvalidOptions)
	}
	if o.URL != "" {
		return nil
	}
	if o.StoreDir == "" {
		return fmt.Errorf("%w: an embedded server needs a store directory", ErrInvalidOptions)
	}
	if _, _, err := o.syncPolicy(); err != nil {
		return err
	}
	_, _, err := o.listenAddr()
	return err
}

// syncPolicy returns whether to sync every write, else the interval.
func (o Options) syncPolicy() (bool, time.Duration, error) {
	if o.Sync == SyncAlways {
		return true, 0, nil
	}
	d, err := time.ParseDuration(o.Sync)
	if err != nil || d <= 0 {
		return false, 0, fmt.Errorf("%w: sync %q is neither %q nor an interval such as \"2m\"", ErrInvalidOptions, o.Sync, SyncAlways)
	}
	return false, d, nil
}

func (o Options) listenAddr() (host string, port int, err error) {
	if o.Listen == "" {
		return "", 0, nil
	}
	host, p, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return "", 0, fmt.Errorf("%w: listen address %q: %w", ErrInvalidOptions, o.Listen, err)
	}
	port, err = strconv.Atoi(p)
	if err != nil || port < 0 || port > 65535 {
		return "", 0, fmt.Errorf("%w: listen address %q: bad port", ErrInvalidOptions, o.Listen)
	}
	return host, port, nil
}
