package processor

import (
	"context"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"precis/internal/broker"
	"precis/internal/config"
	"precis/internal/service"
	"precis/state"
)

// ParkAll has a processor park every thread as soon as nothing happens to it, if the environment says so: PRECIS_PARK=1 go test runs all tests of
// behaviour with threads that leave the store and come back all the time.
func ParkAll(c *config.Config) {
	if os.Getenv("PRECIS_PARK") != "" {
		ParkAtOnce(c)
	}
}

// ParkAtOnce has a processor park every thread as soon as nothing happens to it.
func ParkAtOnce(c *config.Config) {
	c.Parking = config.Parking{After: 1, PerSecond: 10_000}
}

func init() { parkSettles, parkConfirms = 1, 1 }

// Parked is how many threads were parked, and how many came back, so far.
func (p *Processor) Parked() (parked, back float64) {
	return p.parkedSoFar("parked"), p.parkedSoFar("back")
}

func (p *Processor) parkedSoFar(outcome string) float64 {
	var m dto.Metric
	if err := p.metrics.parking.WithLabelValues(outcome).Write(&m); err != nil {
		panic(err)
	}
	return m.GetCounter().GetValue()
}

// Tender has the background work of one round done whenever it is called, as each tick does.
func (p *Processor) Tender() func(context.Context) {
	chores := p.chores()
	return func(ctx context.Context) { p.tendAll(ctx, chores) }
}

// UnreadRest is how long such work leaves a partition alone in which it has waited in vain for the rows of a parked thread.
const UnreadRest = unreadRest

// MaxJobs is how many jobs are taken up at once.
const MaxJobs = maxJobs

// CheckHot holds what the partitions keep in memory against the store. Run must have returned.
func (p *Processor) CheckHot() error {
	for _, part := range p.parts() {
		if err := part.part.CheckHot(); err != nil {
			return err
		}
	}
	return nil
}

// Commits is how many batches were committed so far.
func (p *Processor) Commits() uint64 {
	var m dto.Metric
	if err := p.metrics.commits.(prometheus.Metric).Write(&m); err != nil {
		panic(err)
	}
	return m.GetHistogram().GetSampleCount()
}

// LookedAt is how many summaries sweeps have looked at so far.
func (p *Processor) LookedAt() float64 {
	var m dto.Metric
	if err := p.metrics.swept.WithLabelValues("looked_at").Write(&m); err != nil {
		panic(err)
	}
	return m.GetCounter().GetValue()
}

// Foreign is how many foreign records were met.
func (p *Processor) Foreign() float64 {
	var m dto.Metric
	if err := p.metrics.foreign.Write(&m); err != nil {
		panic(err)
	}
	return m.GetCounter().GetValue()
}

// Ladders is how many configurations have a ladder of models that is not closed.
func (p *Processor) Ladders() int {
	p.runners.mu.Lock()
	defer p.runners.mu.Unlock()
	return p.runners.open
}

// Missing is how many messages were reported as missing.
func (p *Processor) Missing() (n float64) {
	for _, stream := range []string{broker.StreamEvents, broker.StreamSummaries, broker.StreamRejected} {
		var m dto.Metric
		if err := p.metrics.missing.WithLabelValues(stream).Write(&m); err != nil {
			panic(err)
		}
		n += m.GetCounter().GetValue()
	}
	return n
}

// SummarizeOnce takes one step of a request for a summary; more reports that another is due.
func (p *Processor) SummarizeOnce(ctx context.Context, partition int, name, kind string) (more bool, err error) {
	part := p.part(partition)
	return answer(ctx, part, func() (bool, error) {
		_, more, err := part.fold.Summarize(ctx, name, kind, part.now())
		return more, err
	})
}

// Readyz answers the probe.
func (p *Processor) Readyz(w http.ResponseWriter, r *http.Request) { p.readyz(w, r) }

// Registry has the metrics.
func (p *Processor) Registry() *prometheus.Registry { return p.metrics.registry }

// CountServed counts an answer of precis.thread.context.
func (p *Processor) CountServed(s service.Served) { p.metrics.served(s) }

// Owned lists the partitions that the processor runs and answers for.
func (p *Processor) Owned() (ids []int) {
	for _, part := range p.parts() {
		if part.current.Load() && p.shares.member.Holds(part.id) {
			ids = append(ids, part.id)
		}
	}
	return ids
}

// Moving reports whether the processor does not know of some partition who answers for it.
func (p *Processor) Moving() bool {
	return slices.ContainsFunc(p.all(), func(id int) bool { return p.Place(id) == service.Moving })
}

// Stands is the position at which the processor's store has a partition, its own or one that it follows.
func (p *Processor) Stands(id int) (uint64, error) {
	meta, err := p.store.View(id).Meta()
	return meta.Position, err
}

// Aside is why the processor can't have partitions.
func (p *Processor) Aside() error { return p.shares.member.View().Aside }

// FixedKeys are the keys that change with a restart alone.
var FixedKeys = fixedKeys

// Current reports whether a partition has reached what was the log's end.
func (p *Processor) Current(id int) bool { return p.part(id).current.Load() }

// FindJob looks for a job, for so long at most; it reports whether that has come to an end.
func (p *Processor) FindJob(ctx context.Context, partition int, name, id string, patience time.Duration) (ended bool) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	p.part(partition).desk.find(ctx, name, id)
	return ctx.Err() == nil
}

// SnapshotAt is the position of the furthest snapshot of an own partition that the processor knows of.
func (p *Processor) SnapshotAt(id int) uint64 {
	p.snapshots.mu.Lock()
	defer p.snapshots.mu.Unlock()
	if p.part(id) == nil {
		return 0
	}
	return p.snapshots.last[id].Position
}

// SnapshotTime is when the newest snapshot of an own partition was taken.
func (p *Processor) SnapshotTime(id int) time.Time {
	p.snapshots.mu.Lock()
	defer p.snapshots.mu.Unlock()
	return p.snapshots.last[id].Time
}

// Lost is the mark of a partition's lost rows.
func (p *Processor) Lost(id int) (state.Lost, error) { return p.store.Lost(id) }

// MadeAgain reports whether a partition is to be made again when it is opened the next time.
func (p *Processor) MadeAgain(id int) bool {
	p.shares.mu.Lock()
	defer p.shares.mu.Unlock()
	return p.shares.redo[id] > 0
}

// MakeAgain has an own partition be made again from the log.
func (p *Processor) MakeAgain(id int) { p.again(p.part(id)) }

// FollowAgain has a partition that is followed be made again from the log.
func (p *Processor) FollowAgain(id int) {
	p.markAgain(id, fromLog)
	p.shares.follower.Yield([]int{id})()
}

// Near reports whether a partition that is followed is as far as its owner has reported.
func (p *Processor) Near(id int) bool { return slices.Contains(p.shares.follower.Near(), id) }

// Together has one member of the cluster have all partitions.
func (p *Processor) Together(ctx context.Context) error { return p.shares.member.Together(ctx) }

// Yield ends the following of a partition for a moment, as who takes it over does.
func (p *Processor) Yield(id int) { p.shares.follower.Yield([]int{id})() }

// Orphan says that a partition can't be followed behind a fork, since that of the parent, from, is not followed.
func (p *Processor) Orphan(ctx context.Context, id, from int) { p.orphan(ctx, id, from) }

// LoseRows has an own partition be made again as if rows of a parked thread were lost.
func (p *Processor) LoseRows(id int) {
	p.markAgain(id, rowsLost)
	p.lose(p.part(id), state.ErrLost)
}
