package history

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/alecthomas/kong"
	"github.com/rs/zerolog"

	"precis/cmd/processor/console"
	"precis/cmd/processor/remote"
	"precis/internal/audit"
	"precis/internal/broker"
	"precis/internal/parked"
	"precis/internal/processor"
	"precis/state"
)

// Check checks a store at rest.
type Check struct {
	Data string `default:"./data" type:"path" placeholder:"DIR" help:"The data directory (${default})."`
	NATS string `name:"nats" placeholder:"URL" group:"Server" help:"Server with the log that the store was made from. Default: the log in the data directory, if there is one."`
	remote.Login
	Config string `type:"existingfile" env:"PRECIS_CONFIG" placeholder:"FILE" help:"Configuration of the processor. Its secrets are masked by value, so recomputing a ledger that contains one needs them."`
	JSON   bool   `name:"json" group:"Server" help:"Print JSON."`
}

// Validate is asked by kong. What only a server is asked with may stand in the environment for the other commands, but
// not on the command line, where it would silently have no effect.
func (c Check) Validate(given *kong.Context) error {
	if c.NATS != "" {
		return c.Login.Validate(given)
	}
	for _, part := range given.Path {
		if f := part.Flag; f != nil && f.Group != nil && f.Name != "nats" && f.Name != "json" {
			return fmt.Errorf("--%s requires --nats", f.Name)
		}
	}
	return nil
}

// Help shows the command used.
func (Check) Help() string {
	return `Reads every row of the store and reports inconsistencies. If the log is available, folds it from the start and reports every row that differs. The processor must be stopped.

Examples:

    processor check --data /var/lib/precis
    processor check --data /var/lib/precis --nats nats://nats.internal:4222`
}

// checked is the result.
type checked struct {
	Partitions int    `json:"partitions"`
	Log        string `json:"log"` // what the store was compared with; empty: nothing
	audit.Comparison
	Problems []state.Problem `json:"problems"`
}

// Run checks, and ends with status 1 where something is wrong.
func (c *Check) Run(ctx context.Context, a *console.App) error {
	log := zerolog.New(a.Stderr).Level(zerolog.ErrorLevel)
	if _, err := os.Stat(processor.StoreDir(c.Data)); err != nil {
		return console.Usage("check %s: %w: give the directory that the processor ran with", c.Data, state.ErrMissing)
	}
	store, err := state.Open(processor.StoreDir(c.Data), state.Options{ReadOnly: true, Logger: log})
	if err != nil {
		return err
	}
	res := checked{Comparison: audit.Comparison{EventsFrom: 1, Missing: []string{}}, Problems: []state.Problem{}}
	err = c.check(ctx, a, store, &res, log)
	if err = errors.Join(err, store.Close()); err != nil {
		return err
	}
	return res.print(a, c.JSON)
}

func (c *Check) check(ctx context.Context, a *console.App, store *state.Store, res *checked, log zerolog.Logger) (err error) {
	n, err := store.Partitions()
	if err != nil {
		return err
	}
	res.Partitions = max(n-1, 0)
	report := func(p state.Problem) { res.Problems = append(res.Problems, p) }
	parks := store.Format() != state.Format()
	if !parks { // before anything else: its problems do not depend on a server
		if err := store.Check(n, report); err != nil {
			return err
		}
	}
	b, err := c.broker(ctx, log)
	if err != nil {
		return err
	}
	if b == nil {
		if parks {
			err = checkParked(store, n, report)
		}
		if errors.Is(err, state.ErrParked) {
			err = fmt.Errorf("%w: give the server with --nats", err)
		}
		return err
	}
	defer func() { err = errors.Join(err, b.Close(context.WithoutCancel(ctx))) }()
	if parks {
		store.ReadParked(parked.New(b.JetStream(), nil))
		if err := checkParked(store, n, report); err != nil {
			return err
		}
	}
	res.Log = b.URL()
	if b.Embedded() {
		res.Log = processor.BrokerDir(c.Data)
	}
	return c.compare(ctx, a, store, b, res, report)
}

// checkParked checks a store some of whose rows a server has.
func checkParked(store *state.Store, partitions int, report func(state.Problem)) error {
	err := store.Check(partitions, report)
	if errors.Is(err, state.ErrLost) {
		err = console.Wrong("%w: restore %s; or, if EVENTS has everything from its beginning, move the store (state in the data directory) away, which is made again from the log", err, parked.Stream)
	}
	return err
}

func (c *Check) compare(ctx context.Context, a *console.App, store *state.Store, b *broker.Broker, res *checked, report func(state.Problem)) (err error) {
	mask, err := maskUnder(a, c.Config)
	if err != nil {
		return err
	}
	scratch, drop, err := scratchStore()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, drop()) }()
	bar := console.NewLogProgress(a, "folding the log")
	defer bar.Done()
	res.Comparison, err = audit.Compare(ctx, audit.Options{
		JetStream: b.JetStream(), Scratch: scratch, Store: store, Mask: mask, Now: time.Now, Logger: zerolog.Nop(), Progress: bar.Reached,
	}, report)
	return err
}

// broker opens the log: a server's, or the one in the data directory; nil where there is none.
func (c *Check) broker(ctx context.Context, log zerolog.Logger) (*broker.Broker, error) {
	if c.NATS != "" {
		if err := remote.CheckAddress(c.NATS); err != nil {
			return nil, err
		}
		return broker.Open(ctx, broker.Options{
			URL: c.NATS, Creds: c.Creds, User: c.User, Password: c.Password, Token: c.Token,
			TLS: broker.TLS{CA: c.TLSCA, Cert: c.TLSCert, Key: c.TLSKey}, Logger: log,
		})
	}
	dir := processor.BrokerDir(c.Data)
	if _, err := os.Stat(dir); err != nil {
		return nil, nil
	}
	return broker.Open(ctx, broker.Options{StoreDir: dir, Logger: log})
}

func (r checked) print(a *console.App, asJSON bool) error {
	if asJSON {
		a.JSON(r)
	} else {
		for _, p := range r.Problems {
			want, got := console.Differing(p.Want, p.Got, 120)
			a.Printf("partition %d  thread %q  %s: want %s, got %s\n", p.Partition, p.Thread, console.Printable(p.Check), want, got)
		}
		compared := "not compared with a log"
		if r.Log != "" {
			compared = "compared with the log in " + r.Log
		}
		if r.EventsFrom > 1 {
			a.Printf("EVENTS begins at %s: %s began before that, not compared with it\n", console.Grouped(r.EventsFrom), console.Counted(r.ThreadsCut, "thread"))
		}
		if r.RecordsVoid > 0 {
			a.Printf("%s void: they depend on events whose loss was accepted\n", console.Counted(int64(r.RecordsVoid), "record"))
		}
		if r.LedgersSkipped > 0 {
			a.Printf("%s not compared: made by other rules, or from messages that are gone\n", console.Counted(r.LedgersSkipped, "ledger"))
		}
		for _, m := range r.Missing {
			a.Printf("the log has a gap: %s is deleted or unreadable\n", m)
		}
		a.Printf("checked %s, %s: %s\n", console.Counted(r.Partitions, "partition"), compared, console.Counted(len(r.Problems), "problem"))
	}
	if len(r.Missing) > 0 { // what differs may follow from that, and a store made again would be no better
		return console.Wrong("the log is damaged: restore it from a backup if there is one; the store may be correct")
	}
	if len(r.Problems) > 0 {
		return console.Wrong("%s", r.advice())
	}
	return nil
}

// advice is what to do about a store with problems. One that differs from the log may be right, and the log not.
func (r checked) advice() string {
	if r.Log == "" {
		return "the store is damaged: " + console.MoveAway
	}
	return "the store is damaged, or the log was tampered with: run processor replay first, and if it finds no discrepancy, " + console.MoveAway
}
