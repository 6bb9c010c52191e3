package audit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/rs/zerolog"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/recovery"
	"precis/state"
)

// Source is the log from which a scratch store is made.
type Source struct {
	Events *broker.LogReader
	// Summaries and Rejected are nil if what is on record is not to be adopted.
	Summaries, Rejected recovery.Log
	// Strays is the number of the partition for events that the partition transform did not match; the others are 0 to
	// Strays-1.
	Strays int
	// Filters are stored subjects of EVENTS; nil reads all.
	Filters []string
	// UpTo is the EVENTS sequence at which each partition's fold stops; nil folds everything.
	UpTo []uint64
	// Partial means that UpTo is before the end of the log: what comes after it is not missing.
	Partial bool
	// Decided holds, by partition, records that a store has decided and the server has not confirmed; they count as
	// recorded.
	Decided [][]*state.Outgoing
	// Foreign receives every message of Summaries that is skipped; it may be nil.
	Foreign func(recovery.Foreign)
	// Own receives every record of the partitions' own chains; it may be nil.
	Own func(m broker.Stored, e recovery.Entry, end state.Link)
	// Mask removes secrets from what the fold decides; nil removes none.
	Mask func(string) string
	// Rehearse passes everything the fold would decide, with the text of the rules, to the watch of every lane.
	Rehearse bool
	// Workers is the number of goroutines that fold in parallel; less than 1 means 1.
	Workers int
	Logger  zerolog.Logger
	// Progress is called from time to time with the EVENTS sequence reached and the last one; it may be nil.
	Progress func(seq, last uint64)

	// each receives every event before it is folded, in log order; it may be nil.
	each func(broker.Stored)
	// voided receives the number of records that accepted losses void, if a loss is on record; it may be nil.
	voided func(records uint64)
	// staged is called once everything on record is staged; it may be nil.
	staged func() error
	// open prepares a lane once its records are staged, before anything is folded; it may be nil.
	open func(*lane) error
	// opened is called instead of the first adoption, with the lane's fold; it may be nil.
	opened func(*lane) error
}

// errEnough ends a scan that has read what it needs.
var errEnough = errors.New("read enough")

// Rebuild folds the log into an empty store. Nothing is published: decisions of the fold that are not on record stay
// in the scratch store's outbox.
func Rebuild(ctx context.Context, scratch *state.Store, src Source) error {
	defer recovery.CollectLess(math.MaxInt64)()
	lanes, err := openLanes(ctx, scratch, src)
	if err != nil {
		return err
	}
	if err := foldEvents(ctx, lanes, src); err != nil {
		return fmt.Errorf("fold EVENTS: %w", err)
	}
	for _, l := range lanes {
		if err := l.end(ctx); err != nil {
			return err
		}
	}
	return nil
}

// openLanes stages what is on record and opens a fold over each partition.
func openLanes(ctx context.Context, scratch *state.Store, src Source) ([]*lane, error) {
	var lanes []*lane
	var parts []*state.Partition
	for id := range src.Strays + 1 {
		part, err := scratch.Partition(id)
		if err != nil {
			return nil, err
		}
		parts, lanes = append(parts, part), append(lanes, &lane{id: id, part: part, upTo: ^uint64(0), partial: src.Partial})
		if src.UpTo != nil {
			lanes[id].upTo = src.UpTo[id]
		}
	}
	config, err := stage(ctx, parts, src)
	if err != nil {
		return nil, err
	}
	if src.staged != nil {
		if err := src.staged(); err != nil {
			return nil, err
		}
	}
	for _, l := range lanes {
		if err := l.open(src, config); err != nil {
			return nil, err
		}
	}
	return lanes, nil
}

// stage stages everything on record before the fold begins, and returns the first configuration.
func stage(ctx context.Context, parts []*state.Partition, src Source) (config []byte, err error) {
	t, err := recovery.NewTail(parts)
	if err != nil {
		return nil, err
	}
	if src.Foreign != nil {
		t.Foreign = src.Foreign
	}
	if src.Own != nil {
		t.Own = src.Own
	}
	if src.Summaries != nil {
		if err := t.Read(ctx, src.Summaries, src.Rejected); err != nil {
			return nil, err
		}
	}
	for id, rows := range src.Decided {
		if err := t.Decided(id, rows); err != nil {
			return nil, err
		}
	}
	if src.voided != nil && len(parts[0].Meta().Losses) > 0 {
		src.voided(t.Voided)
	}
	return t.Config, nil
}

// end is the last EVENTS sequence that any partition folds.
func (s *Source) end() uint64 {
	if s.UpTo == nil {
		return ^uint64(0)
	}
	return slices.Max(s.UpTo)
}

// foldEvents reads EVENTS once and distributes it to the lanes.
func foldEvents(ctx context.Context, lanes []*lane, src Source) error {
	end := src.end()
	ctx, deal := newDealer(ctx, lanes, src.Workers)
	err := src.Events.Scan(ctx, 1, src.Filters, func(m broker.Stored) error {
		if m.Seq > end {
			return errEnough
		}
		if src.each != nil {
			src.each(m)
		}
		return deal.Give(ctx, m)
	}, src.Progress)
	// A lane that fails cancels the scan, so its error is the cause.
	if ended := deal.end(ctx); ended != nil {
		return ended
	}
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// upToSeq ends the fold at an event.
func (s *Source) upToSeq(seq uint64) {
	s.Partial, s.UpTo = true, nil
	for range s.Strays + 1 {
		s.UpTo = append(s.UpTo, seq)
	}
}

// upToTime ends the fold at the last event of a time. It leaves out what jobs recorded later, even if that took effect
// right after that event.
func (s *Source) upToTime(ctx context.Context, t time.Time, l *openedLog) error {
	seq, err := s.Events.SeqAt(ctx, l.events.First, l.events.Last, t)
	if err != nil {
		return fmt.Errorf("find the last event of %s: %w", t.UTC().Format(time.RFC3339), err)
	}
	s.upToSeq(seq)
	if records, ok := s.Summaries.(tap); ok {
		records.leave = func(m broker.Stored) bool { return m.Time.After(t) && byJob(m) }
		s.Summaries = records
	}
	return nil
}

// byJob reports whether the end of a job made a record: when its work was done, not when its event was folded.
func byJob(m broker.Stored) bool {
	var head events.Head
	return json.Unmarshal(m.Data, &head) == nil && head.Step.Cause == events.ByResult
}
