package processor

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"precis/events"
	"precis/handlers"
	"precis/internal/broker"
	"precis/internal/fold"
	"precis/internal/thread"
	"precis/internal/tracing"
	"precis/state"
)

// partition is one running partition. Its lane's goroutine alone touches it, apart from fields that are safe for
// concurrent use.
type partition struct {
	id     int
	lane   string
	part   *state.Partition
	fold   *fold.Fold
	outbox *outbox
	desk   *desk
	turns  chan func()
	// ended is closed when turns are no longer taken; stopping before that, when the end begins.
	ended     chan struct{}
	stopping  chan struct{}
	stopOnce  sync.Once
	metrics   *metrics
	failpoint func(string, int) error
	log       zerolog.Logger
	now       func() time.Time
	// config is the configuration to put in force, as of since, when it was read; it waits while a recovery adopts
	// what is on record.
	config     *fold.Config
	since      time.Time
	configured bool
	// settles is the event up to which another processor may have folded the partition under the configuration on record, and with the
	// results of its jobs: no other one comes into force, and no job begins, before it.
	settles uint64
	resumed bool // the jobs of the previous process are under way
	// unswept means that the summaries have yet to be compared with the configuration.
	unswept  atomic.Bool
	renewals renewals

	last      uint64        // the last event that was applied, or a later position
	event     fold.Delivery // that event, until a batch with its mark is committed
	applied   int           // events in the open batch
	sync      bool          // the open batch holds something that must not be lost
	committed []func()      // called when the open batch is durable
	failure   error
	ingests   bool // batches are large, and become tables of the store
	bulkBytes int  // bound of such a batch in memory
	position  position
	stands    atomic.Pointer[state.Meta] // the durable meta
	delivered delivered
	confirmed *confirmed // shared by all partitions
	traces    *tracing.Contexts

	// handed waits until what a fork begins with is handed over, and durable. handedOver is what this partition has handed over to
	// forks of others, until they have it.
	handed      func(ctx context.Context, to *partition, d fold.Delivery) error
	handedOver  []state.Handed
	handedTaken func(state.Handed) bool

	worker  worker
	commits chan commit           // to the goroutine that waits for the disk; nil if none runs
	broken  atomic.Pointer[error] // why that goroutine has given up
	fail    func(error)           // ends the processor
	// lostRows is set if the partition can't be given up and made again from the log when rows of its parked threads are lost: the processor ends with what
	// it returns.
	lostRows func(error) error
	life     life
	inBulk   sync.WaitGroup // the bulk that a partition of a cluster begins with
	reads    bool           // it has a lane; changed while no lane runs
	current  atomic.Bool    // its lane has reached what was the log's end when it began
	leaves   atomic.Bool    // it is being taken out of the set
	rivaled  atomic.Bool    // another processor has it
	anew     atomic.Bool    // it is given up since it is to be made again
}

// batchBytes is the size at which the open batch is committed, whatever the lane's own bound in events: a rejection
// holds its event, up to the server's largest message, and Pebble takes no batch of 4 GiB.
const batchBytes = 8 << 20

// stop has the partition wait for no server any more.
func (p *partition) stop() { p.stopOnce.Do(func() { close(p.stopping) }) }

// steps folds events that were handed over together.
func (p *partition) steps(ctx context.Context, hand iter.Seq[fold.Delivery], walk fold.Walk, now func() time.Time) error {
	for d := range hand {
		if err := ctx.Err(); err != nil { // a stop waits for one event, not for all of them
			return err
		}
		if _, err := p.step(ctx, d, walk, now); err != nil {
			return err
		}
	}
	return nil
}

// step folds one event; now determines its lag. A failure in the middle, or a panic, leaves a batch that must not be committed: it
// becomes the partition's failure, and ends the processor.
func (p *partition) step(ctx context.Context, d fold.Delivery, walk fold.Walk, now func() time.Time) (out fold.Outcome, err error) {
	if p.failure != nil {
		return out, p.failure
	}
	if d.Seq <= p.last {
		return out, nil // redelivered: it is applied
	}
	defer func() { // also if the step panics
		if p.failure != nil {
			p.fail(p.failure)
		}
	}()
	defer p.caught("apply event", d.Seq, &err)
	if err := p.handed(ctx, p, d); err != nil {
		return out, err
	}
	p.part.During(ctx.Done()) // an end of the lane, or a change of the set, waits for no object of a parked thread
	defer p.part.During(nil)
	span := p.span(d)
	defer func() { p.traces.End(span, out.Outcome, out.Code, err) }()
	out, err = p.fold.Step(ctx, d, walk)
	if err != nil {
		err = fmt.Errorf("apply event %d: %w", d.Seq, err)
		if fatal(err) {
			p.failure = err
		}
		p.rowsLost(err)
		return out, err
	}
	p.last, p.event = d.Seq, d
	p.traces.Applied(span, d.Seq, d.Raw.Header)
	p.applied++
	if err := p.failpoint(FailApplied, p.id); err != nil {
		p.failure = err
		return out, err
	}
	if out.Outcome == thread.HandedOver {
		return out, p.handOver(d)
	}
	p.metrics.event(d, out, now())
	if out.Code != "" {
		tracing.Log(span.Context(ctx), p.log.Debug()).Uint64("seq", d.Seq).Str("lane", p.lane).Str("code", out.Code).Msg("event rejected")
	}
	if p.part.Size() >= batchBytes {
		return out, p.flush(p.here())
	}
	return out, nil
}

// span begins the span of an event. A catch-up in bulk has none: it reads what may be long past.
func (p *partition) span(d fold.Delivery) *tracing.Span {
	if p.ingests {
		return nil
	}
	return p.traces.Begin(d.Seq, d.Raw.Subject, d.Raw.Header)
}

// fatal reports whether a retry can't help, or is not allowed.
func fatal(err error) bool {
	return errors.Is(err, fold.ErrHalfDone) || errors.Is(err, fold.ErrRecord) || errors.Is(err, state.ErrDamaged) ||
		errors.Is(err, events.ErrNewerConfig)
}

// rowsLost ends the processor if rows of a parked thread are lost, and it can't make the partition again. What needed them has done nothing.
func (p *partition) rowsLost(err error) {
	if p.lostRows != nil && errors.Is(err, state.ErrLost) {
		p.fail(p.lostRows(err))
	}
}

// caught turns a panic into the partition's failure: what it left in the open batch is unknown.
func (p *partition) caught(doing string, seq uint64, err *error) {
	r := recover()
	if r == nil {
		return
	}
	p.failure = fmt.Errorf("%s %d: %w: %v", doing, seq, handlers.ErrPanic, r)
	p.log.Error().Err(p.failure).Bytes("stack", debug.Stack()).Msg("ending the processor")
	*err = p.failure
}

// place is a position in EVENTS, with the mark of the last event, of any partition, up to it.
type place struct {
	last uint64
	by   state.Mark
}

// here is the partition's position, including the open batch.
func (p *partition) here() place {
	if meta := p.part.Meta(); p.event.Seq == 0 {
		return place{meta.Position, meta.EventsMark}
	}
	d := p.event
	return place{d.Seq, state.Mark(broker.MarkOf(broker.Stored{Subject: d.Raw.Subject, Data: d.Raw.Body, Seq: d.Seq, Time: d.Time}))}
}

// flush closes the open batch at its position; once that is durable, its decisions go to the outbox. A batch that
// fails here is abandoned, and must not be committed later at another position.
func (p *partition) flush(at place) error {
	if p.failure == nil {
		p.failure = p.flushed(at)
	}
	return p.failure
}

// caughtUp adopts what took effect after the last event that the log held for the partition: what a request, the clock
// or a configuration decided while only other partitions had events.
func (p *partition) caughtUp(at place) error {
	p.settles = 0
	if p.failure != nil || p.part.Meta().Staged == 0 && p.configured {
		return p.failure
	}
	if err := p.fold.AdoptUpTo(math.MaxUint64); err != nil {
		if !errors.Is(err, state.ErrParked) && !errors.Is(err, state.ErrLost) || errors.Is(err, fold.ErrHalfDone) {
			p.failure = err
		}
		return err
	}
	return p.flush(at)
}

func (p *partition) flushed(at place) error {
	if at.last < p.last {
		at = p.here()
	}
	if err := p.commitFailure(); err != nil {
		return err
	}
	if err := p.configure(at.last); err != nil {
		return err
	}
	if !p.part.Changed() && p.applied == 0 && p.part.Meta().Position == at.last {
		return nil
	}
	if err := p.dropHanded(); err != nil {
		return err
	}
	if err := p.commit(at); err != nil {
		return err
	}
	p.outbox.wait(p.stopping)
	return nil
}

// commit closes the open batch; what follows from it waits for the disk.
func (p *partition) commit(at place) error {
	if err := p.failpoint(FailFlush, p.id); err != nil {
		return err
	}
	meta := p.part.Meta()
	meta.Position, meta.EventsMark = at.last, at.by
	p.part.SetMeta(meta)
	p.last, p.event = max(p.last, at.last), fold.Delivery{}
	// A batch with nothing but deletions of confirmed rows may be lost: SUMMARIES has them.
	opts := state.NoSync
	if p.sync || p.applied > 0 || p.part.Decided() {
		opts = state.Sync
	}
	c := commit{meta: meta, events: p.applied, tell: p.committed, began: p.now(), spans: p.traces.Batch()}
	p.position.ahead()
	var err error
	if p.ingests && opts == state.Sync {
		c.applied, err = p.part.Ingest()
	} else {
		c.applied, err = p.part.Apply(opts)
	}
	if err != nil {
		return err
	}
	if p.configured {
		c.jobs = c.applied.Jobs
	}
	p.committed, p.sync, p.applied = nil, false, 0
	return p.follow(c)
}

// turn runs work in the lane's goroutine, between two events. It may be dropped when the processor ends.
func (p *partition) turn(work func() error) {
	select {
	case p.turns <- func() { p.do(work) }:
	case <-p.ended:
	}
}

// do runs work in the lane's goroutine, unless something there has failed. Work may note a failure itself, and return nothing.
func (p *partition) do(work func() error) {
	if p.failure != nil {
		return
	}
	if err := p.taken(work); p.failure == nil {
		p.failure = err
	}
}

func (p *partition) taken(work func() error) (err error) {
	defer p.caught("take turn behind event", p.last, &err)
	return work()
}

// mustSync marks the open batch as one that must not be lost; onCommit calls f when it is durable. Both are for turns.
func (p *partition) mustSync()         { p.sync = true }
func (p *partition) onCommit(f func()) { p.committed = append(p.committed, f) }

// configure puts the configuration in force once nothing is left to adopt.
func (p *partition) configure(last uint64) error {
	if p.configured || last < p.settles {
		return nil
	}
	meta := p.part.Meta()
	meta.Position = last
	p.part.SetMeta(meta)
	done, err := p.fold.Configure(p.config, p.since)
	if err != nil || !done {
		return err
	}
	p.configured = true
	p.unswept.Store(true)
	if p.resumed {
		return nil // jobs are under way, and are checked against the configuration when they end
	}
	p.resumed = true
	jobs, err := p.desk.resume()
	p.onCommit(func() { p.desk.take(jobs) })
	return err
}

// drain ends the partition after its lane has ended: it takes the last results of the jobs, then waits until the
// server has stored what was decided, or ctx ends.
func (p *partition) drain(ctx context.Context) error {
	defer close(p.ended)
	p.takeTurns(p.desk.stopped())
	if err := p.settle(); err != nil {
		return err
	}
	empty := make(chan struct{})
	go func() {
		defer close(empty)
		_ = p.outbox.drained(ctx) // or out of time: the rest stays in the store
	}()
	p.takeTurns(empty)
	p.do(p.deliverAll)
	return p.settle()
}

// takeTurns takes turns until done is closed, and those that were queued before that.
func (p *partition) takeTurns(done <-chan struct{}) {
	for {
		select {
		case turn := <-p.turns:
			turn()
			continue
		default:
		}
		select {
		case turn := <-p.turns:
			turn()
		case <-done:
			if len(p.turns) == 0 {
				return
			}
		}
	}
}

// settle commits what turns have left in the open batch.
func (p *partition) settle() error {
	if p.failure == nil {
		p.failure = p.commitFailure() // of the lane's last batches, which nothing has checked since
	}
	if p.failure == nil && p.part.Changed() {
		p.failure = p.commit(p.here())
	}
	return p.failure
}
