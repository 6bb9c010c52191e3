package broker

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Broker is an open connection, and the embedded server behind it if there is one.
type Broker struct {
	nc     *nats.Conn
	js     jetstream.JetStream
	server *embedded // nil: external
	closed chan struct{}
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
	var extra []nats.Option
	if o.URL == "" {
		if b.server, err = startEmbedded(ctx, o); err != nil {
			return err
		}
		o.URL, extra = b.server.reach()
	} else {
		extra = clientTLS(o.TLS)
	}
	if b.nc, err = connect(o, b.closed, extra...); err != nil {
		return err
	}
	if b.js, err = jetstream.New(b.nc); err != nil {
		return fmt.Errorf("set up JetStream: %w", err)
	}
	return checkJetStream(ctx, b.js, o.ConnectTimeout)
}

// Conn is the shared connection. It belongs to the Broker: don't close it.
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

// Broken gives out ErrBroken when the embedded server can't write any more. An
// external one has its own keeper.
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
	err := b.closeConn(ctx)
	if b.server != nil {
		err = errors.Join(err, b.server.stop(ctx))
		b.server = nil
	}
	return err
}

func (b *Broker) closeConn(ctx context.Context) error {
	if b.nc == nil || b.nc.IsClosed() {
		return nil
	}
	if err := b.nc.Drain(); err != nil { // not connected: nothing can be drained
		b.nc.Close()
	}
	select {
	case <-b.closed:
		return nil
	case <-ctx.Done():
		b.nc.Close()
		return fmt.Errorf("drain broker connection: %w", ctx.Err())
	}
}
