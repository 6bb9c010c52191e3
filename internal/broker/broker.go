package broker

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// ServerVersion is the version of the embedded server.
const ServerVersion = server.VERSION

// Broker is an open connection, and the embedded server if there is one.
type Broker struct {
	nc      *nats.Conn
	js      jetstream.JetStream
	server  *embedded // nil: external
	stopped bool      // server is
	closed  chan struct{}

	opts    Options       // of the main connection
	extra   []nats.Option // for every connection
	service *nats.Conn    // nil: not opened
	served  chan struct{} // closed with service

	readers []*nats.Conn
	ended   []chan struct{} // each is closed with its reader
}

// Open starts the embedded server or connects to the external one. It fails
// with one of this package's start errors, never with a half-open Broker.
func Open(ctx context.Context, o Options) (*Broker, error) {
	o = o.WithDefaults()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := checkFiles(o); err != nil {
		return nil, err
	}
	b := &Broker{closed: make(chan struct{})}
	if err := b.open(ctx, o); err != nil {
		return nil, errors.Join(err, b.Close(context.WithoutCancel(ctx)))
	}
	return b, nil
}

func (b *Broker) open(ctx context.Context, o Options) (err error) {
	if o.URL == "" {
		if b.server, err = startEmbedded(ctx, o); err != nil {
			return err
		}
		o.URL, b.extra = b.server.reach()
		o.Service = b.server.service
	} else {
		b.extra = clientTLS(o.TLS)
	}
	b.opts = o
	if b.nc, err = connect(o, b.closed, b.extra...); err != nil {
		return err
	}
	if b.js, err = jetstream.New(b.nc); err != nil {
		return fmt.Errorf("set up JetStream: %w", err)
	}
	return checkJetStream(ctx, b.js, o)
}

// OpenService opens the connection on which requests are answered. If a service user is configured, it connects as that
// user, who may only publish replies. The Broker owns the connection: don't close it.
func (b *Broker) OpenService() (*nats.Conn, error) {
	if b.service != nil {
		return b.service, nil
	}
	o := b.opts
	o.Name += " service"
	if o.Service != (Login{}) {
		o.forService = true
		o.Creds, o.User, o.Password, o.Token = o.Service.Creds, o.Service.User, o.Service.Password, o.Service.Token
	}
	served := make(chan struct{})
	nc, err := connect(o, served, b.extra...)
	if err != nil {
		return nil, fmt.Errorf("open the service's connection: %w", err)
	}
	b.service, b.served = nc, served
	return nc, nil
}

// OpenReaders opens n connections for those that read much of the streams, once: the server answers what is asked over one connection one after the other, and
// loads a block of up to 8 MB for some answers, so that a record that is published over the same connection would wait. The Broker owns them: don't close them.
func (b *Broker) OpenReaders(n int) ([]*nats.Conn, error) {
	o := b.opts
	o.Name += " reader"
	for len(b.readers) < n {
		ended := make(chan struct{})
		nc, err := connect(o, ended, b.extra...)
		if err != nil {
			return nil, fmt.Errorf("open a connection to read: %w", err)
		}
		b.readers, b.ended = append(b.readers, nc), append(b.ended, ended)
	}
	return b.readers[:n:n], nil
}

// Conn is the shared connection. The Broker owns it: don't close it.
func (b *Broker) Conn() *nats.Conn { return b.nc }

// JetStream is the API on Conn.
func (b *Broker) JetStream() jetstream.JetStream { return b.js }

// Embedded reports whether the server runs in this process.
func (b *Broker) Embedded() bool { return b.server != nil }

// URL is where other clients reach the server; empty for an embedded one without a listener.
func (b *Broker) URL() string {
	if b.server == nil {
		return b.nc.ConnectedUrlRedacted()
	}
	if b.server.srv.Addr() == nil {
		return ""
	}
	return b.server.srv.ClientURL()
}

// Broken yields ErrBroken when the embedded server can't write any more. An external server has its own monitoring.
func (b *Broker) Broken() <-chan error {
	if b.server == nil {
		return nil
	}
	return b.server.log.broken
}

// Close sends what is buffered, waits for running callbacks, closes the
// connection and, if embedded, shuts the server down and waits for its files.
// It is not safe for concurrent use; a second call does nothing.
func (b *Broker) Close(ctx context.Context) error {
	err := errors.Join(drain(ctx, b.service, b.served), drain(ctx, b.nc, b.closed))
	for i, nc := range b.readers {
		err = errors.Join(err, drain(ctx, nc, b.ended[i]))
	}
	if b.server != nil && !b.stopped {
		err = errors.Join(err, b.server.stop(ctx))
		b.stopped = true // server stays: what still runs may ask for it
	}
	return err
}

func drain(ctx context.Context, nc *nats.Conn, closed <-chan struct{}) error {
	if nc == nil || nc.IsClosed() {
		return nil
	}
	if err := nc.Drain(); err != nil { // not connected: nothing can be drained
		nc.Close()
	}
	select {
	case <-closed:
		return nil
	case <-ctx.Done():
		nc.Close()
		return fmt.Errorf("drain broker connection: %w", ctx.Err())
	}
}

// Storage is the disk space that the server's streams use and may use, in bytes.
type Storage struct {
	Used  uint64
	Limit uint64 // 0: unknown
}

// Left is the remaining space; known is false if the limit is unknown.
func (s Storage) Left() (bytes uint64, known bool) {
	return s.Limit - min(s.Used, s.Limit), s.Limit > 0
}

// Storage returns the space used and allowed: by an embedded server as a whole, or by the account on an external one. An
// external server does not report its free disk space or max_file_store to clients.
func (b *Broker) Storage(ctx context.Context) (Storage, error) {
	if b.server == nil {
		info, err := b.js.AccountInfo(ctx)
		if err != nil {
			return Storage{}, fmt.Errorf("read storage usage: %w", err)
		}
		return Storage{Used: info.Store, Limit: uint64(max(info.Limits.MaxStore, 0))}, nil
	}
	info, err := b.server.srv.Jsz(&server.JSzOptions{})
	if err != nil {
		return Storage{}, fmt.Errorf("read storage usage: %w", err)
	}
	return Storage{Used: info.Store, Limit: uint64(max(info.Config.MaxStore, 0))}, nil
}
