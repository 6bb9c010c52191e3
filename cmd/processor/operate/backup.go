package operate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/alecthomas/kong"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"precis/cmd/processor/console"
	"precis/cmd/processor/remote"
	"precis/internal/backup"
	"precis/internal/broker"
	"precis/internal/datadir"
	"precis/internal/processor"
)

// Backup copies the streams into a directory or an object store.
type Backup struct {
	Place
	remote.Flags
	Data string `type:"path" placeholder:"DIR" help:"Data directory of a stopped processor with an embedded server, instead of a server."`
}

// Help shows the command used.
func (Backup) Help() string {
	return `Copies EVENTS, SUMMARIES and REJECTED, with their configuration, sequences and times, up to a point at which the three fit together. The processor may be running. A later run into the same place copies only what is new, and adds a point. An interrupted run leaves the points of before, and the next one goes on from where it stopped.

The place has what agents published: a directory is for its owner alone, an object store for those whom its server lets read it. An object store is made if it is missing. It belongs on another server than the streams; the flags --place-… say who asks there. The user needs the rights of an auditor. The exit status is 1 if the streams have gaps: the backup holds everything else.

Examples:

    processor backup /backup/precis
    processor backup /backup/precis --nats nats://nats.internal:4222 --user auditor
    processor backup /backup/precis --data /var/lib/precis
    processor backup nats://backup.internal:4222/precis --place-creds backup.creds`
}

// Validate is asked by kong.
func (c Backup) Validate(given *kong.Context) error {
	return errors.Join(c.Flags.Validate(given), oneSource(given))
}

// oneSource refuses a data directory and a server at once. A server named by the environment counts as none.
func oneSource(given *kong.Context) error {
	var data, nats bool
	for _, part := range given.Path {
		data = data || part.Flag != nil && part.Flag.Name == "data"
		nats = nats || part.Flag != nil && part.Flag.Name == "nats"
	}
	if data && nats {
		return errors.New("--data and --nats can't be used together")
	}
	return nil
}

// Run backs up.
func (c *Backup) Run(ctx context.Context, a *console.App) error {
	to, leave, err := c.Place.open(a)
	if err != nil {
		return err
	}
	defer leave()
	js, shut, err := c.open(ctx, a)
	if err != nil {
		return err
	}
	defer shut()
	bar := console.NewLogProgress(a, "copying")
	defer bar.Done()
	report, err := backup.Run(ctx, backup.Options{
		JetStream: js, Place: to, Program: console.Version(), Now: time.Now, Progress: seldom(bar.Reached),
	})
	bar.Clear()
	if err != nil {
		return backupError("back up", err)
	}
	c.print(a, to.String(), report)
	if len(report.Missing) > 0 {
		return console.Wrong("the log has gaps: the backup holds what could be read; processor replay says what the gaps affect")
	}
	return nil
}

// open reaches a server, or starts one over a data directory.
func (c *Backup) open(ctx context.Context, a *console.App) (jetstream.JetStream, func(), error) {
	if c.Data == "" {
		s, err := c.Connect(a)
		if err != nil {
			return nil, nil, err
		}
		return s.JS, s.Close, nil
	}
	if _, err := os.Stat(processor.BrokerDir(c.Data)); err != nil {
		return nil, nil, console.Usage("no streams in %s: give the directory that the processor ran with, or its server with --nats", c.Data)
	}
	b, err := openAtRest(ctx, a, processor.BrokerDir(c.Data))
	if err != nil {
		return nil, nil, err
	}
	return b.JetStream(), func() { _ = b.Close(context.WithoutCancel(ctx)) }, nil
}

// openAtRest starts a server over the directory of one that is stopped.
func openAtRest(ctx context.Context, a *console.App, dir string) (*broker.Broker, error) {
	b, err := broker.Open(ctx, broker.Options{StoreDir: dir, Logger: zerolog.New(a.Stderr).Level(zerolog.ErrorLevel)})
	if errors.Is(err, datadir.ErrInUse) {
		return nil, fmt.Errorf("%w: stop the processor, or reach it with --nats", err)
	}
	return b, err
}

// backupError gives an error its exit status: 1 where a backup is not what it should be, 2 where the command names the
// wrong thing.
func backupError(doing string, err error) error {
	for _, of := range []error{backup.ErrNoBackup, backup.ErrOtherLog, backup.ErrNotEmpty, backup.ErrInUse} {
		if errors.Is(err, of) {
			return console.Usage("%s: %w", doing, err)
		}
	}
	for _, of := range []error{backup.ErrPartial, backup.ErrDamaged, backup.ErrFormat, backup.ErrRestored} {
		if errors.Is(err, of) {
			return console.Wrong("%s: %w", doing, err)
		}
	}
	if errors.Is(err, datadir.ErrInUse) || errors.Is(err, os.ErrPermission) || errors.Is(err, context.Canceled) {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return remote.Explain(doing, err)
}

// seldom calls progress for one message in 1,024, and the last: that is enough for the eye.
func seldom(progress func(done, all uint64)) func(done, all uint64) {
	return func(done, all uint64) {
		if done%1024 == 0 || done == all {
			progress(done, all)
		}
	}
}

func (c *Backup) print(a *console.App, place string, r *backup.Report) {
	if c.JSON {
		missing := []string{}
		for _, m := range r.Missing {
			missing = append(missing, m.String())
		}
		a.JSON(struct {
			Dir string `json:"dir"`
			*backup.Report
			Missing []string `json:"missing"`
		}{place, r, missing})
		return
	}
	out := &console.Table{}
	for i, added := range r.Added {
		out.Add(added.Stream, fmt.Sprintf("up to %s: %s copied, %s in all",
			console.Grouped(r.Streams[i].LastSeq), console.Counted(added.Messages, "message"), console.Grouped(added.Total)))
	}
	a.Printf("%s", out)
	for _, m := range r.Missing {
		a.Printf("the log has a gap: %s is deleted or unreadable\n", m)
	}
	a.Printf("Backup of %s in %s.\n", console.Exact(r.At), place)
}
