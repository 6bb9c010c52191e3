package processor

import (
	"context"
	"errors"
	"fmt"
	"net"

	"precis/internal/config"
	"precis/internal/rest"
	"precis/internal/service"
)

// apiDoor is where the HTTP API listens, and whom it lets in; its listener is nil where there is none.
type apiDoor struct {
	listener net.Listener
	tokens   *rest.Tokens
}

// openAPI binds the address of the API and reads its tokens before anything else starts.
func openAPI(ctx context.Context, o Options) (door apiDoor, err error) {
	c := o.Config.API
	if c.Listen == "" {
		return door, nil
	}
	if door.tokens, err = rest.LoadTokens(c.TokensFile, o.Logger); err != nil {
		return door, fmt.Errorf("%w: api.tokens_file: %w", config.ErrInvalid, err)
	}
	door.listener, err = listen(ctx, "the API", c.Listen, "--api (empty: none)")
	return door, err
}

// serveAPI answers requests over HTTP by the service.
func (p *Processor) serveAPI(door apiDoor, svc *service.Service) (*rest.Server, error) {
	c := p.opts.Config.API
	server, err := rest.Start(door.listener, rest.Options{
		Logger: p.log, Conn: p.broker.Conn(), Service: svc, Tokens: door.tokens,
		EventBytes: func() int { return p.config.Load().Limits.EventBytes },
		Cert:       c.TLS.Cert, Key: c.TLS.Key, BodyBytes: c.BodyBytes, PerSecond: c.RequestsPerSecond, Streams: c.Streams,
		Observe: p.metrics.answered,
	})
	if errors.Is(err, rest.ErrCertificate) {
		err = fmt.Errorf("%w: api.tls: %w", config.ErrInvalid, err)
	}
	if err != nil {
		return nil, err
	}
	p.api.Store(server)
	return server, nil
}

// reloadAPI reads the API's tokens and certificate again.
func (p *Processor) reloadAPI() error {
	if server := p.api.Load(); server != nil {
		return server.Reload()
	}
	return nil
}
