package processor

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/rs/zerolog"

	"precis/internal/config"
	"precis/internal/parked"
	"precis/internal/thread"
	"precis/state"
)

const (
	// parkEvery is the pause between two rounds of parking.
	parkEvery = 250 * time.Millisecond
	// parkAtOnce is how many threads are parked in one turn of a lane, which reads their rows once more.
	parkAtOnce = 32
	// parkBytes bounds what is packed for a turn, beside one thread.
	parkBytes = 4 << 20
	// parkLooks is how many threads of a partition a round looks at.
	parkLooks = 20_000
	// parkRest is how long a partition rests when all of its threads have been looked at: a share of the age.
	parkRest = 50
	// parkPause is how long a partition rests after a failure, and doubles with each one up to mostParkPause.
	parkPause, mostParkPause = time.Second, 5 * time.Minute
	// parkedFor is how long an object stands that has the rows of a thread no more: a snapshot, or a store that was away, may name it.
	parkedFor = 14 * 24 * time.Hour
)

// parkSettles is how long an object stands before rows leave for it: longer than a server keeps what it has acknowledged from its disk (sync_interval,
// 2m by default), by parkMargin.
var parkSettles = 5 * time.Minute

const parkMargin = 3 * time.Minute

// settlesFor is parkSettles, or longer if the embedded server's own interval is.
func settlesFor(n config.NATS) time.Duration {
	every, err := time.ParseDuration(n.Sync)
	if n.URL != "" || err != nil || every+parkMargin <= 5*time.Minute {
		return parkSettles
	}
	return every + parkMargin
}

// parking moves the rows of idle threads out of the store.
type parking struct {
	after   time.Duration // 0: none are moved
	rate    int           // threads a second
	settles time.Duration
	keeps   time.Duration
	parts   map[int]*parkingPart
	room    float64 // threads that may be moved now
	filled  time.Time
}

// parkingPart is what the parking of a partition has come to.
type parkingPart struct {
	part  *partition
	after string    // the thread that was looked at last
	begin time.Time // of the next pass
	rests time.Time // after a failure
	pause time.Duration
	put   []putObject
	waits map[string]bool // threads of put
	count parkedCount     // of the pass that is under way
}

// putObject is an object that waits for the rows it has.
type putObject struct {
	state.Packed // without its data
	place        parked.Place
	at           time.Time // when the server was known to have it, by this processor's clock
}

// parkedCount is how many threads of a partition are parked, and the size of their objects.
type parkedCount struct{ threads, bytes uint64 }

// openParking makes the stream of parked threads if any are to be parked. Rows of threads that are parked can be read without it.
func (p *Processor) openParking(ctx context.Context, replicas int) {
	c := p.opts.Config.Parking
	p.parking = parking{after: c.After, rate: c.PerSecond, settles: p.opts.ParkSettles, keeps: parkedFor, parts: map[int]*parkingPart{}, filled: p.opts.Now()}
	if c.After == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, snapshotGet)
	defer cancel()
	replicas = max(replicas, 1)
	made := replicas
	if p.opts.CheckOnly || p.store.Format() != state.Format() { // rows of parked threads are in a stream that was there
		made = 0
	}
	has, err := p.shelf.Provision(ctx, made)
	if errors.Is(err, parked.ErrNoStream) && p.store.Format() != state.Format() {
		p.parking.after = 0
		p.log.Error().Msgf("stream %s is gone, and the store has threads whose rows are there: an empty one is not made in its place, and what needs the rows waits. Restore %s, or stop the processor and move state in the data directory away: it is made again from the log", parked.Stream, parked.Stream)
		return
	}
	if err == nil && has < replicas {
		p.log.Warn().Int("replicas", has).Int("summaries", replicas).
			Msgf("%s has fewer replicas than SUMMARIES, and has the only copy of the rows of parked threads: nats stream edit %s --replicas %d", parked.Stream, parked.Stream, replicas)
	}
	if err != nil {
		p.parking.after = 0
		p.log.Warn().Err(err).Msg("no threads are parked: the processor needs the rights to make the stream " + parked.Stream + " and to publish to precis.parked.>; or set parking.after: 0s")
	}
}

// shelved reads the rows of parked threads for the store, which is opened before the connection.
type shelved struct {
	p   *Processor
	log zerolog.Logger // which says each failure of a few, since every read of every request fails while the server is away
}

func newShelved(p *Processor) shelved {
	return shelved{p, p.log.Sample(&zerolog.BurstSampler{Burst: 5, Period: 10 * time.Second})}
}

// Get implements state.Objects.
func (s shelved) Get(ctx context.Context, partition int, object string) ([]byte, error) {
	if s.p.shelf == nil {
		return nil, errors.New("there is no connection yet")
	}
	began := time.Now()
	data, err := s.p.shelf.Get(ctx, partition, object)
	if err != nil {
		s.p.metrics.parking.WithLabelValues("unread").Inc()
		s.log.Error().Err(err).Int("partition", partition).Str("object", object).Msg("rows of a parked thread can't be read: what needs them waits, or fails")
		return nil, err
	}
	s.p.losses.found(lossOf{partition, object}, data)
	s.p.metrics.parkedReads.Observe(time.Since(began).Seconds())
	return data, nil
}

func (m *metrics) makeParking() {
	m.parking = m.counters("precis_parking_total", "Threads parked, back, not parked since they had changed (changed), or since the server had lost its copy (unsettled), failed; reads of parked rows that failed (unread), and found what is missing or is not what was put there (lost); objects deleted.", "outcome")
	for _, outcome := range []string{"parked", "back", "changed", "unsettled", "failed", "unread", "lost", "deleted"} {
		m.parking.WithLabelValues(outcome)
	}
	m.parkedReads = m.histogram("precis_parked_read_seconds", "Time until the rows of a parked thread were read.", 0.0001, 16)
	m.parked = m.gauges("precis_parked_threads", "Parked threads of a partition, as of the last pass over its threads.", "partition")
	m.parkedBytes = m.gauges("precis_parked_bytes", "Size of their objects.", "partition")
}

// keepParking parks idle threads of own partitions until ctx ends.
func (p *Processor) keepParking(ctx context.Context) {
	if p.parking.after == 0 {
		return
	}
	every := time.NewTicker(min(parkEvery, max(p.parking.after/4, 10*time.Millisecond)))
	defer every.Stop()
	for {
		select {
		case <-every.C:
		case <-ctx.Done():
			return
		}
		p.parking.fill(p.opts.Now())
		p.parking.forget(p.part)
		for _, part := range p.parts() {
			if ctx.Err() != nil || !part.current.Load() || part.leaves.Load() || part.rivaled.Load() || part.busy() {
				continue
			}
			k := p.parking.of(part)
			if p.opts.Now().Before(k.rests) {
				continue
			}
			err := p.parkSome(ctx, k)
			if ctx.Err() != nil {
				return
			}
			if errors.Is(err, errEnding) || errors.Is(err, errNotOwn) { // the partition has left
				continue
			}
			k.ended(err, p.opts.Now())
			if err != nil {
				p.metrics.parking.WithLabelValues("failed").Inc()
				part.log.Warn().Err(err).Time("again_at", k.rests).Msg("idle threads are not parked for now")
			}
		}
	}
}

// busy reports whether the lane would let the parking of all partitions wait: for an object, or for an outbox that is full.
func (p *partition) busy() bool { return len(p.turns) > 0 || p.outbox.full() }

// ended notes how a round of a partition has ended: after failures it rests, longer each time.
func (k *parkingPart) ended(err error, now time.Time) {
	if err == nil {
		k.pause = 0
		return
	}
	k.pause = min(max(2*k.pause, parkPause), mostParkPause)
	k.rests = now.Add(k.pause)
}

// fill allows for the threads of the time since the last call, those of a second at most.
func (k *parking) fill(now time.Time) {
	k.room = min(k.room+now.Sub(k.filled).Seconds()*float64(k.rate), float64(max(k.rate, 1)))
	k.filled = now
}

// of is the parking of a partition, begun anew if another processor has had it.
func (k *parking) of(part *partition) *parkingPart {
	if k.parts[part.id] == nil || k.parts[part.id].part != part {
		k.parts[part.id] = &parkingPart{part: part, waits: map[string]bool{}}
	}
	return k.parts[part.id]
}

// forget lets go of the partitions that have left.
func (k *parking) forget(has func(int) *partition) {
	for id, of := range k.parts {
		if has(id) != of.part {
			delete(k.parts, id)
		}
	}
}

// parkSome parks threads whose objects have stood long enough, makes objects of the next idle ones, and deletes those that have
// stood long enough without a thread.
func (p *Processor) parkSome(ctx context.Context, k *parkingPart) error {
	now := p.opts.Now()
	done, err := p.settled(ctx, k, now)
	if len(done) > 0 { // also those in front of one that can't be looked at
		err = errors.Join(err, p.park(ctx, k.part, done, now))
	}
	if err != nil {
		return err
	}
	if now.Before(k.begin) || p.parking.room < 1 {
		return nil
	}
	idle, more, err := p.idleThreads(k, now)
	if err == nil && len(idle) > 0 {
		err = p.putIdle(ctx, k, idle, now)
	}
	if err == nil && !more { // behind what this round has put: a deletion that fails holds up no thread
		err = p.passed(ctx, k, now)
	}
	return err
}

// putIdle puts objects of threads, whose rows leave when the objects have stood long enough.
func (p *Processor) putIdle(ctx context.Context, k *parkingPart, idle []*state.Packed, now time.Time) error {
	p.parking.room -= float64(len(idle))
	places, err := p.shelf.Put(ctx, k.part.id, idle)
	if err != nil {
		return err
	}
	for i, o := range idle {
		if places[i] != nil { // else the next pass finds it again
			k.waits[o.Thread] = true
			k.put = append(k.put, putObject{Packed: state.Packed{Thread: o.Thread, Parked: o.Parked}, place: places[i], at: now})
		}
	}
	return nil
}

// settled takes the objects that have stood long enough. A server that has failed meanwhile may have lost what it had acknowledged, and what it had not
// synced: only what the leader still has where it was put, and is as old as that, is on its disk.
func (p *Processor) settled(ctx context.Context, k *parkingPart, now time.Time) (done []putObject, err error) {
	n, size := 0, uint64(0)
	for n < len(k.put) && n < parkAtOnce && size < parkBytes && now.Sub(k.put[n].at) >= p.parking.settles {
		size += k.put[n].Bytes
		n++
	}
	if n == 0 {
		return nil, nil
	}
	list := k.put[:n]
	k.put = k.put[n:] // also after an error: they are found again
	for _, o := range list {
		delete(k.waits, o.Thread)
	}
	there, err := p.shelf.Now(ctx)
	if err != nil {
		return nil, err
	}
	for _, o := range list {
		err := p.shelf.Settled(ctx, k.part.id, o.Object, o.place, there.Add(-p.parking.settles))
		switch {
		case err == nil:
			done = append(done, o)
		case errors.Is(err, parked.ErrYoung): // the clocks differ
			o.at, k.waits[o.Thread] = now, true
			k.put = append(k.put, o)
		case errors.Is(err, parked.ErrMoved):
			p.metrics.parking.WithLabelValues("unsettled").Inc()
			k.part.log.Warn().Err(err).Str("thread", o.Thread).Msg("the server has lost rows of an idle thread that it had acknowledged: they stay in the store")
		default:
			return done, err
		}
	}
	return done, nil
}

// idleThreads packs the next threads that have been idle for long enough. A pass ends with the last thread, behind which there are no more.
func (p *Processor) idleThreads(k *parkingPart, now time.Time) (list []*state.Packed, more bool, err error) {
	snapshot := p.store.Snapshot(k.part.id)
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	var sending map[string]bool
	most, looks, size := min(parkAtOnce, int(p.parking.room)), 0, uint64(0)
	err = snapshot.HeadersAfter(k.after, func(h *thread.Header) (bool, error) {
		if len(list) == most || size >= parkBytes || looks == parkLooks {
			more = true
			return false, nil
		}
		looks, k.after = looks+1, h.Thread
		idle := h.LastAt > 0 && now.Sub(time.Unix(0, h.LastAt)) >= p.parking.after && state.Restful(h)
		if !idle {
			return true, nil
		}
		stub, err := snapshot.Parked(h.Thread)
		if err != nil {
			return false, err
		}
		if stub != nil {
			k.count.threads, k.count.bytes = k.count.threads+1, k.count.bytes+stub.Stored
			return true, nil
		}
		_, looked, err := snapshot.IdleAt(h.Thread)
		if err == nil && sending == nil {
			sending, err = snapshot.Sending()
		}
		if err != nil || looked || k.waits[h.Thread] || sending[h.Thread] {
			return true, err
		}
		packed, err := snapshot.Pack(h.Thread)
		if packed != nil {
			list, size = append(list, packed), size+packed.Bytes
		}
		return true, err
	})
	return list, more, err
}

// passed ends a pass over the threads of a partition.
func (p *Processor) passed(ctx context.Context, k *parkingPart, now time.Time) error {
	id := strconv.Itoa(k.part.id)
	if !k.part.leaves.Load() { // else their series are gone, or about to be
		p.metrics.parked.WithLabelValues(id).Set(float64(k.count.threads))
		p.metrics.parkedBytes.WithLabelValues(id).Set(float64(k.count.bytes))
	}
	k.after, k.count = "", parkedCount{}
	k.begin = now.Add(min(p.parking.after/parkRest, time.Hour))
	return p.tidyParked(ctx, k, now)
}

// park has the rows of threads leave the store, if they are as they were packed.
func (p *Processor) park(ctx context.Context, part *partition, list []putObject, now time.Time) error {
	done, err := answer(ctx, part, func() (int, error) { return part.park(list, now) })
	if err == nil || done > 0 { // else the lane may not have come to it
		p.metrics.parking.WithLabelValues("parked").Add(float64(done))
		p.metrics.parking.WithLabelValues("changed").Add(float64(len(list) - done))
	}
	return err
}

// park is for the lane. Rows leave in a batch of their own. What has no rows in the end may still be another store's.
func (p *partition) park(list []putObject, now time.Time) (done int, err error) {
	if p.part.Meta().Staged > 0 {
		return 0, nil
	}
	if err := p.flush(p.here()); err != nil {
		return 0, err
	}
	var not []putObject
	for _, o := range list {
		var is bool
		if is, err = p.part.Park(&o.Packed); err != nil {
			break
		}
		if is {
			done++
		} else {
			not = append(not, o)
		}
	}
	if done > 0 { // before anything else is done with the partition
		if p.failure = p.commit(p.here()); p.failure != nil {
			return done, p.failure
		}
	}
	for _, o := range not {
		p.part.NoteUnparked(state.Unparked{Thread: o.Thread, Object: o.Object, Since: now})
	}
	return done, errors.Join(err, p.flush(p.here()))
}

// errNotOwn: a partition is not this processor's any more.
var errNotOwn = fmt.Errorf("%w: its objects are left to its next owner", errElsewhere)

// tidyParked notes since when objects have no thread's rows, and deletes those that nothing can name any more.
func (p *Processor) tidyParked(ctx context.Context, k *parkingPart, now time.Time) error {
	var fresh, old []state.Unparked
	part := k.part
	err := p.store.View(part.id).UnparkedObjects(func(u state.Unparked) (bool, error) {
		switch {
		case u.Since.IsZero():
			fresh = append(fresh, u)
		case k.waits[u.Thread]: // its rows may be about to leave for it
		case now.Sub(u.Since) >= p.parking.keeps:
			old = append(old, u)
		}
		return len(fresh) < parkLooks && len(old) < parkAtOnce, nil
	})
	if err != nil {
		return err
	}
	if len(fresh) > 0 { // first: what can't be deleted does not keep them from being noted
		err = part.call(ctx, func() error {
			for _, u := range fresh {
				u.Since = now
				part.part.NoteUnparked(u)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	var gone []state.Unparked
	var failed error
	for _, u := range old {
		if part.leaves.Load() || part.rivaled.Load() || p.part(part.id) != part {
			return errNotOwn
		}
		stub, err := p.store.View(part.id).Parked(u.Thread)
		if err == nil && (stub == nil || stub.Object != u.Object) {
			if err = p.shelf.Delete(ctx, part.id, u.Object); err == nil {
				p.metrics.parking.WithLabelValues("deleted").Inc()
			}
		}
		if err != nil {
			failed = err
			break
		}
		gone = append(gone, u)
	}
	if len(gone) == 0 {
		return failed
	}
	err = part.call(ctx, func() error {
		for _, u := range gone {
			part.part.ForgetUnparked(u)
		}
		return nil
	})
	return errors.Join(failed, err)
}

// lostOf are those of partitions that are to be made again.
func (p *Processor) lostOf(ids []int) (lost []int) {
	p.shares.mu.Lock()
	defer p.shares.mu.Unlock()
	for _, id := range ids {
		if p.shares.redo[id] > 0 {
			lost = append(lost, id)
		}
	}
	return lost
}
