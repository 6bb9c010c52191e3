package processor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"precis/internal/broker"
	"precis/internal/recovery"
	"precis/internal/snapshot"
	"precis/state"
)

const (
	// snapshotRate is how many bytes a second a snapshot is written and sent with, so that nothing else waits for it.
	snapshotRate = 16 << 20
	// A snapshot costs what the partition's rows cost, however few have changed. So one is due when a twentieth of the log is new since the last
	// one, or after so many intervals.
	snapshotShare, snapshotLate = 20, 4
	// snapshotList and snapshotGet bound how long a start waits for the object store: for what there is, and for an object beside its size.
	snapshotList, snapshotGet = 2 * time.Second, 10 * time.Second
	// A partition that has been away for snapshotStale may name rows of parked threads that are deleted a week later (parkedFor), so that it begins from a snapshot
	// however little it lacks. A bucket has one, since there is another one each snapshotRenew, and it keeps them for a week.
	snapshotStale, snapshotRenew = 7 * 24 * time.Hour, 3 * 24 * time.Hour
	// snapshotPatience is how long a snapshot waits until what it has is on record.
	snapshotPatience = time.Minute
)

// errLeft: the partition has gone to another processor.
var errLeft = errors.New("the partition is another processor's")

// snapshots are those of a cluster's partitions, and what this processor knows of them.
type snapshots struct {
	bucket *snapshot.Bucket // nil: there are none
	every  time.Duration

	mu      sync.Mutex
	last    map[int]snapshot.Info // by own partition, the furthest one; zero: none
	failed  map[int]time.Time     // when the last one failed
	fromLog map[int]bool          // partitions to be made from the log: what a snapshot has did not fit
}

// openSnapshots opens the object store of the cluster. Without it, a start folds what the store lacks.
func (p *Processor) openSnapshots(ctx context.Context, replicas int) {
	s, c := &p.snapshots, p.opts.Config.Cluster
	s.every, s.last, s.failed, s.fromLog = c.Snapshots, map[int]snapshot.Info{}, map[int]time.Time{}, map[int]bool{}
	if s.every == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, snapshotGet)
	defer cancel()
	var err error
	if s.bucket, err = snapshot.Open(ctx, p.broker.JetStream(), p.publisher, c.Name, replicas); err != nil {
		s.bucket = nil
		p.log.Warn().Err(err).Msg("no snapshots of partitions: the processor needs the rights to make the stream OBJ_" + snapshot.Name(c.Name) + " and to publish to $O." + snapshot.Name(c.Name) + ".>; or set cluster.snapshots: 0s")
	}
}

// keepSnapshots makes snapshots of own partitions, one after the other, until ctx ends.
func (p *Processor) keepSnapshots(ctx context.Context) {
	if p.snapshots.bucket == nil {
		return
	}
	every := time.NewTicker(min(max(p.snapshots.every/20, 100*time.Millisecond), 30*time.Second))
	defer every.Stop()
	for {
		select {
		case <-every.C:
		case <-ctx.Done():
			return
		}
		for _, part := range p.parts() {
			if ctx.Err() != nil || !p.here(part.id) || !p.due(ctx, part) {
				continue
			}
			began := time.Now()
			made, err := p.snapshot(ctx, part)
			switch {
			case ctx.Err() != nil || errors.Is(err, errLeft):
			case err != nil:
				p.metrics.snapshots.WithLabelValues("failed").Inc()
				p.snapshots.fails(part.id, p.opts.Now())
				part.log.Warn().Err(err).Msg("no snapshot of the partition")
			default:
				p.metrics.snapshots.WithLabelValues("made").Inc()
				part.log.Info().Uint64("seq", made.Position).Uint64("bytes", made.Bytes).Dur("took", time.Since(began)).Msg("snapshot of the partition")
			}
		}
	}
}

// due reports whether a partition needs another snapshot.
func (p *Processor) due(ctx context.Context, part *partition) bool {
	s := &p.snapshots
	s.mu.Lock()
	last, known := s.last[part.id]
	failed := s.failed[part.id]
	s.mu.Unlock()
	if p.opts.Now().Sub(failed) < s.every {
		return false
	}
	if !known { // the former owner's count as well
		ctx, cancel := context.WithTimeout(ctx, snapshotList)
		defer cancel()
		list, err := s.bucket.List(ctx, part.id)
		if err != nil {
			return false
		}
		if len(list) > 0 {
			last = list[0]
		}
		last = s.found(part.id, last)
	}
	age, position := p.opts.Now().Sub(last.Time), part.position.now()
	if age < 0 { // by the clock of the former owner: how old it is can't be told
		age = snapshotLate * s.every
	}
	since := position - min(last.Position, position)
	if position > 0 && age >= max(s.every, snapshotRenew) && p.store.Format() != state.Format() {
		return true
	}
	return age >= s.every && since >= p.opts.BulkFrom && (since*snapshotShare >= position || age >= snapshotLate*s.every)
}

// fails notes that a snapshot has failed, which the next try waits for as for one that has not.
func (s *snapshots) fails(id int, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed[id] = at
}

func (s *snapshots) note(id int, info snapshot.Info) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last[id] = info
}

// found notes the newest snapshot that there is, unless something else was noted while it was looked for; it returns what is.
func (s *snapshots) found(id int, info snapshot.Info) snapshot.Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last, known := s.last[id]; known {
		return last
	}
	s.last[id] = info
	return info
}

// outdated has another snapshot of an own partition be made as if there were none.
func (s *snapshots) outdated(id int) {
	if s.bucket != nil {
		s.note(id, snapshot.Info{})
	}
}

// snapshot puts the rows of a partition into the object store. It is announced only when everything that the rows have decided is on
// record: what another processor then finds on record, it finds in them.
func (p *Processor) snapshot(ctx context.Context, part *partition) (info snapshot.Info, err error) {
	claim, err := p.folds.Load().Claim(p.owner)
	if err != nil {
		return info, err
	}
	at, err := p.streams(ctx)
	if err != nil {
		return info, err
	}
	taken := p.opts.Now()
	table, err := p.store.Export(part.id, paced(ctx))
	if err != nil {
		return info, err
	}
	defer func() { err = errors.Join(err, table.Remove()) }()
	if err := p.onRecord(ctx, part, table.Meta.Position); err != nil {
		return info, err
	}
	f, err := table.Open()
	if err != nil {
		return info, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err = p.snapshots.bucket.Put(ctx, snapshot.Info{
		Partition: part.id, Partitions: p.strays(), Format: p.store.Format(), Position: table.Meta.Position, First: at.events.First, Config: claim.Fingerprint, Time: taken,
	}, f, paced(ctx))
	if err == nil {
		p.snapshots.note(part.id, info)
	}
	return info, err
}

// onRecord waits until everything that a partition has decided up to a position is on record.
func (p *Processor) onRecord(ctx context.Context, part *partition, position uint64) error {
	ctx, cancel := context.WithTimeout(ctx, snapshotPatience)
	defer cancel()
	for part.recorded() < position {
		if !p.here(part.id) {
			return errLeft
		}
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return fmt.Errorf("wait until what is decided is on record: %w", err)
		}
	}
	if !p.here(part.id) {
		return errLeft
	}
	return nil
}

// paced returns what waits as long as bytes take at snapshotRate.
func paced(ctx context.Context) func(bytes int) error {
	began, sent := time.Now(), 0
	return func(bytes int) error {
		sent += bytes
		ahead := time.Duration(sent)*time.Second/snapshotRate - time.Since(began)
		if ahead <= 0 {
			return ctx.Err()
		}
		return pause(ctx, ahead)
	}
}

// restore begins a partition, which nothing has open, from a snapshot, if one is far ahead of what the store has, or what it has was dropped or is old. It reports whether it did. One
// that does not fit is passed over: the log has everything.
func (p *Processor) restore(ctx context.Context, id int) bool {
	s := &p.snapshots
	if s.bucket == nil {
		return false
	}
	s.mu.Lock()
	delete(s.last, id) // of an earlier ownership
	not := s.fromLog[id]
	s.mu.Unlock()
	meta, err := p.store.View(id).Meta()
	mark, unmarked := p.store.Lost(id)
	if not || err != nil || unmarked != nil {
		return false
	}
	asking, cancel := context.WithTimeout(ctx, snapshotList)
	defer cancel()
	at, err := p.streams(asking)
	if err != nil {
		return false
	}
	ahead := p.opts.BulkFrom
	switch {
	case mark.Set && meta.Position == 0:
		ahead = 1
	case p.isStale(asking, id, meta, at):
		ahead = 0 // what its owners decided since may follow from no event
	case at.events.Last < meta.Position+ahead:
		p.madeAnew(id)
	}
	if at.events.Last < meta.Position+ahead {
		return false
	}
	list, err := s.bucket.List(asking, id)
	if err != nil {
		p.log.Warn().Err(err).Int("partition", id).Msg("snapshots of the partition can't be read: it is made from the log")
	}
	for _, info := range list {
		if info.Position < meta.Position+ahead {
			return false
		}
		began := time.Now()
		err := p.take(ctx, info, at)
		if err == nil {
			p.beginLosses(ctx)
			p.metrics.snapshots.WithLabelValues("used").Inc()
			p.log.Info().Int("partition", id).Uint64("seq", info.Position).Uint64("bytes", info.Bytes).Dur("took", time.Since(began)).Msg("partition begins from a snapshot")
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		p.metrics.snapshots.WithLabelValues("refused").Inc()
		p.log.Warn().Err(err).Int("partition", id).Uint64("seq", info.Position).Msg("a snapshot of the partition is not used: the log has what it has")
	}
	return false
}

// isStale reports whether rows that a store has may name rows of parked threads that were deleted in order since: what comes next in the log, or the claim of the next owner, is
// old, or gone. Rows that hold what is not on record yet are not stale: after a quiet week they are the last owner's, which a snapshot would drop.
func (p *Processor) isStale(ctx context.Context, id int, meta state.Meta, at streams) bool {
	if meta.Position == 0 || p.store.Format() == state.Format() {
		return false
	}
	if waiting, err := p.store.View(id).Outbox(); err != nil || len(waiting) > 0 {
		return false
	}
	if meta.Position+1 < at.events.First {
		return true
	}
	old := func(m broker.Stored, err error) bool { return err == nil && p.opts.Now().Sub(m.Time) >= snapshotStale }
	return old(p.events.Next(ctx, ">", meta.Position+1)) || old(p.summaries.Next(ctx, recovery.OwnRecords(id), meta.Own.Seq+1))
}

// errUnfit: a snapshot is not of this log, or not for this program.
var errUnfit = errors.New("the snapshot does not fit")

// take puts the rows of a snapshot in the place of what the store has, if they are of the streams as they are.
func (p *Processor) take(ctx context.Context, info snapshot.Info, at streams) (err error) {
	switch {
	case !state.Reads(info.Format):
		return fmt.Errorf("%w: its format is %q, this program's %q", errUnfit, info.Format, state.Format())
	case info.Partitions != p.strays():
		return fmt.Errorf("%w: it is of %d partitions, there are %d", errUnfit, info.Partitions, p.strays())
	case at.events.MaxAge == 0 && info.First != at.events.First: // no retention has removed them
		return fmt.Errorf("%w: EVENTS began at %d, and begins at %d", errUnfit, info.First, at.events.First)
	}
	ctx, cancel := context.WithTimeout(ctx, snapshotGet+time.Duration(info.Bytes)*time.Second/(snapshotRate/16))
	defer cancel()
	table, err := p.store.Receive(info.Partition, func(w io.Writer) error { return p.snapshots.bucket.Get(ctx, info, w) })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, table.Remove()) }()
	meta := table.Meta
	if meta.Position != info.Position {
		return fmt.Errorf("%w: its rows stand at event %d, and it says %d", errUnfit, meta.Position, info.Position)
	}
	chain := recovery.OwnChain{Log: p.summaries, Partition: info.Partition, Strays: p.strays()}
	err = errors.Join(recovery.CheckLog(meta, at.events), recovery.CheckRecords(meta, at.summaries))
	if err == nil {
		err = recovery.CheckMarks(ctx, []state.Meta{meta}, p.readers())
	}
	if err == nil {
		err = chain.Check(ctx, meta)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errUnfit, err)
	}
	return p.store.Install(table)
}

// dropRows removes what the store has of partitions. They are made again from the log: what does not fit the record may be a snapshot's.
func (p *Processor) dropRows(ids ...int) error {
	p.snapshots.mu.Lock()
	if p.snapshots.fromLog == nil { // there are no snapshots
		p.snapshots.fromLog = map[int]bool{}
	}
	for _, id := range ids {
		p.snapshots.fromLog[id] = true
	}
	p.snapshots.mu.Unlock()
	return p.store.Drop(ids...)
}

// snapshotMetrics are of the newest snapshots of own partitions.
type snapshotMetrics struct {
	p          *Processor
	age, bytes *prometheus.Desc
}

func newSnapshotMetrics(p *Processor) *snapshotMetrics {
	return &snapshotMetrics{
		p:     p,
		age:   prometheus.NewDesc("precis_snapshot_age_seconds", "How long ago the newest snapshot of a partition that this processor owns was taken.", []string{"partition"}, nil),
		bytes: prometheus.NewDesc("precis_snapshot_bytes", "Size of that snapshot.", []string{"partition"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (m *snapshotMetrics) Describe(out chan<- *prometheus.Desc) {
	out <- m.age
	out <- m.bytes
}

// Collect implements prometheus.Collector.
func (m *snapshotMetrics) Collect(out chan<- prometheus.Metric) {
	s := &m.p.snapshots
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, info := range s.last {
		if info.Time.IsZero() || m.p.part(id) == nil {
			continue
		}
		partition := strconv.Itoa(id)
		out <- prometheus.MustNewConstMetric(m.age, prometheus.GaugeValue, m.p.opts.Now().Sub(info.Time).Seconds(), partition)
		out <- prometheus.MustNewConstMetric(m.bytes, prometheus.GaugeValue, float64(info.Bytes), partition)
	}
}
