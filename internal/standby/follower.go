package standby

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"precis/internal/fold"
	"precis/internal/recovery"
	"precis/state"
)

const (
	// slice is how many events of the log a round reads for partitions that are far behind, so that the others are not kept waiting.
	slice = 20_000
	// batchEvents and batchBytes bound an open batch.
	batchEvents, batchBytes = 4096, 8 << 20
	// pause is how long a partition that can't be followed is left alone.
	pause = 10 * time.Second
	// hopeless is after how many failures in a row a partition counts as near: it comes no nearer, and its owner would keep it forever.
	hopeless = 3
)

// Options of a follower.
type Options struct {
	Store  *state.Store
	Log    recovery.Readers
	Strays int // the number of the last partition
	// Open opens a partition's rows, and a fold of them. It fails if they are not of these streams.
	Open func(ctx context.Context, id int) (*state.Partition, *fold.Fold, error)
	// Same fails if the streams are not, or not any more, those that rows at such places were made from.
	Same func(context.Context, []state.Meta) error
	// Drop removes partitions' rows: they are made again from the log.
	Drop func(ids ...int) error
	// Config is what is assumed to be in force where no configuration is on record.
	Config func() *fold.Config
	// Home is the partition of a thread.
	Home func(thread string) int
	// Enter reports whether a partition's rows may be written; if so, Leave follows when that ends.
	Enter func(id int) bool
	Leave func(id int)
	// Taken reports whether a fork's partition, which is not followed, has what was handed over to it.
	Taken func(state.Handed) bool
	// Orphan is called if a partition can't be followed behind a fork, since that of the parent, from, is not followed.
	Orphan func(ctx context.Context, id, from int)
	Folded func(events int) // is called with what was folded
	Now    func() time.Time
	Logger zerolog.Logger
}

// Follower follows partitions. One goroutine calls Round; the other methods may be called by any.
type Follower struct {
	opts   Options
	parts  map[int]*replica // those that are open
	failed map[int]failure  // those that were given up

	round sync.Mutex // held during a round
	mu    sync.Mutex
	stop  context.CancelFunc // ends the round under way; nil: there is none
	away  map[int]int        // how many callers of Yield want a partition
	near  map[int]bool
}

// failure is how often in a row a partition could not be followed, and when the next try is due.
type failure struct {
	times int
	retry time.Time
}

// New returns a follower of nothing.
func New(o Options) *Follower {
	return &Follower{opts: o, parts: map[int]*replica{}, failed: map[int]failure{}, away: map[int]int{}, near: map[int]bool{}}
}

// Near lists the partitions that are worth no further wait: those that were as far as their owner had reported when the last round began,
// and those that can't be followed.
func (f *Follower) Near() (ids []int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id := range f.near {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// Yield ends the following of partitions, until the returned function is called. What was folded is in the store by then.
func (f *Follower) Yield(ids []int) (resume func()) {
	f.mu.Lock()
	for _, id := range ids {
		f.away[id]++
	}
	if f.stop != nil {
		f.stop()
	}
	f.mu.Unlock()
	f.round.Lock()
	defer f.round.Unlock()
	for _, id := range ids {
		f.close(id)
	}
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, id := range ids {
			f.away[id]--
		}
	}
}

// Close ends the following of all partitions. No round may begin any more.
func (f *Follower) Close() {
	f.round.Lock()
	defer f.round.Unlock()
	for id := range f.parts {
		f.close(id)
	}
}

// Round brings partitions up to the sequences that their owners have reported. Those that are far behind come nearer: more reports that
// another round is due at once. An error is of all of them; one of a partition alone is logged, and the partition tried again later.
func (f *Follower) Round(ctx context.Context, to map[int]uint64) (more bool, err error) {
	f.round.Lock()
	defer f.round.Unlock()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	f.mu.Lock()
	f.stop = stop
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.stop = nil
	}()
	f.open(ctx, to)
	for _, r := range f.parts {
		r.part.Until(ctx.Done()) // no object of a parked thread holds up who takes a partition over
	}
	soon, far := f.split()
	err = f.follow(ctx, soon)
	if err == nil && len(far) > 0 {
		more, err = true, f.follow(ctx, far)
	}
	f.note(to)
	if ctx.Err() != nil {
		return more, nil //nolint:nilerr // ended by Yield, or by the caller
	}
	return more, err
}

// open opens the partitions that are to be followed, and closes the others.
func (f *Follower) open(ctx context.Context, to map[int]uint64) {
	for id := range f.parts {
		if _, follow := to[id]; !follow {
			f.close(id)
		}
	}
	for id := range f.failed {
		if _, follow := to[id]; !follow {
			delete(f.failed, id)
			f.notNear(id)
		}
	}
	for id, seq := range to {
		f.mu.Lock()
		away := f.away[id] > 0
		f.mu.Unlock()
		r := f.parts[id]
		if r == nil && !away && !f.opts.Now().Before(f.failed[id].retry) && f.opts.Enter(id) {
			var err error
			if r, err = f.begin(ctx, id); err != nil {
				f.opts.Leave(id)
				f.leaveAlone(ctx, id, err)
				continue
			}
			f.parts[id] = r
		}
		if r != nil {
			r.to = seq
		}
	}
}

func (f *Follower) begin(ctx context.Context, id int) (*replica, error) {
	part, folds, err := f.opts.Open(ctx, id)
	if err != nil {
		return nil, err
	}
	r := &replica{id: id, part: part, fold: folds}
	r.handed, err = part.HandedOver()
	return r, err
}

// close ends the following of a partition.
func (f *Follower) close(id int) {
	if f.parts[id] == nil {
		return
	}
	delete(f.parts, id)
	f.opts.Leave(id)
	f.notNear(id)
}

func (f *Follower) notNear(id int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.near, id)
}

// giveUp ends the following of a partition for a while.
func (f *Follower) giveUp(ctx context.Context, id int, why error) {
	f.close(id)
	f.leaveAlone(ctx, id, why)
}

func (f *Follower) leaveAlone(ctx context.Context, id int, why error) {
	if ctx.Err() != nil {
		return
	}
	times := f.failed[id].times + 1
	f.failed[id] = failure{times, f.opts.Now().Add(pause)}
	if times >= hopeless {
		f.mu.Lock()
		f.near[id] = true
		f.mu.Unlock()
	}
	f.opts.Logger.Warn().Err(why).Int("partition", id).Dur("retry_in", pause).Msg("another processor's partition is not followed")
}

// drop removes the rows of a partition: they are made again from the log.
func (f *Follower) drop(id int, why error) error {
	f.opts.Logger.Warn().Err(why).Int("partition", id).Msg("what the store has of a followed partition is not what is on record: it is made again from the log")
	if err := f.opts.Drop(id); err != nil {
		return fmt.Errorf("follow partition %d: %w", id, err)
	}
	return nil
}

// split divides the open partitions into those that one round brings to where they are to be, and others, which it brings nearer.
func (f *Follower) split() (soon, far []*replica) {
	first, due := ^uint64(0), false
	for _, r := range f.parts {
		at := r.part.Meta().Position
		if r.to > at && r.to-at > slice {
			far, first = append(far, r), min(first, at)
			continue
		}
		soon, due = append(soon, r), due || r.to > at
	}
	for _, r := range far {
		r.to = min(r.to, first+slice)
	}
	if !due {
		soon = nil
	}
	return soon, far
}

// note notes which partitions are where they are to be.
func (f *Follower) note(to map[int]uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, r := range f.parts {
		if r.part.Meta().Position >= to[id] {
			f.near[id] = true
			delete(f.failed, id)
		}
	}
}
