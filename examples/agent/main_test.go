package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"precis/internal/config"
	"precis/internal/processor"
)

// The unmodified session works against a real processor.
func TestSession(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	cfg := config.Default()
	cfg.DataDir, cfg.NATS.Listen, cfg.HTTP.Listen, cfg.API.Listen = t.TempDir(), "127.0.0.1:0", "", ""
	serving, url := make(chan error, 1), make(chan string, 1)
	go func() {
		serving <- processor.Serve(ctx, processor.Options{Config: cfg, Logger: zerolog.Nop()}, func(p *processor.Processor) { url <- p.Broker().URL() })
	}()
	var out strings.Builder
	select {
	case err := <-serving:
		t.Fatal(err)
	case at := <-url:
		if err := run(ctx, at, "a session", &out); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"TestCartTotal", "is stale (source_edited)", "Its successor, version 2, is sum_"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	stop()
	if err := <-serving; err != nil {
		t.Error(err)
	}
}
