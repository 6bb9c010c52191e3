package operate

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"precis/cmd/processor/console"
	"precis/internal/config"
	"precis/internal/processor"
	"precis/internal/tracing"
)

// Run runs the processor until it is stopped.
type Run struct {
	configFlags
	NoProvision bool   `name:"no-provision" help:"Check the streams; do not create missing ones. Without a cluster.name, the processor is alone."`
	LogLevel    string `name:"log-level" enum:"debug,info,warn,error" default:"info" help:"Log level: debug, info, warn or error (${default})."`
	LogFormat   string `name:"log-format" enum:"auto,text,json" default:"auto" help:"Log format: text, json, or auto: text on a terminal (${default})."`
}

// Help shows the command used.
func (Run) Help() string {
	return `Without --nats, a NATS server runs inside the process and keeps its log in the data directory; nothing else is needed. NATS_URL is for the other commands and has no effect on run.

A setting without a flag is a key of the configuration file and a variable: gateway.mode is PRECIS_GATEWAY_MODE. Those of the gateway are PRECIS_GATEWAY_MODE, _COMPACTIONS, _ORIGINALS, _OPENAI and _ANTHROPIC. "processor config" prints all keys with their values.

Several processors on the same servers share the partitions: start another one, with a data directory of its own, and it takes its part; stop or kill one, and the others take what it had.

Examples:

    processor run
    PRECIS_GATEWAY_MODE=compact processor run --gateway 127.0.0.1:8089
    processor run --config precis.yaml --nats nats://nats.internal:4222 --data /var/lib/precis`
}

// Run loads the configuration, and leaves the rest to start.
func (c *Run) Run(ctx context.Context, a *console.App) error {
	cfg, err := c.shared(a)
	if err != nil {
		return err
	}
	log := c.logger(a)
	reload := make(chan os.Signal, 1)
	signal.Notify(reload, syscall.SIGHUP)
	defer signal.Stop(reload)
	return start(ctx, a, cfg, starting{
		checkOnly: c.NoProvision, log: log, reload: reload, load: func() (*config.Config, error) { return c.shared(a) },
	})
}

// shared loads the configuration. Processors on external servers share the partitions, if one may make what that needs.
func (c *Run) shared(a *console.App) (*config.Config, error) {
	cfg, err := c.load(a)
	if err == nil && cfg.Cluster.Name == "" && cfg.NATS.URL != "" && !c.NoProvision {
		cfg.Cluster.Name = config.DefaultCluster
	}
	return cfg, err
}

// printableEntry takes out of a log line what could act on a terminal: the colours are put around it later.
func printableEntry(entry map[string]any) error {
	for name, value := range entry {
		switch value := value.(type) {
		case string:
			entry[name] = console.Printable(value)
		case []any:
			for i := range value {
				if text, ok := value[i].(string); ok {
					value[i] = console.Printable(text)
				}
			}
		}
	}
	return nil
}

// logger writes to standard error: text for people, JSON for collectors.
func (c *Run) logger(a *console.App) zerolog.Logger {
	level, err := zerolog.ParseLevel(c.LogLevel)
	if err != nil {
		panic(fmt.Sprintf("the log levels are broken: %v", err))
	}
	out := a.Stderr
	if c.LogFormat == "text" || (c.LogFormat == "auto" && a.Watched) {
		out = zerolog.ConsoleWriter{Out: a.Terminal, TimeFormat: time.TimeOnly, NoColor: !a.Watched, FormatPrepare: printableEntry}
	}
	return zerolog.New(out).Level(level).With().Timestamp().Logger()
}

// starting is how a processor is started.
type starting struct {
	checkOnly bool
	log       zerolog.Logger
	// reload receives a signal when the configuration is to be read again, with load.
	reload <-chan os.Signal
	load   func() (*config.Config, error)
}

// tracesFor is how long the end waits for a collector.
const tracesFor = 5 * time.Second

// start runs the processor until ctx ends.
func start(ctx context.Context, _ *console.App, cfg *config.Config, s starting) (err error) {
	log := s.log
	tracer, err := tracing.Open(ctx, os.Getenv, console.Version(), log)
	if err != nil {
		return fmt.Errorf("%w: %w", config.ErrInvalid, err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tracesFor)
		defer cancel()
		if err := tracer.Close(ctx); err != nil {
			log.Warn().Err(err).Msg("traces")
		}
	}()
	opts := processor.Options{
		Tracer: tracer,
		Config: cfg, CheckOnly: s.checkOnly, Version: console.Version(), Logger: log, Reload: s.reload, Load: s.load,
		Fatal: func(string) { os.Exit(console.ExitUnreachable) }, //nolint:forbidigo // a store that lost a write may not return to anybody
	}
	return untilStopped(ctx, log, func() error {
		return processor.Serve(ctx, opts, func(p *processor.Processor) {
			line := log.Info().Str("nats", p.Broker().URL()).Bool("embedded", p.Broker().Embedded()).
				Str("http", cfg.HTTP.Listen).Str("api", cfg.API.Listen).Str("gateway", cfg.Gateway.Listen)
			if cfg.Gateway.Listen != "" {
				line.Func(inForce(cfg.Gateway))
			}
			line.Str("data", cfg.DataDir).Msg("running")
		})
	})
}

// untilStopped logs that ctx ends, with the signal that ended it, and that serve has ended in order then: a log that breaks off is
// a process that was killed.
func untilStopped(ctx context.Context, log zerolog.Logger, serve func() error) error {
	told := make(chan struct{})
	forget := context.AfterFunc(ctx, func() {
		defer close(told)
		log.Info().Str("cause", context.Cause(ctx).Error()).Msg("stopping")
	})
	err := serve()
	if forget() {
		return err // it ended by itself
	}
	<-told
	if err == nil {
		log.Info().Msg("stopped")
	}
	return err
}
