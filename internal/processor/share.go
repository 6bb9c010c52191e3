package processor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"precis/internal/cluster"
	"precis/internal/recovery"
	"precis/internal/standby"
	"precis/state"
)

// In a cluster a processor begins with no partition, and takes and gives up those that its membership says (internal/cluster). The
// lanes of all its partitions read the log together, so they stop for a moment whenever the set changes: each closes its batch, and
// goes on behind it.

// sharing is what a processor needs to share partitions; member is nil without a cluster.
type sharing struct {
	member  *cluster.Member
	changes chan change
	live    func(*partition) // starts what runs beside a lane
	part    atomic.Uint64    // bits of this processor's part of all weights; 0: all
	// places are held by a partition's life, from its claim until all of it has ended.
	places []sync.Mutex
	mu     sync.Mutex     // of changes to the set
	redo   map[int]redone // partitions to be made again
	// working is what changes the set; ended means that nothing begins to any more.
	working sync.WaitGroup
	ended   bool
	// follower follows partitions of others.
	follower *standby.Follower
}

// begin notes that work on the set begins; false if the processor ends.
func (s *sharing) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.working.Add(1)
	}
	return !s.ended
}

// end waits until nothing changes the set any more. Whoever waits for the lanes has given up by then.
func (s *sharing) end() {
	if s.member == nil {
		return
	}
	s.member.Close()
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.working.Wait()
}

// change is made to the set of partitions while no lane runs.
type change struct {
	make func()
	done chan error // capacity 1
}

// dropTries is how often partitions are opened: a second time without what the store has of them.
const dropTries = 2

// joinCluster becomes a member of the configured cluster.
func (p *Processor) joinCluster(ctx context.Context, at streams) (err error) {
	c := p.opts.Config.Cluster
	p.shares.places, p.shares.changes = make([]sync.Mutex, p.total()), make(chan change)
	p.ready = newReadiness(nil)
	close(p.ready.done)
	p.catching = behind(nil, at.events, p.opts.Now())
	p.openSnapshots(ctx, at.summaries.Replicas)
	p.shares.follower = p.newFollower()
	p.shares.member, err = cluster.Open(ctx, p.broker.JetStream(), p, cluster.Options{
		Name: c.Name, ID: p.owner, Weight: c.Weight, Units: p.total(), Idle: 1, Replicas: at.summaries.Replicas, Lease: p.opts.Lease, Logger: p.log, Changed: p.divide,
		Standbys: c.Standbys, Report: p.report, Aside: p.room.check,
	})
	return err
}

// divide has this processor spend its part of the providers' budgets and rates.
func (p *Processor) divide(members int, part float64) {
	p.shares.part.Store(math.Float64bits(part))
	runner, err := p.newRunner(p.config.Load())
	if err != nil {
		p.log.Error().Err(err).Msg("budgets of providers are not divided anew")
		return
	}
	p.runners.use(runner)
	p.log.Info().Int("members", members).Float64("part", part).Msg("budgets and rates of providers are divided among the members")
}

// portion is this processor's part of a limit; 0 stays no limit.
func (p *Processor) portion(limit int64) int64 {
	part := math.Float64frombits(p.shares.part.Load())
	if part == 0 || limit == 0 {
		return limit
	}
	return max(1, int64(float64(limit)*part))
}

// relieveFor bounds how long an end waits for other processors to be near. A million events take 18 s from the log and a quarter of a second from a snapshot: what is not near
// by then won't be soon. It leaves most of the ten seconds that a container has to end.
const relieveFor = 3 * time.Second

// untilRelieved returns a context that ends when ctx has ended and the others in the cluster are ready to take the partitions.
func (p *Processor) untilRelieved(ctx context.Context) (context.Context, context.CancelFunc) {
	if p.shares.member == nil {
		return context.WithCancel(ctx)
	}
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer stop()
		select {
		case <-ctx.Done():
			waiting, cancel := context.WithTimeout(run, relieveFor)
			defer cancel()
			p.shares.member.PrepareLeave(waiting)
		case <-run.Done():
		}
	}()
	return run, stop
}

// takePart runs the membership until the returned function is called, which leaves the cluster: nothing may run any more by then.
func (p *Processor) takePart(ctx context.Context) (leave func() error) {
	m := p.shares.member
	if m == nil {
		return func() error { return nil }
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() {
		err := m.Run(ctx)
		if err != nil {
			p.fail(err)
		}
		ended <- err
	}()
	following, rest := p.untilEnd(ctx)
	var followed sync.WaitGroup
	followed.Go(func() { p.follow(following) })
	followed.Go(func() { p.keepSnapshots(following) })
	return func() error {
		rest()
		followed.Wait()
		stop()
		err := <-ended
		leaving, cancel := context.WithTimeout(context.Background(), p.opts.CloseTimeout)
		defer cancel()
		m.Leave(leaving)
		return err
	}
}

// Acquire implements cluster.Holder.
func (p *Processor) Acquire(ctx context.Context, ids []int) error {
	if !p.shares.begin() {
		return errEnding
	}
	defer p.shares.working.Done()
	ctx, cancel := p.untilEnd(ctx) // an end does not wait for it
	defer cancel()
	resume := p.shares.follower.Yield(ids)
	for _, id := range ids {
		p.shares.places[id].Lock()
	}
	resume()
	config := p.folds.Load()
	parts, err := p.openAnew(ctx, ids)
	if err != nil {
		for _, id := range ids {
			p.shares.places[id].Unlock()
		}
		if fatalStart(err) {
			err = fmt.Errorf("%w: %w", cluster.ErrFatal, err)
		}
		return err
	}
	for _, part := range parts {
		part.inBulk.Add(1) // who takes it out meanwhile waits for that
		p.shares.live(part)
	}
	p.edit(func(list []*partition) []*partition { return append(list, parts...) })
	at, err := p.streams(ctx)
	if err == nil {
		err = p.bulk(ctx, parts, behind(parts, at.events, p.opts.Now()))
	}
	for _, part := range parts {
		part.inBulk.Done()
	}
	if err == nil {
		err = p.between(ctx, func() {
			for _, part := range parts {
				part.reads = true
			}
		})
	}
	for _, part := range parts {
		if err == nil && p.folds.Load() != config && p.Runs(part.id) { // a reload may not have seen them; the lane of one that waits for parked rows answers late
			err = part.call(ctx, func() error {
				if c := p.folds.Load(); c != part.config {
					return part.reconfigure(c, p.opts.Now())
				}
				return nil
			})
			if err != nil && !p.Runs(part.id) { // it was given up meanwhile, and the others go on
				err = nil
			}
		}
	}
	if err != nil {
		_, ending := p.takeOut(context.WithoutCancel(ctx), parts, false)
		return errors.Join(err, ending)
	}
	p.log.Info().Ints("partitions", ids).Msg("partitions taken over")
	return nil
}

// fatalStart reports whether an error of a start ends the processor.
func fatalStart(err error) bool {
	return errors.Is(err, recovery.ErrRolledBack) || errors.Is(err, recovery.ErrRewritten) || errors.Is(err, recovery.ErrOtherStream) ||
		errors.Is(err, recovery.ErrUnfinished) || fatal(err)
}

// openAnew opens partitions. What the store has of one may not be what is on record: another processor had the partition since, while this
// one still decided. It is made again from the log then.
func (p *Processor) openAnew(ctx context.Context, ids []int) (parts []*partition, err error) {
	var restored []int
	for _, id := range ids {
		if err := p.dropAgain(ctx, id); err != nil {
			return nil, err
		}
		if p.restore(ctx, id) {
			restored = append(restored, id)
		}
	}
	for try := 1; ; try++ {
		at, err := p.streams(ctx)
		if err != nil {
			return nil, err
		}
		parts, err := p.openAll(ctx, ids, at)
		drop, why := ids, fromLog
		switch {
		case fatalStart(err):
			drop = restored // of rows that came from a snapshot, the log says more
		case errors.Is(err, state.ErrLost):
			drop, why = p.lostOf(ids), rowsLost
		case !errors.Is(err, ErrOtherWriter):
			drop = nil
		}
		if len(drop) == 0 || try == dropTries {
			return parts, err
		}
		p.log.Warn().Err(err).Ints("partitions", drop).Msg("what the store has of these partitions is not what is on record, or is lost: it is made again")
		for _, id := range drop {
			p.markAgain(id, why)
			if err := p.dropAgain(ctx, id); err != nil {
				return nil, err
			}
			if p.restore(ctx, id) {
				restored = append(restored, id)
			}
		}
	}
}

// redone is why a partition is made again.
type redone uint8

const (
	rowsLost redone = 1 + iota // from a snapshot that does not name what is lost, or from the log
	fromLog                    // what a snapshot has may not be on record, or have handed over what a fork is to begin with again
)

// dropAgain drops what the store has of a partition that is to be made again. One that is so only because rows of a parked thread are lost keeps
// what it has if they are back.
func (p *Processor) dropAgain(ctx context.Context, id int) error {
	p.shares.mu.Lock()
	why := p.shares.redo[id]
	p.shares.mu.Unlock()
	if why != fromLog {
		lost, err := p.isLost(ctx, id)
		if err != nil {
			return err
		}
		if !lost {
			p.madeAgain(id)
			return nil
		}
	}
	drop := p.store.Drop
	if why == fromLog {
		drop = p.dropRows
	}
	if err := drop(id); err != nil {
		return err
	}
	p.madeAgain(id)
	return nil
}

// madeAgain notes that a partition's rows are dropped, or need not be.
func (p *Processor) madeAgain(id int) {
	p.shares.mu.Lock()
	defer p.shares.mu.Unlock()
	delete(p.shares.redo, id)
}

// Release implements cluster.Holder.
func (p *Processor) Release(ctx context.Context, ids []int) error {
	if !p.shares.begin() {
		return errEnding
	}
	defer p.shares.working.Done()
	_, err := p.takeOut(ctx, p.some(ids), true)
	p.log.Info().Ints("partitions", ids).Msg("partitions given up")
	return err
}

// Abandon implements cluster.Holder.
func (p *Processor) Abandon(ids []int) {
	for _, part := range p.some(ids) {
		p.lose(part, nil)
	}
}

// Runs implements cluster.Holder.
func (p *Processor) Runs(id int) bool {
	part := p.part(id)
	return part != nil && !part.leaves.Load()
}

// lose ends a partition that another processor has, or may have: nothing of it can be stored any more.
func (p *Processor) lose(part *partition, why error) {
	if why != nil {
		part.rivaled.Store(true)
	}
	if !p.shares.begin() {
		return // the processor ends it
	}
	go func() {
		defer p.shares.working.Done()
		if why != nil {
			part.log.Warn().Err(why).Msg("partition is given up")
		}
		out, err := p.takeOut(context.Background(), []*partition{part}, false)
		if err != nil {
			part.log.Debug().Err(err).Msg("end of a lost partition")
		}
		if out && why != nil {
			p.shares.member.Lost(part.id)
		}
	}()
}

// again gives up a partition, and makes it from the log when it is taken the next time.
func (p *Processor) again(part *partition) {
	p.markAgain(part.id, fromLog)
	p.lose(part, errors.New("it is made again from the log"))
}

// markAgain has a partition be made again when it is opened the next time; false if that is noted already.
func (p *Processor) markAgain(id int, why redone) (first bool) {
	p.shares.mu.Lock()
	defer p.shares.mu.Unlock()
	if p.shares.redo == nil {
		p.shares.redo = map[int]redone{}
	}
	first = p.shares.redo[id] == 0
	p.shares.redo[id] = max(p.shares.redo[id], why)
	return first
}

// failing ends the processor, or the partition alone if another processor of the cluster has it.
func (p *Processor) failing(part *partition) func(error) {
	return func(err error) {
		if p.shares.member != nil && errors.Is(err, ErrOtherWriter) {
			p.lose(part, err)
			return
		}
		p.fail(err)
	}
}

// takeOut takes partitions out of the set, and ends them, unless something else does that already. out reports whether all have been
// taken out: if not, the processor ends, and they with it.
func (p *Processor) takeOut(ctx context.Context, parts []*partition, orderly bool) (out bool, err error) {
	parts = slices.DeleteFunc(slices.Clone(parts), func(part *partition) bool { return !part.leaves.CompareAndSwap(false, true) })
	for _, part := range parts {
		part.stop()
	}
	if err := p.between(ctx, func() { p.edit(without(parts)) }); err != nil {
		for _, part := range parts {
			part.leaves.Store(false)
		}
		return false, err
	}
	return true, p.endLife(parts, orderly)
}

// some returns those of partitions that run.
func (p *Processor) some(ids []int) (parts []*partition) {
	for _, id := range ids {
		if part := p.part(id); part != nil {
			parts = append(parts, part)
		}
	}
	return parts
}

// edit replaces the set of partitions.
func (p *Processor) edit(with func([]*partition) []*partition) {
	p.shares.mu.Lock()
	defer p.shares.mu.Unlock()
	p.running.Store(newSet(with(p.parts())))
	p.threads.Forget() // it reads those of other partitions from now on
}

func without(parts []*partition) func([]*partition) []*partition {
	gone := map[*partition]bool{}
	for _, part := range parts {
		gone[part] = true
	}
	return func(list []*partition) (left []*partition) {
		for _, part := range list {
			if !gone[part] {
				left = append(left, part)
			}
		}
		return left
	}
}

// between makes a change while no lane runs.
func (p *Processor) between(ctx context.Context, f func()) error {
	c := change{f, make(chan error, 1)}
	select {
	case p.shares.changes <- c:
		return <-c.done
	case <-p.stopping:
		return errEnding
	case <-ctx.Done():
		return ctx.Err()
	}
}

// endLife ends partitions whose lanes have ended, or have not begun.
func (p *Processor) endLife(parts []*partition, orderly bool) error {
	for _, part := range parts {
		part.stop()
		part.inBulk.Wait() // no lane, and it commits what it has applied
		part.life.settled()
		part.life.rest()
	}
	err := p.drain(parts, orderly)
	for _, part := range parts {
		part.life.quiet()
	}
	err = errors.Join(err, unsent(parts))
	for _, part := range parts {
		<-part.worker.gone // it may have a step under way, which commits nothing behind this
		p.metrics.forget(part.id)
		p.shares.places[part.id].Unlock()
	}
	return err
}
