package processor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"precis/internal/broker"
	"precis/internal/service"
	"precis/state"
)

// Serve opens a processor, answers over NATS and HTTP, and runs until ctx ends. started is called once everything
// listens; it may be nil.
func Serve(ctx context.Context, opts Options, started func(*Processor)) error {
	opts = opts.withDefaults()
	listener, err := listen(ctx, "HTTP", opts.Config.HTTP.Listen, "--http")
	if err != nil {
		return ownerFirst(opts, err)
	}
	door, err := openAPI(ctx, opts)
	if err != nil {
		return ownerFirst(opts, errors.Join(err, closeListener(listener)))
	}
	if door.gateway, err = listen(ctx, "the gateway", opts.Config.Gateway.Listen, "--gateway (empty: none)"); err != nil {
		return errors.Join(err, closeListener(listener), door.close())
	}
	p, err := Open(ctx, opts)
	if err != nil {
		return errors.Join(err, closeListener(listener), door.close())
	}
	web := p.serveHTTP(listener, door.listener)
	end, err := p.run(ctx, door, started)
	done, cancel := context.WithTimeout(context.WithoutCancel(ctx), opts.CloseTimeout)
	defer cancel()
	return errors.Join(err, end(done), web(done), p.Close(done))
}

// run answers over NATS, the API and the gateway, and runs until ctx ends. Then requests under way have an answer soon: end waits for them.
func (p *Processor) run(ctx context.Context, door doors, started func(*Processor)) (end func(context.Context) error, err error) {
	end = func(context.Context) error { return door.close() }
	svc, err := p.answer()
	if err != nil {
		return end, err
	}
	if p.shares.member != nil {
		unheed, err := p.heed(svc)
		if err != nil {
			return end, errors.Join(err, svc.Stop())
		}
		defer func() { _ = unheed() }() // its connection closes soon, too
	}
	if end, err = p.serve(door, svc); err != nil {
		return end, errors.Join(err, svc.Stop())
	}
	if started != nil {
		started(p)
	}
	return end, errors.Join(p.Run(ctx), svc.Stop())
}

// answer starts the service on its own connection.
func (p *Processor) answer() (*service.Service, error) {
	nc, err := p.broker.OpenService()
	if err != nil {
		return nil, err
	}
	o := service.Options{
		Version: p.opts.Version, Logger: p.log, Inboxes: p.opts.Config.NATS.InboxPrefixes,
		Refused: func(reason string) { p.metrics.refused.WithLabelValues(reason).Inc() },
		Served:  p.metrics.served, Answered: p.metrics.requested,
	}
	if p.shares.member != nil {
		o.Shared = p
	}
	return service.Start(nc, p, o)
}

// ownerFirst names the process that has the data directory where there is one: a second start on it finds its ports taken, too, and
// another port would not help.
func ownerFirst(opts Options, err error) error {
	unlock, locked := state.Lock(StoreDir(opts.Config.DataDir))
	if locked == nil {
		unlock()
		return err
	}
	if owned := (*state.OwnedError)(nil); errors.As(locked, &owned) {
		return locked
	}
	return err
}

// listen binds an address before anything else starts; nil if none is configured.
func listen(ctx context.Context, what, addr, flag string) (net.Listener, error) {
	if addr == "" {
		return nil, nil
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("serve %s on %s: %w: free it, or give another %s", what, addr, err, flag)
	}
	return l, nil
}

func closeListener(l net.Listener) error {
	if l == nil {
		return nil
	}
	return l.Close()
}

// serveHTTP answers probes and scrapes; the returned function stops it.
func (p *Processor) serveHTTP(l, api net.Listener) func(context.Context) error {
	if l == nil {
		return func(context.Context) error { return nil }
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", p.readyz)
	mux.Handle("GET /metrics", promhttp.HandlerFor(p.metrics.registry, promhttp.HandlerOpts{}))
	for _, path := range []string{"/v1/", "/ui", "/ui/", "/mcp"} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusNotFound, elsewhere(api)) })
	}
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	return func(ctx context.Context) error {
		err := srv.Shutdown(ctx)
		if serr := <-served; !errors.Is(serr, http.ErrServerClosed) {
			err = errors.Join(err, fmt.Errorf("serve HTTP: %w", serr))
		}
		return err
	}
}

// elsewhere tells a client that took the port of probes and metrics for the API's where that is.
func elsewhere(api net.Listener) string {
	const here = "not found: this port has /healthz, /readyz and /metrics only; the HTTP API (/v1, /mcp) and its pages (/ui) "
	if api == nil {
		return here + "are off (api.listen, --api)"
	}
	return here + "listen on " + api.Addr().String() + " (api.listen, --api)"
}

// readyz reports whether the processor is caught up and able to write.
func (p *Processor) readyz(w http.ResponseWriter, _ *http.Request) {
	switch {
	case !p.broker.Conn().IsConnected():
		say(w, http.StatusServiceUnavailable, "not connected to NATS")
	case p.aside() != nil:
		say(w, http.StatusServiceUnavailable, "partitions are left to other processors: "+p.aside().Error())
	case p.shares.member != nil && p.shares.member.Lapsed():
		say(w, http.StatusServiceUnavailable, "the lease in the cluster is not renewed: the servers take no writes, or too slowly")
	case !p.CaughtUp() || p.shares.member != nil && !p.shares.member.Joined():
		say(w, http.StatusServiceUnavailable, "catching up with the log")
	case !p.roomForAnEvent():
		say(w, http.StatusServiceUnavailable, "the disk is full")
	default:
		p.readyIfStored(w)
	}
}

// readyIfStored reports ready if the streams take records, with a warning if the server's store is nearly full or the configuration's file was refused.
func (p *Processor) readyIfStored(w http.ResponseWriter) {
	full, warning := p.stored()
	if full {
		say(w, http.StatusServiceUnavailable, warning)
		return
	}
	if err := p.writes.ask(); err != nil {
		say(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	text := "ready"
	if warning != "" {
		text += "; " + warning
	}
	if why, _ := p.refusal(); why != "" {
		text += "; the last reload was refused: " + onOneLine(why, mostProbed)
	}
	say(w, http.StatusOK, text)
}

// roomForAnEvent reports whether the data directory's disk has room for the largest event. The store ends the process if it
// can't write; but if the embedded server can't, no event comes in, and the store has nothing to write.
func (p *Processor) roomForAnEvent() bool {
	free, err := p.store.Free()
	if err != nil {
		p.log.Warn().Err(err).Msg("can't tell how full the disk is")
		return true
	}
	return free >= broker.MaxPayload
}

func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = fmt.Fprintln(w, text) // an error means that the client is gone
}
