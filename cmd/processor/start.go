package main

import (
	"context"
	"os"

	"github.com/rs/zerolog"

	"precis/internal/config"
	"precis/internal/processor"
)

// starting is how a processor is started.
type starting struct {
	checkOnly bool
	log       zerolog.Logger
	// reload is told when the configuration is to be read again, with load.
	reload <-chan os.Signal
	load   func() (*config.Config, error)
}

// start runs the processor until ctx ends.
func start(ctx context.Context, _ *app, cfg *config.Config, s starting) error {
	log := s.log
	opts := processor.Options{
		Config: cfg, CheckOnly: s.checkOnly, Version: version(), Logger: log, Reload: s.reload, Load: s.load,
		Fatal: func(string) { os.Exit(exitUnreachable) }, //nolint:forbidigo // a store that lost a write may not return to anybody
	}
	return processor.Serve(ctx, opts, func(p *processor.Processor) {
		log.Info().Str("nats", p.Broker().URL()).Bool("embedded", p.Broker().Embedded()).
			Str("http", cfg.HTTP.Listen).Str("data", cfg.DataDir).Msg("running")
	})
}
