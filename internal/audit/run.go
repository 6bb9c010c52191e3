package audit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/fold"
	"precis/internal/parked"
	"precis/internal/recovery"
	"precis/internal/savings"
	"precis/state"
)

// Options configure a replay.
type Options struct {
	JetStream jetstream.JetStream
	// Beside are further connections to the same server, for reading several messages at once.
	Beside []jetstream.JetStream
	// Scratch is an empty store in which the state is made; the caller discards it.
	Scratch *state.Store
	// Store, if given, is compared with the log; it must be at rest. StoreName is its name in the report.
	Store     *state.Store
	StoreName string
	Filter    Filter
	// Known returns where events of a thread stand in EVENTS, as far as a store knows: a replay of one thread then reads the
	// log faster (broker.LogReader: ScanKnown). It finds the others too. nil: nothing is known.
	Known func(thread string) ([]uint64, error)
	// Kept holds events that were read, between runs; nil: none.
	Kept *broker.Kept
	// Applied keeps the configurations on record between runs; nil: they are read.
	Applied *Applied
	// Rules recomputes every rule-based summary, which takes most of a replay's time.
	Rules bool
	// RulesVersion is the version of the rules and tokenizers with which records are compared; empty is this
	// program's.
	RulesVersion string
	// Mask removes secrets from what the fold decides, as the processor does; nil removes none.
	Mask func(string) string
	// Savings has a what-if compare what both sides save; nil: it does not.
	Savings *savings.Options
	// Workers is the number of goroutines that fold in parallel; less than 1 means 1.
	Workers int
	// Now is the clock, nil the system's: a recent decision may not be on record yet.
	Now      func() time.Time
	Logger   zerolog.Logger
	Progress func(seq, last uint64)
}

// run is one fold of the log into the scratch store. Nothing is published: decisions of the fold that are not on record stay in
// the scratch store's outbox.
type run struct {
	Options
	now      time.Time          // when the run began
	log      broker.StreamState // of EVENTS
	events   *broker.LogReader
	filters  filters
	known    []uint64 // where events of the filter stand
	strays   int      // the number of the partition for events that the partition transform did not match; the others are 0 to strays-1
	parts    []*state.Partition
	lanes    []*lane
	tail     *recovery.Tail
	configs  configs
	retained *retained
	// metas are where the store's partitions stand, and decided the records that they have decided and the server has not
	// confirmed, which count as recorded; both are nil without a store. rewritten is the reason if the log is not the one that the
	// store was made from.
	metas     []state.Meta
	decided   [][]*state.Outgoing
	rewritten error
	// upTo is the EVENTS sequence at which each partition's fold ends; nil folds everything. partial means that it is before the
	// end of the log: what comes after it is not missing.
	upTo    []uint64
	partial bool

	// missing receives the gaps of the streams. each receives every event before it is folded, in log order, and watch prepares a
	// lane; either may be nil.
	missing func(broker.Missing)
	each    func(broker.Stored)
	watch   func(*lane, *fold.Options)
	// under is in force instead of everything on record; nil if that counts.
	under *fold.Config
}

// filters are the subjects that are read of each stream; nil reads all.
type filters struct{ events, summaries, rejected []string }

// errEnough ends a scan that has read what it needs.
var errEnough = errors.New("read enough")

// newRun inspects the streams and the store.
func newRun(ctx context.Context, o Options) (*run, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	r := &run{Options: o, now: o.Now(), missing: func(broker.Missing) {}}
	if o.Store != nil {
		o.Store.ReadParked(parked.New(o.JetStream, nil))
	}
	r.events = r.reader(broker.StreamEvents).Through(o.Kept)
	var err error
	if r.log, r.strays, err = eventsOf(ctx, o.JetStream); err != nil {
		return nil, err
	}
	if name := o.Filter.Thread; name != "" {
		if err := r.narrow(ctx, name); err != nil {
			return nil, err
		}
	}
	events := 0
	if r.filters.events == nil {
		events = recovery.Share(r.log.Msgs, r.strays+1)
	}
	for id := range r.strays + 1 {
		part, err := o.Scratch.Partition(id)
		if err != nil {
			return nil, err
		}
		if err := part.Fill(events); err != nil {
			return nil, err
		}
		r.parts = append(r.parts, part)
	}
	if r.tail, err = recovery.NewTail(r.parts); err != nil {
		return nil, err
	}
	if err := r.positions(ctx); err != nil {
		return nil, err
	}
	if r.configs, err = readConfigs(ctx, o.Applied, broker.NewLogReader(o.JetStream, broker.StreamSummaries), r.decided); err != nil {
		return nil, err
	}
	r.retained, err = newRetained(r.log, r.configs, r.now, o.Store, r.strays+1)
	return r, err
}

// narrow has the run read one thread, and those that it was forked from, directly or not: their state at the fork is a part of its own. Of
// the partitions' own records it reads those of their partitions: there are as many as partitions and starts.
func (r *run) narrow(ctx context.Context, name string) error {
	names := []string{name}
	homes := map[int]bool{}
	for at := 0; at < len(names); at++ {
		token, err := events.Token(names[at])
		if err != nil {
			return fmt.Errorf("thread: %w", err)
		}
		if home := r.home(names[at]); !homes[home] {
			homes[home] = true
			own := "." + events.PartitionToken(home)
			r.filters.summaries = append(r.filters.summaries, string(events.ConfigApplied)+own, string(events.PartitionClaimed)+own)
		}
		r.filters.events = append(r.filters.events, eventsOfThread+token)
		r.filters.summaries = append(r.filters.summaries, "*.*."+token)
		r.filters.rejected = append(r.filters.rejected, string(events.EventRejected)+"."+token)
		// Of several forks on the thread's subject the fold knows which one counts.
		err = broker.NewLogReader(r.JetStream, broker.StreamEvents).ScanSubjects(ctx, 1, []string{"*." + string(events.ThreadForked) + "." + token}, func(m broker.Stored) error {
			if parent := events.ForkParent(deliveryOf(m).Raw); parent != "" && !slices.Contains(names, parent) {
				names = append(names, parent)
			}
			return nil
		}, nil)
		if err != nil {
			return fmt.Errorf("find what the thread was forked from: %w", err)
		}
		if r.Known != nil {
			known, err := r.Known(names[at])
			if err != nil {
				return err
			}
			r.known = append(r.known, known...)
		}
	}
	return nil
}

func (r *run) reader(stream string) *broker.LogReader {
	return broker.NewLogReader(r.JetStream, stream).Beside(r.Beside).Watch(func(m broker.Missing) { r.missing(m) })
}

// Partitions is the number of partitions of EVENTS, without the one for strays.
func Partitions(ctx context.Context, js jetstream.JetStream) (int, error) {
	_, n, err := eventsOf(ctx, js)
	return n, err
}

var partitionCount = regexp.MustCompile(`\{\{partition\((\d+),`)

// eventsOf is the state of EVENTS, and the number of partitions in its subject transform.
func eventsOf(ctx context.Context, js jetstream.JetStream) (at broker.StreamState, partitions int, err error) {
	stream, err := js.Stream(ctx, broker.StreamEvents)
	if err != nil {
		return at, 0, fmt.Errorf("look at stream %s: %w", broker.StreamEvents, err)
	}
	info := stream.CachedInfo()
	if t := info.Config.SubjectTransform; t != nil {
		if m := partitionCount.FindStringSubmatch(t.Destination); m != nil {
			partitions, err = strconv.Atoi(m[1])
			return broker.StateIn(info), partitions, err
		}
	}
	return at, 0, fmt.Errorf("stream %s has no partitions: no processor made it", broker.StreamEvents)
}

// positions has the fold end where the partitions of the store stand.
func (r *run) positions(ctx context.Context) error {
	if r.Store == nil {
		return nil
	}
	for id := range r.parts {
		view := r.Store.View(id)
		meta, err := view.Meta()
		if err != nil {
			return err
		}
		if err := recovery.CheckLog(meta, r.log); err != nil {
			return err
		}
		rows, err := view.Outbox()
		if err != nil {
			return err
		}
		r.metas, r.upTo, r.decided = append(r.metas, meta), append(r.upTo, meta.Position), append(r.decided, rows)
	}
	err := recovery.CheckMarks(ctx, r.metas, recovery.ReadersOf(r.JetStream))
	if errors.Is(err, recovery.ErrRewritten) {
		r.rewritten, err = err, nil
	}
	return err
}

// upToSeq ends the fold at an event.
func (r *run) upToSeq(seq uint64) {
	r.partial, r.upTo = true, nil
	for range r.parts {
		r.upTo = append(r.upTo, seq)
	}
}

// upToTime ends the fold at the last event of a time. Of a thread's records it leaves out those that were recorded later, and that
// neither one of these events decided nor any of them followed: the end of a job, a request or a sweep may take effect right after
// the thread's last event and be far from it in time. What such a record is followed by was decided on its ground.
func (r *run) upToTime(ctx context.Context, t time.Time) error {
	seq, err := r.events.SeqAt(ctx, r.log.First, r.log.Last, t)
	if err != nil {
		return fmt.Errorf("find the last event of %s: %w", t.UTC().Format(time.RFC3339), err)
	}
	r.upToSeq(seq)
	r.tail.Skip = func(m broker.Stored, e recovery.Entry) (bool, error) {
		if !m.Time.After(t) || e.Thread == "" || e.Step.Cause == events.ByEvent {
			return false, nil
		}
		followed, err := r.hasEvent(ctx, e.Thread, e.EffectiveSeq, seq)
		if err == nil && !followed {
			r.saw(m, e) // it tells all the same where its thread began
		}
		return !followed, err
	}
	return nil
}

// hasEvent reports whether a thread has an event behind one sequence of EVENTS, and not behind another.
func (r *run) hasEvent(ctx context.Context, name string, behind, upTo uint64) (bool, error) {
	if behind >= upTo {
		return false, nil
	}
	token, err := events.Token(name)
	if err != nil {
		return false, nil //nolint:nilerr // there are no events of such a thread
	}
	has := false
	err = broker.NewLogReader(r.JetStream, broker.StreamEvents).ScanSubjects(ctx, behind+1, []string{eventsOfThread + token}, func(m broker.Stored) error {
		has = m.Seq <= upTo
		return errEnough
	}, nil)
	if errors.Is(err, errEnough) {
		err = nil
	}
	return has, err
}

// eventsOfThread is the filter of a thread's events, before its token.
const eventsOfThread = "*.*.*."

// only narrows what is read of a stream to the few subjects of a thread.
type only struct {
	*broker.LogReader
	filters []string // nil: all
	known   []uint64 // where messages of the filters stand
}

// Scan implements recovery.Log.
func (o only) Scan(ctx context.Context, from uint64, _ []string, each func(broker.Stored) error, progress func(seq, last uint64)) error {
	return o.ScanKnown(ctx, from, o.filters, o.known, each, progress)
}

// saw inspects what a message of SUMMARIES says of events that are gone.
func (r *run) saw(m broker.Stored, e recovery.Entry) {
	if !r.configs.void(m.Seq, e.Head) {
		r.retained.saw(e.Head)
	}
}

// rebuild stages everything on record, calls staged, and folds EVENTS from its start.
func (r *run) rebuild(ctx context.Context, staged func()) error {
	if r.Filter.Thread == "" { // a change of the rate waits until a collection has ended, which takes longer than a thread's fold
		defer recovery.CollectLess(math.MaxInt64)()
	}
	if r.under == nil {
		if err := r.stage(ctx); err != nil {
			return err
		}
	}
	staged()
	for id := range r.parts {
		l, err := r.open(id)
		if err != nil {
			return err
		}
		r.lanes = append(r.lanes, l)
	}
	if err := r.fold(ctx); err != nil {
		return fmt.Errorf("fold EVENTS: %w", err)
	}
	for _, l := range r.lanes {
		if err := l.end(ctx); err != nil {
			return err
		}
	}
	return nil
}

// stage reads what is on record: if a thread is given, only its records and the partitions' own.
func (r *run) stage(ctx context.Context) error {
	summaries, rejected := only{LogReader: r.reader(broker.StreamSummaries), filters: r.filters.summaries}, only{LogReader: r.reader(broker.StreamRejected), filters: r.filters.rejected}
	if err := r.tail.Read(ctx, summaries, rejected); err != nil {
		return err
	}
	for id, rows := range r.decided {
		if err := r.tail.Decided(id, rows); err != nil {
			return err
		}
	}
	return nil
}

// fold deals the events to the lanes, up to the last one that any of them folds.
func (r *run) fold(ctx context.Context) error {
	end := uint64(math.MaxUint64)
	if r.upTo != nil {
		end = slices.Max(r.upTo)
	}
	workers := max(r.Workers, 1)
	partition := func(subject string) int { return recovery.PartitionOf(subject, r.strays) }
	deal := recovery.NewDeal(workers, func(subject string) int { return partition(subject) % workers })
	deal.Before = func(m broker.Stored) int {
		from := r.forkedFrom(m)
		return min(from, from%workers)
	}
	scan := func(ctx context.Context) error {
		return only{r.events, r.filters.events, r.known}.Scan(ctx, 1, nil, func(m broker.Stored) error {
			if m.Seq > end {
				return errEnough
			}
			if r.each != nil {
				r.each(m)
			}
			return deal.Give(ctx, m)
		}, r.Progress)
	}
	err := deal.Run(ctx, scan, func(ctx context.Context, pile int) error {
		for list := range deal.Pile(pile) {
			for _, m := range list {
				if ctx.Err() != nil {
					return nil
				}
				if err := r.take(ctx, m, func(l *lane) bool { return l.id%workers == pile }); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// take has the lanes of a worker fold an event: a fork goes to the parent's partition first, which hands over what it begins with.
func (r *run) take(ctx context.Context, m broker.Stored, mine func(*lane) bool) error {
	own, from := r.lanes[recovery.PartitionOf(m.Subject, r.strays)], r.forkedFrom(m)
	if from >= 0 && from != own.id && mine(r.lanes[from]) {
		if err := r.lanes[from].handOver(ctx, m); err != nil {
			return err
		}
	}
	if !mine(own) {
		return nil
	}
	if from >= 0 && from != own.id && m.Seq <= own.upTo {
		if err := r.lanes[from].handed.wait(ctx, m.Seq); err != nil {
			return err
		}
	}
	return own.take(ctx, m)
}

// forkedFrom returns the partition that hands over what an event's thread begins with; negative if none does.
func (r *run) forkedFrom(m broker.Stored) int {
	parent := events.ForkParent(deliveryOf(m).Raw)
	if parent == "" || recovery.PartitionOf(m.Subject, r.strays) == r.strays {
		return -1
	}
	return r.home(parent)
}

// home returns the partition of a thread.
func (r *run) home(thread string) int {
	token, err := events.Token(thread)
	if err != nil {
		return -1 // a decoded event names none such
	}
	return broker.PartitionOf(token, r.strays)
}
