package processor

import (
	"context"
	"errors"
	"fmt"
	"net"

	"precis/internal/config"
	"precis/internal/gateway"
	"precis/internal/rest"
	"precis/internal/service"
)

// doors are where the HTTP API and the gateway listen, and whom the API lets in. A listener is nil where there is none.
type doors struct {
	listener net.Listener // of the API
	tokens   *rest.Tokens
	gateway  net.Listener
}

// close closes what has not been served.
func (d doors) close() error { return errors.Join(closeListener(d.listener), closeListener(d.gateway)) }

// openAPI binds the address of the API and reads its tokens before anything else starts.
func openAPI(ctx context.Context, o Options) (door doors, err error) {
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

// serve starts what listens; end stops what has started, also after an error.
func (p *Processor) serve(door doors, svc *service.Service) (end func(context.Context) error, err error) {
	var stops []func(context.Context) error
	end = func(ctx context.Context) (err error) {
		for _, stop := range stops {
			err = errors.Join(err, stop(ctx))
		}
		return err
	}
	if door.listener != nil {
		server, err := p.serveAPI(door, svc)
		if err != nil {
			return end, errors.Join(err, door.close())
		}
		stops = append(stops, server.Stop)
	}
	if door.gateway != nil {
		g, err := p.serveGateway(door)
		if err != nil {
			return end, errors.Join(err, door.gateway.Close())
		}
		stops = append(stops, g.Stop)
	}
	return end, nil
}

// serveGateway passes agents' requests on.
func (p *Processor) serveGateway(door doors) (*gateway.Server, error) {
	c := p.opts.Config.Gateway
	return gateway.Start(door.gateway, gateway.Options{
		Logger: p.log.With().Str("part", "gateway").Logger(), Conn: p.broker.Conn(), Mode: c.Mode, Compactions: c.Compactions, Originals: c.Originals,
		OpenAI: c.OpenAI, Anthropic: c.Anthropic, EventBytes: p.opts.Config.Limits.EventBytes, Metrics: gateway.NewMetrics(p.metrics.registry),
	})
}

// pageReaders is how many connections the pages read over.
const pageReaders = 4

// serveAPI answers requests over HTTP by the service.
func (p *Processor) serveAPI(door doors, svc *service.Service) (*rest.Server, error) {
	c := p.opts.Config.API
	readers, err := p.broker.OpenReaders(pageReaders)
	if err != nil {
		p.log.Warn().Err(err).Msg("the pages read over the processor's own connection")
	}
	server, err := rest.Start(door.listener, rest.Options{
		Logger: p.log, Version: p.opts.Version, Conn: p.broker.Conn(), Service: svc, Tokens: door.tokens,
		EventBytes: func() int { return p.config.Load().Limits.EventBytes },
		Cert:       c.TLS.Cert, Key: c.TLS.Key, BodyBytes: c.BodyBytes, PerSecond: c.RequestsPerSecond, Streams: c.Streams,
		Observe: p.metrics.answered, Pages: p, Contents: p.opts.Config.UI.Contents, Readers: readers,
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
