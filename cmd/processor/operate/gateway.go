package operate

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rs/zerolog"

	"precis/cmd/processor/console"
	"precis/cmd/processor/remote"
	"precis/events"
	"precis/internal/config"
	"precis/internal/gateway"
	"precis/internal/loopback"
)

// Gateway passes agents' requests on to their providers.
type Gateway struct {
	remote.Login
	NATS        string  `name:"nats" env:"NATS_URL,PRECIS_NATS_URL" placeholder:"URL" group:"Server" help:"NATS server of the processor ($$NATS_URL, $$PRECIS_NATS_URL; nats://127.0.0.1:4222)."`
	Listen      *string `placeholder:"ADDR" help:"Address of the gateway ($$PRECIS_GATEWAY_LISTEN; 127.0.0.1:8089)."`
	Mode        *string `enum:"observe,compact" placeholder:"MODE" help:"What to do with requests: observe changes nothing, compact sends the thread's prompt with its summaries ($$PRECIS_GATEWAY_MODE; observe)."`
	Compactions *bool   `help:"In mode compact, answer requests for a compaction (OpenAI's /v1/responses/compact, Anthropic's compaction) in the provider's place ($$PRECIS_GATEWAY_COMPACTIONS)."`
	Originals   *bool   `help:"In mode compact, add the tool read_original to prompts with summaries: every client of this gateway runs it ($$PRECIS_GATEWAY_ORIGINALS)."`
	OpenAI      *string `name:"openai" placeholder:"URL" help:"Base URL of OpenAI's API, with or without the /v1 ($$PRECIS_GATEWAY_OPENAI; https://api.openai.com)."`
	Anthropic   *string `placeholder:"URL" help:"Base URL of Anthropic's API, with or without the /v1 ($$PRECIS_GATEWAY_ANTHROPIC; https://api.anthropic.com)."`
	HTTP        string  `name:"http" placeholder:"ADDR" help:"Address of /healthz and /metrics. Default: none."`
	Insecure    *bool   `help:"Let the gateway and HTTP listen beyond this machine: they have no credentials ($$PRECIS_GATEWAY_INSECURE)."`
	LogLevel    string  `name:"log-level" enum:"debug,info,warn,error" default:"info" help:"Log level: debug, info, warn or error (${default})."`
	LogFormat   string  `name:"log-format" enum:"auto,text,json" default:"auto" help:"Log format: text, json, or auto: text on a terminal (${default})."`
}

// Help shows the command used.
func (Gateway) Help() string {
	return `The gateway stands between agents and their model provider: an agent uses its address as the base URL, and everything else of the agent stays. Requests and answers pass unchanged; what they say is published as events of their thread. A request never waits for precis, and passes where precis or NATS is away. Keys pass and are not kept.

With --mode compact the provider gets the thread's compacted prompt, and where anything is in doubt the request as it came; the answer's header Precis-Compacted says which.

"processor run --gateway ADDR" serves the same inside the processor. Both take the settings gateway.* from the environment and from the file that PRECIS_CONFIG names; a flag overrides a variable, and a variable the file. The first line of the log says what is in force.

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
	set, err := c.settings(a)
	if err != nil {
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
	listener, err := lc.Listen(ctx, "tcp", set.Listen)
	if err != nil {
		return console.Unreachable("serve the gateway: %w: free it, or give another --listen", err)
	}
	registry := prometheus.NewRegistry()
	endHTTP, err := c.serveHTTP(ctx, registry)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	g, err := gateway.Start(listener, gateway.Options{
		Logger: log, Conn: conn, Mode: set.Mode, Compactions: set.Compactions, Originals: set.Originals, OpenAI: set.OpenAI, Anthropic: set.Anthropic, Metrics: gateway.NewMetrics(registry),
	})
	if err != nil {
		return errors.Join(console.Unreachable("%w", err), listener.Close(), endHTTP())
	}
	log.Info().Str("listen", listener.Addr().String()).Func(inForce(set)).Str("nats", server.Shown()).Msg("gateway running")
	<-ctx.Done()
	done, cancel := context.WithTimeout(context.WithoutCancel(ctx), gatewayGrace)
	defer cancel()
	if err := errors.Join(g.Stop(done), endHTTP()); err != nil {
		return console.Unreachable("%w", err)
	}
	return nil
}

// gatewayListen is where the gateway listens by default; inside the processor there is none.
const gatewayListen = "127.0.0.1:8089"

// settings are the gateway's part of the configuration: what an agent sends has to go to the provider that "processor run" would
// send it to under the same environment.
func (c *Gateway) settings(a *console.App) (set config.Gateway, err error) {
	src := config.Sources{File: a.Getenv(config.ConfigFileVariable), Env: gatewayVariables(a.Env), Flags: map[string]string{}}
	for key, value := range map[string]*string{"listen": c.Listen, "mode": c.Mode, "openai": c.OpenAI, "anthropic": c.Anthropic} {
		if value != nil {
			src.Flags["gateway."+key] = *value
		}
	}
	for key, value := range map[string]*bool{"compactions": c.Compactions, "originals": c.Originals, "insecure": c.Insecure} {
		if value != nil {
			src.Flags["gateway."+key] = strconv.FormatBool(*value)
		}
	}
	src.FlagNames = map[string]string{}
	for key := range src.Flags {
		src.FlagNames[key] = "--" + strings.TrimPrefix(key, "gateway.")
	}
	if set, err = config.LoadGateway(src); err != nil {
		return set, &console.ExitError{Status: console.ExitUsage, Err: err}
	}
	if set.Listen == "" && c.Listen == nil {
		set.Listen = gatewayListen
	}
	return set, c.check(set)
}

// gatewayVariables selects the variables that set the gateway: those of a processor on the same machine are not its own.
func gatewayVariables(env []string) (own []string) {
	for _, entry := range env {
		if strings.HasPrefix(entry, config.Variable("gateway.")) {
			own = append(own, entry)
		}
	}
	return own
}

// check refuses what the configuration has no rule for.
func (c *Gateway) check(set config.Gateway) error {
	if set.Listen == "" {
		return console.Usage("--listen: \"\" is not a listen address; allowed: host:port, such as %s", gatewayListen)
	}
	if c.HTTP == "" {
		return nil
	}
	if _, _, err := net.SplitHostPort(c.HTTP); err != nil {
		return console.Usage("--http: %q is not a listen address; allowed: host:port, such as 127.0.0.1:9090", console.Printable(c.HTTP))
	}
	if !loopback.Address(c.HTTP) && !set.Insecure {
		return console.Usage("--http: %s is open to other machines, and nothing there has credentials; listen on 127.0.0.1, or allow it with --insecure", console.Printable(c.HTTP))
	}
	return nil
}

// inForce adds to a log line where requests go, and what becomes of them.
func inForce(g config.Gateway) func(*zerolog.Event) {
	return func(e *zerolog.Event) {
		e.Str("mode", g.Mode).Str("openai", g.OpenAI).Str("anthropic", g.Anthropic)
		if g.Mode == gateway.ModeCompact {
			e.Bool("compactions", g.Compactions).Bool("originals", g.Originals)
		}
	}
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
