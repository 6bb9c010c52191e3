package operate

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"precis/cmd/processor/console"
	"precis/cmd/processor/remote"
	"precis/events"
	"precis/internal/gateway"
	"precis/internal/loopback"
)

// Gateway passes agents' requests on to their providers.
type Gateway struct {
	remote.Login
	NATS        string `name:"nats" env:"NATS_URL" placeholder:"URL" group:"Server" help:"NATS server of the processor ($$NATS_URL; nats://127.0.0.1:4222)."`
	Listen      string `placeholder:"ADDR" default:"127.0.0.1:8089" help:"Address of the gateway (${default})."`
	Mode        string `enum:"observe,compact" default:"observe" help:"What to do with requests: observe changes nothing, compact sends the thread's prompt with its summaries (${default})."`
	Compactions bool   `help:"In mode compact, answer requests for a compaction (OpenAI's /v1/responses/compact, Anthropic's compaction) in the provider's place."`
	Originals   bool   `help:"In mode compact, add the tool read_original to prompts with summaries: every client of this gateway runs it."`
	OpenAI      string `name:"openai" placeholder:"URL" default:"https://api.openai.com" help:"Base URL of OpenAI's API, with or without the /v1 (${default})."`
	Anthropic   string `placeholder:"URL" default:"https://api.anthropic.com" help:"Base URL of Anthropic's API, with or without the /v1 (${default})."`
	HTTP        string `name:"http" placeholder:"ADDR" help:"Address of /healthz and /metrics. Default: none."`
	Insecure    bool   `help:"Let the gateway and HTTP listen beyond this machine: they have no credentials."`
	LogLevel    string `name:"log-level" enum:"debug,info,warn,error" default:"info" help:"Log level: debug, info, warn or error (${default})."`
	LogFormat   string `name:"log-format" enum:"auto,text,json" default:"auto" help:"Log format: text, json, or auto: text on a terminal (${default})."`
}

// Help shows the command used.
func (Gateway) Help() string {
	return `The gateway stands between agents and their model provider: an agent uses its address as the base URL, and everything else of the agent stays. Requests and answers pass unchanged; what they say is published as events of their thread. A request never waits for precis, and passes where precis or NATS is away. Keys pass and are not kept.

With --mode compact the provider gets the thread's compacted prompt, and where anything is in doubt the request as it came; the answer's header Precis-Compacted says which.

"processor run --gateway ADDR" serves the same inside the processor.

Examples:

    processor gateway
    OPENAI_BASE_URL=http://127.0.0.1:8089/v1 my-agent
    ANTHROPIC_BASE_URL=http://127.0.0.1:8089 claude
    processor gateway --openai http://127.0.0.1:11434 --http 127.0.0.1:9090`
}

// gatewayGrace bounds how long answers under way may take when the gateway stops.
const gatewayGrace = 30 * time.Second

// Run serves until ctx ends.
func (c *Gateway) Run(ctx context.Context, a *console.App) (err error) {
	if err := c.check(); err != nil {
		return err
	}
	log := (&Run{LogLevel: c.LogLevel, LogFormat: c.LogFormat}).logger(a)
	server := remote.Flags{NATS: c.NATS, Login: c.Login}
	if err := remote.CheckAddress(server.URL()); err != nil {
		return err
	}
	// The gateway passes requests on before a server is there.
	conn, err := events.Connect(server.URL(), server.Options()...)
	if err != nil {
		return server.ConnectError(err)
	}
	defer conn.Close()
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", c.Listen)
	if err != nil {
		return console.Unreachable("serve the gateway: %w: free it, or give another --listen", err)
	}
	registry := prometheus.NewRegistry()
	endHTTP, err := c.serveHTTP(ctx, registry)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	g, err := gateway.Start(listener, gateway.Options{
		Logger: log, Conn: conn, Mode: c.Mode, Compactions: c.Compactions, Originals: c.Originals, OpenAI: c.OpenAI, Anthropic: c.Anthropic, Metrics: gateway.NewMetrics(registry),
	})
	if err != nil {
		return errors.Join(console.Unreachable("%w", err), listener.Close(), endHTTP())
	}
	log.Info().Str("listen", listener.Addr().String()).Str("mode", c.Mode).Str("openai", c.OpenAI).Str("anthropic", c.Anthropic).
		Str("nats", server.Shown()).Msg("gateway running")
	<-ctx.Done()
	done, cancel := context.WithTimeout(context.WithoutCancel(ctx), gatewayGrace)
	defer cancel()
	if err := errors.Join(g.Stop(done), endHTTP()); err != nil {
		return console.Unreachable("%w", err)
	}
	return nil
}

// check refuses what the configuration of run refuses as well.
func (c *Gateway) check() error {
	for flag, addr := range map[string]string{"--listen": c.Listen, "--http": c.HTTP} {
		_, _, err := net.SplitHostPort(addr)
		switch {
		case flag == "--http" && addr == "":
		case err != nil:
			return console.Usage("%s: %q is not a listen address; allowed: host:port, such as 127.0.0.1:8089", flag, console.Printable(addr))
		case !loopback.Address(addr) && !c.Insecure:
			return console.Usage("%s: %s is open to other machines, and nothing there has credentials; listen on 127.0.0.1, or allow it with --insecure", flag, console.Printable(addr))
		}
	}
	for flag, set := range map[string]bool{"--compactions": c.Compactions, "--originals": c.Originals} {
		if set && c.Mode != gateway.ModeCompact {
			return console.Usage("%s needs --mode compact: mode %s changes nothing of what passes", flag, c.Mode)
		}
	}
	for flag, base := range map[string]string{"--openai": c.OpenAI, "--anthropic": c.Anthropic} {
		if _, err := gateway.Upstream(base); err != nil {
			return console.Usage("%s: %w", flag, err)
		}
	}
	return nil
}

// serveHTTP answers probes and scrapes; the returned function stops it.
func (c *Gateway) serveHTTP(ctx context.Context, registry *prometheus.Registry) (end func() error, err error) {
	if c.HTTP == "" {
		return func() error { return nil }, nil
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", c.HTTP)
	if err != nil {
		return nil, console.Unreachable("serve HTTP: %w: free it, or give another --http", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	return func() error {
		err := server.Close()
		if serr := <-served; !errors.Is(serr, http.ErrServerClosed) {
			err = errors.Join(err, serr)
		}
		return err
	}, nil
}
