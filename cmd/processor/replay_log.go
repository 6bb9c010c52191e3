package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"precis/internal/broker"
	"precis/internal/config"
	"precis/internal/processor"
	"precis/internal/secrets"
	"precis/state"
)

// logFlags are the flags of the commands that fold the log: a server's, or a data directory's own.
type logFlags struct {
	serverFlags
	Data   string `type:"path" placeholder:"DIR" help:"Data directory of a stopped processor: compare its store with the log, which is its own unless --nats names a server."`
	Config string `type:"existingfile" env:"PRECIS_CONFIG" placeholder:"FILE" help:"Configuration of the processor. Its secrets are masked by value, so recomputing a text that contains one needs them."`
}

// logAtHand is an opened log with a scratch store to fold it into.
type logAtHand struct {
	js        jetstream.JetStream
	scratch   *state.Store
	store     *state.Store // nil where none is held against the log
	storeName string
	mask      func(string) string
}

// withLog opens what the flags name, does the work and closes it.
func (f logFlags) withLog(ctx context.Context, a *app, work func(context.Context, *logAtHand) error) (err error) {
	l := &logAtHand{storeName: f.Data}
	if l.mask, err = maskUnder(a, f.Config); err != nil {
		return err
	}
	if f.Data != "" {
		if l.store, err = storeAtRest(f.Data); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, l.store.Close()) }()
	}
	js, closeLog, err := f.open(ctx, a)
	if err != nil {
		return err
	}
	defer closeLog()
	scratch, drop, err := scratchStore()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, drop()) }()
	l.js, l.scratch = js, scratch
	return logError(work(ctx, l))
}

// maskUnder takes secrets out of texts as a processor does under the configuration in a file; empty: under none.
func maskUnder(a *app, file string) (func(string) string, error) {
	masker, err := secrets.Load()
	if err != nil {
		return nil, fmt.Errorf("load rules for secrets: %w", err)
	}
	if file == "" {
		return masker.Mask, nil
	}
	cfg, err := config.LoadWithoutSecrets(config.Sources{File: file, Env: a.env})
	if err != nil {
		return nil, &exitError{status: exitUsage, err: err}
	}
	values, err := cfg.Secrets()
	if err != nil {
		return nil, err
	}
	return masker.With(values...).Mask, nil
}

// open reaches the server, or starts one over the data directory's own log.
func (f logFlags) open(ctx context.Context, a *app) (jetstream.JetStream, func(), error) {
	dir := processor.BrokerDir(f.Data)
	if _, err := os.Stat(dir); f.Data == "" || f.NATS != "" || err != nil {
		s, err := f.connect(a)
		if err != nil {
			return nil, nil, err
		}
		return s.js, s.close, nil
	}
	b, err := broker.Open(ctx, broker.Options{StoreDir: dir, Logger: zerolog.New(a.stderr).Level(zerolog.ErrorLevel)})
	if err != nil {
		return nil, nil, err
	}
	return b.JetStream(), func() { _ = b.Close(context.WithoutCancel(ctx)) }, nil
}

// logError explains what a fold met at the server.
func logError(err error) error {
	var exit *exitError
	if err == nil || errors.As(err, &exit) || statusOf(err) != exitUnreachable {
		return err
	}
	return serverError("fold the log", err)
}
