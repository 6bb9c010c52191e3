package audit

import (
	"context"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"precis/internal/broker"
	"precis/internal/recovery"
	"precis/state"
	"precis/summarize/rules"
)

// Against is the log with which a store is compared.
type Against struct {
	Broker     *broker.Broker
	Partitions int
	// Now is the time of the comparison; it bounds what a retention on record can have removed.
	Now time.Time
	// Dir is the directory of the scratch store; empty keeps it in memory.
	Dir string
	// Mask removes secrets from the sources of ledgers, as the processor does; nil removes none.
	Mask     func(string) string
	Logger   zerolog.Logger
	Progress func(seq, last uint64)
	// Retained receives the first sequence of EVENTS and the number of the store's threads that began before it and
	// were not compared. It may be nil, and is called only if EVENTS has lost events at its start.
	Retained func(first, threads uint64)
	// Missing receives the gaps in the log; they cause differences that are not the store's fault. It may be nil.
	Missing func(broker.Missing)
	// Voided receives the number of records that are void because they rest on events whose loss was accepted. It may
	// be nil, and is called only if a loss is on record.
	Voided func(records uint64)
	// Skipped receives the number of ledgers that can't be recomputed, with this program's rules or at all. It may be
	// nil, and is called only if there are any.
	Skipped func(ledgers uint64)
}

// Compare folds the log from the start up to each partition's position and reports every row in which the store
// differs from the result. Nothing may write to the store meanwhile.
func Compare(ctx context.Context, store *state.Store, a Against, report func(state.Problem)) error {
	js := a.Broker.JetStream()
	summaries := broker.NewLogReader(js, broker.StreamSummaries)
	src := Source{
		Events:   broker.NewLogReader(js, broker.StreamEvents).Watch(a.Missing),
		Rejected: broker.NewLogReader(js, broker.StreamRejected).Watch(a.Missing),
		Strays:   a.Partitions, Logger: a.Logger, Progress: a.Progress,
	}
	log, err := broker.StateOf(ctx, js, broker.StreamEvents)
	if err != nil {
		return err
	}
	var metas []state.Meta
	for id := range a.Partitions + 1 {
		view := store.View(id)
		meta, err := view.Meta()
		if err != nil {
			return err
		}
		if err := recovery.CheckLog(meta, log); err != nil {
			return err
		}
		metas = append(metas, meta)
		rows, err := view.Outbox()
		if err != nil {
			return err
		}
		src.UpTo, src.Decided = append(src.UpTo, meta.Position), append(src.Decided, rows)
	}
	if err := recovery.CheckMarks(ctx, metas, recovery.ReadersOf(js)); err != nil {
		return err
	}
	configs, err := readConfigs(ctx, summaries, src.Decided)
	if err != nil {
		return err
	}
	gone := newRetained(log, configs, a.Now, store, a.Partitions+1)
	src.Summaries = tap{Log: summaries.Watch(a.Missing), each: gone.record}
	opts := state.Options{Scratch: true, Logger: a.Logger}
	if a.Dir == "" {
		opts.FS = state.Memory()
	}
	scratch, err := state.Open(a.Dir, opts)
	if err != nil {
		return err
	}
	defer func() { _ = scratch.Close() }() // the scratch store is discarded
	src.voided = a.Voided
	own := owns{}
	src.Own = own.saw
	if err := Rebuild(ctx, scratch, src); err != nil {
		return err
	}
	if err := a.removed(gone); err != nil {
		return err
	}
	report = gone.without(report)
	stands, err := standingOf(ctx, a.Broker, configs, own)
	if err != nil {
		return err
	}
	made := newLedgers(store, scratch, src.Events, a.Mask, rules.Version)
	for id := range a.Partitions + 1 {
		if err := store.Diff(scratch, id, report); err != nil {
			return fmt.Errorf("compare: %w", err)
		}
		folded, err := scratch.View(id).Meta()
		if err != nil {
			return fmt.Errorf("compare: %w", err)
		}
		stands.compare(id, metas[id], folded, report)
		if err := missing(scratch, id, report); err != nil {
			return fmt.Errorf("compare: %w", err)
		}
		if err := made.compare(ctx, id, func(name string) bool { return !gone.cut(name) }, report); err != nil {
			return fmt.Errorf("compare: %w", err)
		}
	}
	if a.Skipped != nil && made.skipped > 0 {
		a.Skipped(made.skipped)
	}
	return nil
}

// removed reports what is missing at the start of EVENTS.
func (a Against) removed(gone *retained) error {
	if err := gone.stored(); err != nil {
		return err
	}
	if m, why := gone.unexcused(); why != "" && a.Missing != nil {
		a.Missing(m)
	}
	cut, err := gone.count()
	if err == nil && a.Retained != nil && gone.first > 1 {
		a.Retained(gone.first, cut)
	}
	return err
}

// missing reports decisions that the fold had to make itself because SUMMARIES has lost them. The store holds them, or
// differs in them.
func missing(scratch *state.Store, id int, report func(state.Problem)) error {
	rows, err := scratch.View(id).Outbox()
	if err != nil {
		return err
	}
	for _, row := range rows {
		if row.Guarded {
			report(state.Problem{Partition: id, Thread: row.Thread, Check: "on record in SUMMARIES", Want: row.ID, Got: "missing"})
		}
	}
	return nil
}
