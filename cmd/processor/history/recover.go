package history

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"precis/cmd/processor/console"
	"precis/cmd/processor/remote"
	"precis/internal/audit"
	"precis/internal/parked"
	"precis/internal/processor"
	"precis/internal/recovery"
	"precis/state"
)

// Recover goes on from an EVENTS that has lost what was applied.
type Recover struct {
	remote.Flags
	Data       string `type:"path" placeholder:"DIR" help:"The data directory of a stopped processor. Its store shows more of the loss; its log is used unless --nats names a server."`
	AcceptLoss bool   `name:"accept-loss" help:"Record the loss and rename the store; the next start rebuilds it from the log."`
}

// Help shows the command used.
func (Recover) Help() string {
	return `For an EVENTS stream that was restored from an older backup, rolled back, or truncated, when no newer backup exists. Reports the last applied event that EVENTS still holds, and the records in SUMMARIES that depend on lost events. Writes nothing without --accept-loss.

--accept-loss publishes a config.applied per partition that records the loss. Records that depend on lost events are void from then on: they stay in their chains, belong to no state, and replay, check and audit count them. Agents receive a summary.invalidated for each void summary and a summary.failed for each one that had only started. The store is renamed; the next start rebuilds it from the log. Stop every processor of these streams first. If --accept-loss is interrupted, run it again.

The exit status is 1 while a loss is not accepted.

Examples:

    processor recover --data /var/lib/precis
    processor recover --data /var/lib/precis --accept-loss
    processor recover --nats nats://nats.internal:4222 --user operator --json`
}

// recovered is the result.
type recovered struct {
	*recovery.Loss
	RecordsVoid   uint64 `json:"records_void"`
	SummariesVoid int    `json:"summaries_void"`
	Accepted      bool   `json:"accepted"`
	MovedTo       string `json:"store_moved_to"` // empty: it was not moved
}

// Run finds what is lost, and accepts it where that is asked for.
func (c *Recover) Run(ctx context.Context, a *console.App) (err error) {
	js, closeLog, err := logFlags{Flags: c.Flags, Data: c.Data}.open(ctx, a)
	if err != nil {
		return err
	}
	defer closeLog()
	res := recovered{}
	if res.Loss, err = c.find(ctx, js); err != nil {
		return logError(err)
	}
	res.RecordsVoid, res.SummariesVoid = res.Records(), res.Summaries()
	if c.AcceptLoss && !res.Nothing() {
		if res.MovedTo, err = c.accept(ctx, js, res.Loss); err != nil {
			return logError(err)
		}
		res.Accepted = true
	}
	if c.JSON {
		a.JSON(res)
	} else {
		res.print(a)
	}
	if res.Nothing() || res.Accepted {
		return nil
	}
	return console.Wrong("restore a newer backup if there is one; otherwise run this command again with --accept-loss")
}

// find compares streams and store. It closes the store again, which is to be moved.
func (c *Recover) find(ctx context.Context, js jetstream.JetStream) (_ *recovery.Loss, err error) {
	in := recovery.Lossy{Streams: recovery.ReadersOf(js)}
	if in.Strays, err = audit.Partitions(ctx, js); err != nil {
		return nil, err
	}
	if _, err := os.Stat(processor.StoreDir(c.Data)); c.Data != "" && err == nil {
		if in.Store, err = state.Open(processor.StoreDir(c.Data), state.Options{ReadOnly: true, Logger: zerolog.Nop()}); err != nil {
			return nil, err
		}
		in.Store.ReadParked(parked.New(js, nil))
		defer func() { err = errors.Join(err, in.Store.Close()) }()
	}
	scratch, drop, err := scratchStore()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, drop()) }()
	in.Scratch = scratch
	return recovery.FindLoss(ctx, in)
}

// accept puts the loss on record, and moves the store aside where there is one.
func (c *Recover) accept(ctx context.Context, js jetstream.JetStream, loss *recovery.Loss) (movedTo string, err error) {
	now := time.Now()
	if err := loss.Accept(ctx, js, now, func(uint64) {}); err != nil {
		return "", err
	}
	dir := processor.StoreDir(c.Data)
	if _, err := os.Stat(dir); c.Data == "" || err != nil {
		return "", nil
	}
	movedTo = filepath.Join(filepath.Dir(dir), "state-before-"+now.UTC().Format("20060102T150405Z"))
	if err := os.Rename(dir, movedTo); err != nil {
		return "", fmt.Errorf("move store aside: %w: the loss is on record; move %s away before the processor starts", err, dir)
	}
	return movedTo, nil
}

func (r recovered) print(a *console.App) {
	if r.Nothing() {
		a.Printf("Nothing is lost: EVENTS holds every applied event, up to event %s.\n", console.Grouped(int64(r.EventsEnd)))
		return
	}
	if r.Store != "" {
		a.Printf("The store does not match the streams: %s.\n", r.Store)
	}
	if !r.Found {
		a.Printf("EVENTS holds every applied event, up to event %s. The store can be rebuilt from the log, and no record is void.\n", console.Grouped(int64(r.EventsEnd)))
	} else {
		r.printLoss(a)
	}
	switch {
	case r.MovedTo != "":
		a.Printf("\nThe store was renamed to %s. Start the processor: it rebuilds the store from the log.\n", r.MovedTo)
	case r.Accepted:
		a.Printf("\nThe loss is recorded. Move the store (state in the data directory) of every processor of these streams away, then start it.\n")
	}
}

func (r recovered) printLoss(a *console.App) {
	if r.Unfinished {
		a.Printf("The loss was accepted, but is not recorded for every partition yet.\n")
	}
	a.Printf("EVENTS holds the applied events up to event %s.", console.Grouped(int64(r.EventsSeq)))
	if r.EventsEnd > r.EventsSeq {
		a.Printf(" Events %s to %s were published after the loss.", console.Grouped(int64(r.EventsSeq+1)), console.Grouped(int64(r.EventsEnd)))
	}
	a.Printf("\nRecords that depend on lost events: %s. Summaries among them: %s.\n\n", console.Grouped(int64(r.RecordsVoid)), console.Grouped(int64(r.SummariesVoid)))
	w := a.Columns()
	fmt.Fprintln(w, "PARTITION\tAPPLIED TO\tEVENTS LOST\tTHREADS\tVOID RECORDS")
	for _, p := range r.Partitions {
		if p.AppliedSeq <= r.EventsSeq && len(p.Records) == 0 {
			continue
		}
		lost := "?"
		if p.EventsLost != nil {
			lost = console.Grouped(int64(*p.EventsLost))
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\n", p.Partition, console.Grouped(int64(p.AppliedSeq)), lost, console.Grouped(int64(p.Threads)), void(p.Records))
	}
	_ = w.Flush()
}

// void counts records by their types.
func void(records map[string]uint64) string {
	var parts []string
	for typ, n := range records {
		parts = append(parts, console.Grouped(int64(n))+" "+typ)
	}
	slices.Sort(parts)
	if len(parts) == 0 {
		return "-"
	}
	return strings.Join(parts, ", ")
}
