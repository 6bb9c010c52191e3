package operate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/alecthomas/kong"
	"github.com/rs/zerolog"

	"precis/cmd/processor/console"
	"precis/cmd/processor/remote"
	"precis/internal/backup"
	"precis/internal/broker"
	"precis/internal/datadir"
	"precis/internal/processor"
	"precis/state"
)

// Restore makes the streams of a backup anew.
type Restore struct {
	Place
	remote.Flags
	Data      string `type:"path" placeholder:"DIR" help:"Data directory of a stopped processor, or of a new one: restore there, instead of on a server."`
	At        string `placeholder:"TIME" help:"Restore the last point at this time or before it (2026-01-02T15:04:05Z). Default: the last one."`
	AllEvents bool   `name:"all-events" help:"With --at: restore EVENTS up to the last point of the backup. What was decided after --at is decided again."`
	Overwrite bool   `help:"Replace streams that hold messages: in a data directory they are renamed, with the store; on a server they are deleted."`
	Replicas  int    `placeholder:"N" help:"Replicas of the streams on a server. Default: as in the backup."`
	DryRun    bool   `name:"dry-run" help:"Verify the backup and print its point; restore nothing."`
}

// Help shows the command used.
func (Restore) Help() string {
	return `Verifies the files of a backup, and then makes the three streams anew, with the sequences and times that they had. Refuses streams that hold messages without --overwrite.

With --data the streams are made beside the present ones and take their place when all are there: an interrupted run changes nothing. On a server an interrupted run leaves streams that are not complete; run it again with --overwrite. Stop every processor of the streams first.

The store (state in the data directory) is not part of a backup: the next start rebuilds it from the streams. A store that was made from the streams of before does not go with restored ones, and a start refuses it; with --data it is renamed. The user needs the right to delete and to restore streams.

Examples:

    processor restore /backup/precis --data /var/lib/precis
    processor restore /backup/precis --data /var/lib/precis --overwrite --at 2026-11-25T03:00:00Z
    processor restore /backup/precis --nats nats://nats.internal:4222 --user admin
    processor restore nats://backup.internal:4222/precis --data /var/lib/precis`
}

// restored is the result.
type restored struct {
	Dir string `json:"dir"`
	backup.Point
	Messages map[string]uint64 `json:"messages"` // by stream
	Restored bool              `json:"restored"` // false after a dry run
	Renamed  []string          `json:"renamed"`  // what was there before, under its new names
}

// Validate is asked by kong.
func (c Restore) Validate(given *kong.Context) error {
	switch {
	case c.AllEvents && c.At == "":
		return errors.New("--all-events requires --at")
	case c.Replicas < 0:
		return errors.New("--replicas is less than 0")
	case c.Replicas > 0 && c.Data != "":
		return errors.New("--replicas is for a server: a data directory has one")
	}
	return errors.Join(c.Flags.Validate(given), oneSource(given))
}

// Run verifies and restores.
func (c *Restore) Run(ctx context.Context, a *console.App) error {
	at, err := c.at()
	if err != nil {
		return err
	}
	from, leave, err := c.Place.open(a)
	if err != nil {
		return err
	}
	defer leave()
	b, err := backup.Open(ctx, from, at)
	if err != nil {
		return backupError("restore", err)
	}
	if c.AllEvents {
		b.WithAllEvents()
	}
	res := restored{Dir: from.String(), Point: b.Point, Messages: map[string]uint64{}, Renamed: []string{}}
	for _, cut := range b.Streams {
		res.Messages[cut.Stream] = b.Messages(cut.Stream)
	}
	bar := console.NewLogProgress(a, "verifying")
	err = b.Verify(ctx, seldom(bar.Reached))
	bar.Done()
	if err == nil && !c.DryRun {
		res.Restored = true
		res.Renamed, err = c.restore(ctx, a, b)
	}
	if err != nil {
		return backupError("restore", err)
	}
	c.print(a, res)
	return nil
}

func (c *Restore) at() (t time.Time, err error) {
	if c.At == "" {
		return t, nil
	}
	t, ok := console.ParseTime(c.At)
	if !ok {
		return t, console.Usage("--at %q is not a time; write 2026-01-02T15:04:05Z", c.At)
	}
	return t, nil
}

func (c *Restore) restore(ctx context.Context, a *console.App, b *backup.Backup) (renamed []string, err error) {
	bar := console.NewLogProgress(a, "restoring")
	defer bar.Done()
	t := backup.Target{Overwrite: c.Overwrite, Replicas: c.Replicas, Progress: seldom(bar.Reached)}
	if c.Data != "" {
		return c.intoData(ctx, a, b, t)
	}
	s, err := c.Connect(a)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	t.JetStream = s.JS
	if err := backup.Check(ctx, t); err != nil {
		return nil, overwritable(err)
	}
	return []string{}, b.Restore(ctx, t)
}

func overwritable(err error) error {
	if errors.Is(err, backup.ErrNotEmpty) {
		return fmt.Errorf("%w: --overwrite replaces it", err)
	}
	return err
}

// intoData restores beside what a data directory has, and then puts the new streams in its place.
func (c *Restore) intoData(ctx context.Context, a *console.App, b *backup.Backup, t backup.Target) (renamed []string, err error) {
	nats, store, staged := processor.BrokerDir(c.Data), processor.StoreDir(c.Data), processor.BrokerDir(c.Data)+".restoring"
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		return nil, err
	}
	unlock, err := datadir.Lock(filepath.Join(c.Data, "restore.lock"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, datadir.Entrust(c.Data)); unlock() }()
	if err := c.free(ctx, a, nats, t); err != nil {
		return nil, err
	}
	if _, err := os.Stat(store); err == nil && !c.Overwrite {
		return nil, fmt.Errorf("%w: %s is the store of other streams: --overwrite renames it, and the next start makes a new one", backup.ErrNotEmpty, store)
	}
	if err := os.RemoveAll(staged); err != nil { // of an interrupted run
		return nil, err
	}
	empty, leave, err := keepOut(nats, store)
	if err != nil {
		return nil, err
	}
	defer leave()
	err = stage(ctx, a, b, t, staged)
	if empty {
		err = errors.Join(err, os.RemoveAll(nats))
	}
	if err != nil {
		return nil, err
	}
	renamed = []string{}
	now := time.Now().UTC().Format("20060102T150405Z")
	for _, dir := range []string{store, nats} {
		aside := dir + "-before-" + now
		switch err := os.Rename(dir, aside); {
		case err == nil:
			renamed = append(renamed, aside)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
	}
	return renamed, errors.Join(os.Rename(staged, nats), sync(c.Data))
}

// free verifies that nothing uses the streams of a data directory, and that they may be replaced. Streams that can't be opened are
// worth a restore.
func (c *Restore) free(ctx context.Context, a *console.App, nats string, t backup.Target) error {
	if _, err := os.Stat(nats); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	old, err := openAtRest(ctx, a, nats)
	switch {
	case errors.Is(err, datadir.ErrInUse):
		return err
	case err != nil && c.Overwrite:
		a.Note("processor: the streams in %s can't be opened and are renamed: %v", nats, err)
		return nil
	case err != nil:
		return fmt.Errorf("%w: %s can't be opened (%w): --overwrite renames it", backup.ErrNotEmpty, nats, err)
	}
	t.JetStream = old.JetStream()
	err = overwritable(backup.Check(ctx, t))
	return errors.Join(err, old.Close(context.WithoutCancel(ctx)))
}

// keepOut keeps processors and servers from starting on the directories until leave is called: they would go on in what is renamed. empty: that of the
// streams has none, as this call has created it, or an interrupted run.
func keepOut(nats, store string) (empty bool, leave func(), err error) {
	streams, err := broker.LockStreams(nats)
	if err != nil {
		return false, nil, err
	}
	empty, err = broker.NoStreams(nats)
	if err != nil {
		streams()
		return false, nil, err
	}
	rows, err := state.Lock(store)
	if err != nil {
		streams()
		return false, nil, err
	}
	return empty, func() { rows(); streams() }, nil
}

// stage restores the streams in a directory of their own, and makes them durable.
func stage(ctx context.Context, a *console.App, b *backup.Backup, t backup.Target, dir string) error {
	// Syncing once at the end is faster, and nothing counts before that.
	server, err := broker.Open(ctx, broker.Options{StoreDir: dir, Sync: "1h", Logger: zerolog.New(a.Stderr).Level(zerolog.ErrorLevel)})
	if err != nil {
		return err
	}
	t.JetStream, t.Replicas = server.JetStream(), 1
	err = b.Restore(ctx, t)
	if err = errors.Join(err, server.Close(context.WithoutCancel(ctx))); err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return sync(path)
	})
}

// sync makes a file, or the names in a directory, durable.
func sync(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func (c *Restore) print(a *console.App, r restored) {
	if c.JSON {
		a.JSON(r)
		return
	}
	out := &console.Table{}
	for _, cut := range r.Streams {
		out.Add(cut.Stream, fmt.Sprintf("%s, up to %s", console.Counted(r.Messages[cut.Stream], "message"), console.Grouped(cut.LastSeq)))
	}
	a.Printf("%s", out)
	point := console.Exact(r.At)
	if !r.Restored {
		a.Printf("The backup of %s is complete. It was not restored.\n", point)
		return
	}
	for _, name := range r.Renamed {
		a.Printf("What was there before is in %s.\n", name)
	}
	if c.Data != "" {
		a.Printf("Restored the streams of %s. Start the processor: it makes the store from them.\n", point)
		return
	}
	a.Printf("Restored the streams of %s. Move the store (state in the data directory) of every processor of these streams away, then start it.\n", point)
}
