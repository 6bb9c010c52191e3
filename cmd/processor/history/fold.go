package history

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"precis/cmd/processor/console"
	"precis/cmd/processor/remote"
	"precis/internal/audit"
	"precis/internal/broker"
	"precis/internal/config"
	"precis/internal/processor"
	"precis/internal/secrets"
	"precis/state"
)

// options of a replay over the log at hand.
func (l *logAtHand) options(bar *console.Progress) audit.Options {
	return audit.Options{
		JetStream: l.js, Scratch: l.scratch, Store: l.store, StoreName: l.storeName, Mask: l.mask,
		Workers: runtime.GOMAXPROCS(0), Now: time.Now, Logger: zerolog.Nop(), Progress: bar.Reached,
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
		return nil, console.Usage("--data %s: %w: give the directory that the processor ran with", data, state.ErrMissing)
	}
	return state.Open(dir, state.Options{ReadOnly: true, Logger: zerolog.Nop()})
}

// logFlags are the flags of the commands that fold the log: a server's, or a data directory's own.
type logFlags struct {
	remote.Flags
	Data   string `type:"path" placeholder:"DIR" help:"Data directory of a stopped processor: compare its store with the log, which is its own unless --nats names a server."`
	Config string `type:"existingfile" env:"PRECIS_CONFIG" placeholder:"FILE" help:"Configuration of the processor. Its secrets are masked by value, so recomputing a text that contains one needs them."`
}

// logAtHand is an opened log with a scratch store to fold it into.
type logAtHand struct {
	js        jetstream.JetStream
	scratch   *state.Store
	store     *state.Store // nil if none is compared with the log
	storeName string
	mask      func(string) string
}

// withLog opens what the flags name, does the work and closes it. withoutStore says what the work is then.
func (f logFlags) withLog(ctx context.Context, a *console.App, withoutStore string, work func(context.Context, *logAtHand) error) (err error) {
	l := &logAtHand{}
	if l.mask, err = maskUnder(a, f.Config); err != nil {
		return err
	}
	if f.Data != "" {
		l.store, err = storeAtRest(f.Data)
		switch _, noLog := os.Stat(processor.BrokerDir(f.Data)); {
		case err == nil:
			l.storeName = f.Data
			defer func() { err = errors.Join(err, l.store.Close()) }()
		case errors.Is(err, state.ErrMissing) && noLog == nil && f.NATS == "": // streams that were just restored
			a.Note("No store in %s: %s", f.Data, withoutStore)
		default:
			return err
		}
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
func maskUnder(a *console.App, file string) (func(string) string, error) {
	masker, err := secrets.Load()
	if err != nil {
		return nil, fmt.Errorf("load rules for secrets: %w", err)
	}
	if file == "" {
		return masker.Mask, nil
	}
	cfg, err := config.LoadWithoutSecrets(config.Sources{File: file, Env: a.Env})
	if err != nil {
		return nil, &console.ExitError{Status: console.ExitUsage, Err: err}
	}
	values, err := cfg.Secrets()
	if err != nil {
		return nil, err
	}
	return masker.With(values...).Mask, nil
}

// open reaches the server, or starts one over the data directory's own log.
func (f logFlags) open(ctx context.Context, a *console.App) (jetstream.JetStream, func(), error) {
	dir := processor.BrokerDir(f.Data)
	if _, err := os.Stat(dir); f.Data == "" || f.NATS != "" || err != nil {
		s, err := f.Connect(a)
		if err != nil {
			return nil, nil, err
		}
		return s.JS, s.Close, nil
	}
	b, err := broker.Open(ctx, broker.Options{StoreDir: dir, Logger: zerolog.New(a.Stderr).Level(zerolog.ErrorLevel)})
	if err != nil {
		return nil, nil, err
	}
	return b.JetStream(), func() { _ = b.Close(context.WithoutCancel(ctx)) }, nil
}

// logError explains what a fold met at the server.
func logError(err error) error {
	var exit *console.ExitError
	if err == nil || errors.As(err, &exit) || console.Status(err) != console.ExitUnreachable {
		return err
	}
	return remote.Explain("fold the log", err)
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
		return from, to, console.Usage("--from %s is later than --to %s", first, last)
	}
	return from, to, nil
}

// timeFlag reads a time, or a day, which is its first moment.
func timeFlag(name, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if t, ok := console.ParseTime(text); ok {
		return t, nil
	}
	return time.Time{}, console.Usage("%s %q is not a time; write 2026-01-02T15:04:05Z, or a day: 2026-01-02 (UTC)", name, text)
}

// asked is what a filter names, in words.
func asked(f audit.Filter) string {
	var parts []string
	for _, p := range [][2]string{{"thread %q", f.Thread}, {"thread started by agent %q", f.Agent}, {"decision of policy %q", f.Policy}} {
		if p[1] != "" {
			parts = append(parts, fmt.Sprintf(p[0], p[1]))
		}
	}
	text := strings.Join(parts, ", ")
	if !f.To.IsZero() {
		text += " up to " + console.Time(f.To)
	}
	return text
}
