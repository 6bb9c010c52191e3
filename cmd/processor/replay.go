package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"precis/internal/audit"
	"precis/internal/broker"
	"precis/internal/config"
	"precis/internal/processor"
	"precis/internal/secrets"
	"precis/state"
)

// replayCmd folds the log again and checks every step.
type replayCmd struct {
	logFlags
	Thread  string `placeholder:"ID" help:"Report on one thread; read no other."`
	Agent   string `placeholder:"ID" help:"Report on the threads that this agent started."`
	Only    string `name:"policy-name" placeholder:"NAME" help:"Report on decisions of this policy."`
	From    string `placeholder:"TIME" help:"Report from this time (2026-01-02T15:04:05Z, or a day)."`
	To      string `placeholder:"TIME" help:"Fold up to this time."`
	Policy  string `type:"existingfile" placeholder:"FILE" help:"What if: fold the same log under this configuration too, and compare. Calls and publishes nothing."`
	NoRules bool   `name:"no-rules" help:"Do not recompute summaries by rules: faster, and proves everything but their texts."`
}

// Help shows the command used.
func (replayCmd) Help() string {
	return `Folds EVENTS and SUMMARIES from the start with the code that runs live, and verifies each step: every event is accounted for, every summary by rules is recomputed byte for byte with its sources and their digest, every trigger fired and none was missed under the configuration of that time, every edit was followed by its invalidations, every cost follows from the prices on record, every chain is unbroken. Publishes nothing; the processor may be running. With --data it also compares a store at rest with the log.

Lists discrepancies; the exit status is 1 if there are any.

Examples:

    processor replay
    processor replay --thread demo-1 --json
    processor replay --from 2026-11-01 --to 2026-11-30 --agent support-bot
    processor replay --data /var/lib/precis
    processor replay --policy other.yaml`
}

// Run replays, and ends with status 1 where something is wrong.
func (c *replayCmd) Run(ctx context.Context, a *app) error {
	filter, err := c.filter()
	if err != nil {
		return err
	}
	return c.withLog(ctx, a, func(ctx context.Context, l *logAtHand) error {
		bar := newLogProgress(a, "folding the log")
		defer bar.done()
		o := l.options(bar)
		o.Filter, o.Rules = filter, !c.NoRules
		if c.Policy != "" {
			return c.whatIf(ctx, a, o, bar)
		}
		rep, err := audit.Replay(ctx, o)
		bar.clear()
		if err != nil {
			return err
		}
		return printReplay(a, rep, filter, c.JSON)
	})
}

func (c *replayCmd) filter() (f audit.Filter, err error) {
	f = audit.Filter{Thread: c.Thread, Agent: c.Agent, Policy: c.Only}
	f.From, f.To, err = spanFlags(c.From, c.To)
	return f, err
}

// spanFlags reads --from and --to; what is not given is zero.
func spanFlags(first, last string) (from, to time.Time, err error) {
	if from, err = timeFlag("--from", first); err != nil {
		return from, to, err
	}
	if to, err = timeFlag("--to", last); err != nil {
		return from, to, err
	}
	if !to.IsZero() && from.After(to) {
		return from, to, usage("--from %s is later than --to %s", first, last)
	}
	return from, to, nil
}

// timeFlag reads a time, or a day, which is its first moment.
func timeFlag(name, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, usage("%s %q is not a time; write 2026-01-02T15:04:05Z, or a day: 2026-01-02 (UTC)", name, text)
}

// options of a replay over the log at hand.
func (l *logAtHand) options(bar *progress) audit.Options {
	return audit.Options{
		JetStream: l.js, Scratch: l.scratch, Store: l.store, StoreName: l.storeName, Mask: l.mask,
		Workers: runtime.GOMAXPROCS(0), Now: time.Now, Logger: zerolog.Nop(), Progress: bar.reached,
	}
}

// scratchStore is a store that is thrown away.
func scratchStore() (*state.Store, func() error, error) {
	dir, err := os.MkdirTemp("", "precis-replay-")
	if err != nil {
		return nil, nil, fmt.Errorf("make scratch store: %w", err)
	}
	store, err := state.Open(dir, state.Options{Scratch: true, Logger: zerolog.Nop()})
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	return store, func() error { return errors.Join(store.Close(), os.RemoveAll(dir)) }, nil
}

// storeAtRest opens the store of a data directory to read it.
func storeAtRest(data string) (*state.Store, error) {
	dir := processor.StoreDir(data)
	if _, err := os.Stat(dir); err != nil {
		return nil, usage("--data %s: %w: give the directory that the processor ran with", data, state.ErrMissing)
	}
	return state.Open(dir, state.Options{ReadOnly: true, Logger: zerolog.Nop()})
}

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
