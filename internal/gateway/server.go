package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
)

// Server serves a gateway until it is stopped.
type Server struct {
	gateway *Gateway
	server  *http.Server
	served  chan error
}

// Start serves a new gateway on a listener, which it closes in the end: HTTP/1.1, and HTTP/2 without TLS.
func Start(l net.Listener, o Options) (*Server, error) {
	if addr, ok := l.Addr().(*net.TCPAddr); ok && addr.IP.IsLoopback() {
		o.Guarded = true
	}
	g, err := New(o)
	if err != nil {
		return nil, err
	}
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	s := &Server{gateway: g, served: make(chan error, 1), server: &http.Server{
		// Neither a body nor an answer has a time limit: a model may think for as long as its client waits.
		Handler: g, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, Protocols: protocols,
	}}
	s.server.ErrorLog = g.proxy.ErrorLog
	go func() { s.served <- s.server.Serve(l) }()
	return s, nil
}

// Stop finishes the requests under way and publishes what they said, or cuts off what is left when ctx ends.
func (s *Server) Stop(ctx context.Context) error {
	err := s.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(fmt.Errorf("stop gateway: %w", err), s.server.Close())
	}
	if serr := <-s.served; !errors.Is(serr, http.ErrServerClosed) {
		err = errors.Join(err, fmt.Errorf("serve gateway: %w", serr))
	}
	return errors.Join(err, s.gateway.Close(ctx))
}
