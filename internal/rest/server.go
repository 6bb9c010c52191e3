package rest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"precis/api"
	"precis/events"
	"precis/internal/service"
	"precis/internal/ui"
	"precis/schemas"
)

// Options of a server.
type Options struct {
	Logger zerolog.Logger
	// Conn publishes, and reads SUMMARIES and REJECTED.
	Conn    *nats.Conn
	Service *service.Service
	Tokens  *Tokens
	// EventBytes is limits.event_bytes as it is in force.
	EventBytes func() int
	// Version is that of the program.
	Version string
	// Cert and Key name PEM files; empty: no TLS.
	Cert, Key string
	BodyBytes int // of a request
	PerSecond int // requests of a token; 0: no limit
	Streams   int // open at once
	// Pages are what /ui/ shows; nil: there are no pages. Contents is ui.contents.
	Pages    ui.Backend
	Contents bool
	// Readers are connections over which the pages read; none: they use Conn.
	Readers []*nats.Conn
	// Observe counts an answer; nil counts none. The route is one of a few.
	Observe func(route string, status int)
	// Wait bounds the wait until events are stored. Default 10s.
	Wait time.Duration
	// ReadTimeout bounds the time until a request is read. Default 30s.
	ReadTimeout time.Duration
	// Heartbeat is the interval of a stream's comments. Default 15s.
	Heartbeat time.Duration
	// Now is the clock by which tokens expire; nil is the system's.
	Now func() time.Time
}

const (
	headerTimeout = 5 * time.Second
	idleTimeout   = 2 * time.Minute
	// writeTimeout bounds an answer, and each record of a stream: a client that does not read has no more of a place.
	writeTimeout = 30 * time.Second
	maxHeader    = 64 << 10
	// bodiesBytes bounds the bodies that are in memory at once; one token may have half of it.
	bodiesBytes = 256 << 20
)

func (o Options) withDefaults() Options {
	for _, d := range []struct {
		v  *time.Duration
		to time.Duration
	}{{&o.Wait, 10 * time.Second}, {&o.ReadTimeout, 30 * time.Second}, {&o.Heartbeat, 15 * time.Second}} {
		if *d.v == 0 {
			*d.v = d.to
		}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Observe == nil {
		o.Observe = func(string, int) {}
	}
	return o
}

// Server answers until it is stopped.
type Server struct {
	opts      Options
	guarded   bool // only this machine's clients, by this machine's names
	publisher *events.Publisher
	client    *api.Client
	js        jetstream.JetStream
	openAPI   []byte
	tools     *tools
	pages     *ui.UI // nil: there are none
	rates     rates
	streams   places
	bodies    places
	cert      atomic.Pointer[tls.Certificate]
	closing   chan struct{} // ends streams
	server    *http.Server
	served    chan error
}

// Start answers on a listener, which it closes in the end.
func Start(l net.Listener, o Options) (*Server, error) {
	o = o.withDefaults()
	s := &Server{
		opts: o, rates: rates{perSecond: o.PerSecond}, streams: places{all: o.Streams, each: max(1, o.Streams/2)},
		bodies: places{all: max(bodiesBytes, o.BodyBytes), each: max(bodiesBytes/2, o.BodyBytes)}, closing: make(chan struct{}), served: make(chan error, 1),
	}
	if o.Tokens.file == "" {
		s.streams.each, s.bodies.each = s.streams.all, s.bodies.all
		addr, ok := l.Addr().(*net.TCPAddr)
		s.guarded = ok && addr.IP.IsLoopback()
	}
	var err error
	if s.openAPI, err = schemas.OpenAPI(); err != nil {
		return nil, fmt.Errorf("start API: %w", err)
	}
	if s.js, err = jetstream.New(o.Conn); err != nil {
		return nil, fmt.Errorf("start API: %w", err)
	}
	if s.client, err = api.NewClient(o.Conn, api.ClientOptions{Timeout: o.Wait}); err != nil {
		return nil, fmt.Errorf("start API: %w", err)
	}
	s.tools = s.newTools(o.Version)
	if o.Pages != nil {
		if s.pages, err = s.newPages(o); err != nil {
			return nil, fmt.Errorf("start API: %w", err)
		}
	}
	s.server = &http.Server{
		Handler: s.handler(), ReadHeaderTimeout: headerTimeout, ReadTimeout: o.ReadTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: logOf(o.Logger),
	}
	if o.Cert != "" {
		if err := s.loadCertificate(); err != nil {
			return nil, fmt.Errorf("start API: %w", err)
		}
		s.server.TLSConfig = &tls.Config{
			MinVersion:     tls.VersionTLS12,
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.cert.Load(), nil },
		}
	}
	// Unchecked: the handler has checked them, by the same function.
	if s.publisher, err = events.NewPublisher(o.Conn, events.PublisherOptions{Unchecked: true}); err != nil {
		return nil, fmt.Errorf("start API: %w", err)
	}
	go func() {
		if o.Cert != "" {
			s.served <- s.server.ServeTLS(l, "", "")
			return
		}
		s.served <- s.server.Serve(l)
	}()
	return s, nil
}

func (s *Server) newPages(o Options) (*ui.UI, error) {
	reads := []jetstream.JetStream{s.js}
	for i, nc := range o.Readers {
		js, err := jetstream.New(nc)
		if err != nil {
			return nil, err
		}
		reads = append(reads[:min(i, len(reads))], js)
	}
	return ui.New(ui.Options{
		Logger: o.Logger, Backend: o.Pages, Service: o.Service, JetStream: reads[0], Beside: reads[1:], Gate: gate{s}, Contents: o.Contents, Secure: o.Cert != "", Heartbeat: o.Heartbeat,
		Closing: s.closing,
	})
}

// Reload reads tokens and certificate again. What can't be used changes nothing.
func (s *Server) Reload() error {
	err := s.opts.Tokens.Reload()
	if s.opts.Cert != "" {
		err = errors.Join(err, s.loadCertificate())
	}
	return err
}

// ErrCertificate is a certificate, or its key, that can't be used.
var ErrCertificate = errors.New("read certificate")

func (s *Server) loadCertificate() error {
	pair, err := tls.LoadX509KeyPair(s.opts.Cert, s.opts.Key)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCertificate, err)
	}
	s.cert.Store(&pair)
	return nil
}

// Stop ends streams, finishes requests and returns when all have ended, or cuts them off when ctx ends.
func (s *Server) Stop(ctx context.Context) error {
	close(s.closing)
	err := s.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(fmt.Errorf("stop API: %w", err), s.server.Close())
	}
	if serr := <-s.served; !errors.Is(serr, http.ErrServerClosed) {
		err = errors.Join(err, fmt.Errorf("serve API: %w", serr))
	}
	// What no client was told is stored: each was told so.
	if perr := s.publisher.Close(ctx); perr != nil && !errors.Is(perr, events.ErrRefused) {
		s.opts.Logger.Warn().Err(perr).Msg("events that clients were not told are stored")
	}
	return err
}
