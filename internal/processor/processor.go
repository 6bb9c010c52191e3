package processor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/config"
	"precis/internal/content"
	"precis/internal/fold"
	"precis/internal/parked"
	"precis/internal/recovery"
	"precis/internal/rest"
	"precis/internal/roster"
	"precis/internal/secrets"
	"precis/internal/tracing"
	"precis/state"
	"precis/summarize/llm"
)

// Processor runs all partitions of a log.
type Processor struct {
	opts      Options
	log       zerolog.Logger
	store     *state.Store
	backlog   broker.Backlog
	threads   *roster.Index
	broker    *broker.Broker
	events    *broker.LogReader
	summaries *broker.LogReader
	rejected  *broker.LogReader
	publisher *broker.Publisher
	metrics   *metrics
	ready     *readiness
	writes    *writes
	catching  catching
	tending   sync.Mutex
	confirmed confirmed
	masker    atomic.Pointer[secrets.Masker]
	runners   runners
	spending  *llm.Spending
	owner     string // in claims
	began     time.Time
	folds     atomic.Pointer[fold.Config]   // the configuration as the fold has it
	config    atomic.Pointer[config.Config] // in force
	api       atomic.Pointer[rest.Server]   // nil without one
	misread   atomic.Pointer[refusal]       // of the last reload; nil: it succeeded, or there was none
	waiting   atomic.Pointer[[]string]      // keys of the file that was loaded last that wait for a restart
	slots     chan struct{}

	running   atomic.Pointer[set]
	shares    sharing
	room      *room
	snapshots snapshots
	parking   parking
	losses    losses
	absent    zerolog.Logger // says some of the reads that miss rows of parked threads
	shelf     *parked.Shelf  // the rows of parked threads
	// stopping is closed when the processor begins to end: from then on every wait for the server is bounded.
	stopping chan struct{}
	stopOnce sync.Once

	failed   chan error // the first error that ends the processor
	failOnce sync.Once
}

// Open opens store and broker, checks one against the other and reads what the streams hold beyond the store. Nothing
// is consumed before Run.
func Open(ctx context.Context, opts Options) (_ *Processor, err error) {
	opts = opts.withDefaults()
	p := &Processor{
		opts: opts, log: opts.Logger, metrics: newMetrics(opts.Version),
		failed: make(chan error, 1), slots: make(chan struct{}, maxJobs),
		stopping: make(chan struct{}), confirmed: confirmed{every: opts.KeepUp}, owner: recovery.Owner(), began: opts.Now(),
	}
	p.absent = p.log.Sample(&zerolog.BurstSampler{Burst: 5, Period: 10 * time.Second})
	p.metrics.started.Set(float64(p.began.UnixMilli()) / 1000)
	p.config.Store(opts.Config)
	p.running.Store(newSet(nil))
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close(context.WithoutCancel(ctx)))
		}
	}()
	p.threads = p.newThreads()
	p.room = &room{disk: opts.Disk}
	if err := p.awaitRoom(ctx); err != nil {
		return nil, err
	}
	if p.store, err = state.Open(StoreDir(opts.Config.DataDir), state.Options{FS: opts.FS, Fatal: opts.Fatal, Logger: opts.Logger, Partitions: opts.Config.Partitions, Wrote: p.wrote, Objects: opts.Objects(newShelved(p)), Lost: p.lostParked, Unparked: func(int, state.Parked) { p.metrics.parking.WithLabelValues("back").Inc() }}); err != nil {
		return nil, err
	}
	if opts.FS == nil {
		if err := keepPrivate(opts.Config.DataDir, opts.Logger); err != nil {
			return nil, err
		}
	}
	if err := p.connect(ctx); err != nil {
		return nil, err
	}
	p.metrics.registry.MustRegister(newStorageMetrics(p.storage), newLagMetrics(p), newSnapshotMetrics(p))
	if err := p.models(); err != nil {
		return nil, err
	}
	return p, p.recover(ctx)
}

// connect opens the broker and creates or checks the streams.
func (p *Processor) connect(ctx context.Context) (err error) {
	if p.broker = p.opts.Broker; p.broker == nil {
		if p.broker, err = broker.Open(ctx, p.opts.brokerOptions()); err != nil {
			return err
		}
	}
	if err := enoughPayload(p.broker.Conn().MaxPayload()); err != nil {
		return err
	}
	if err := p.expectStreams(ctx); err != nil {
		return err
	}
	js := p.broker.JetStream()
	spec := broker.StreamSpec{
		Partitions: p.opts.Config.Partitions, MaxAge: p.opts.Config.Retention.Events, Replicas: p.opts.Config.NATS.Replicas, CheckOnly: p.opts.CheckOnly,
	}
	streams, err := broker.Provision(ctx, js, spec)
	if err != nil {
		return err
	}
	p.warnDiffering(streams)
	p.writes = &writes{
		check: func(ctx context.Context) error { return broker.Check(ctx, js, spec, streams) }, now: p.opts.Now, log: p.log,
	}
	p.events = broker.NewLogReader(js, broker.StreamEvents)
	p.summaries = broker.NewLogReader(js, broker.StreamSummaries).Watch(p.missing)
	p.rejected = broker.NewLogReader(js, broker.StreamRejected).Watch(p.missing)
	p.publisher, err = broker.NewPublisher(p.broker.Conn(), broker.PublisherConfig{AckTimeout: p.opts.AckTimeout})
	if err == nil {
		p.shelf = parked.New(js, p.publisher)
	}
	return err
}

// enoughPayload refuses a server whose largest message is smaller than a record may be.
func enoughPayload(most int64) error {
	if most >= fold.LeastPayload {
		return nil
	}
	return fmt.Errorf("%w: the server takes messages of %d bytes, and records may have %d: raise max_payload in the server's configuration to 1MB, its default, or more",
		broker.ErrPayload, most, fold.LeastPayload)
}

// warnDiffering logs settings of streams that lose nothing but differ from the configuration: a start never changes an
// existing stream.
func (p *Processor) warnDiffering(streams broker.Streams) {
	for name, differences := range streams.Differences {
		for _, d := range differences {
			p.log.Warn().Str("stream", name).Str("setting", d.Setting).Str("value", d.Value).Str("want", d.Want).
				Msg("stream differs from the configuration; \"processor streams --apply\" changes it")
		}
	}
}

// recover opens all partitions.
func (p *Processor) recover(ctx context.Context) error {
	at, err := p.streams(ctx)
	if err != nil {
		return err
	}
	p.holes(broker.StreamEvents, at.events)
	p.holes(broker.StreamSummaries, at.summaries)
	config, err := p.opts.foldConfig()
	if err != nil {
		return err
	}
	config.Retention = at.events.MaxAge
	p.folds.Store(config)
	p.openParking(ctx, at.summaries.Replicas)
	p.beginLosses(ctx)
	if p.opts.Config.Cluster.Name != "" {
		if err := p.checkStore(ctx, at); err != nil {
			return err
		}
		return p.joinCluster(ctx, at)
	}
	parts, err := p.openAlone(ctx, at)
	if err != nil {
		return err
	}
	p.running.Store(newSet(parts))
	lanes := make([]string, len(parts))
	for i, part := range parts {
		lanes[i], part.reads = part.lane, true
	}
	p.ready, p.catching = newReadiness(lanes), behind(parts, at.events, p.opts.Now())
	return nil
}

// openAll opens partitions at their positions, claims them, and stages what they have yet to reach.
func (p *Processor) openAll(ctx context.Context, ids []int, at streams) ([]*partition, error) {
	if err := p.checkMarks(ctx, ids); err != nil {
		return nil, err
	}
	since := p.opts.Now()
	parts, stored := make([]*partition, len(ids)), make([]*state.Partition, p.total())
	for i, id := range ids {
		part, err := p.open(id, at, p.folds.Load())
		if err != nil {
			return nil, err
		}
		part.since = since
		parts[i], stored[id] = part, part.part
	}
	return parts, p.catchUp(ctx, parts, stored, at.events)
}

func (p *Processor) catchUp(ctx context.Context, parts []*partition, stored []*state.Partition, log broker.StreamState) error {
	t, err := recovery.NewTail(stored)
	if err != nil {
		return err
	}
	t.Foreign = p.foreign
	if err := t.Read(ctx, p.summaries, p.rejected); err != nil {
		return err
	}
	if err := recovery.CheckBasis(ctx, stored, p.events); err != nil {
		return err
	}
	if err := p.claim(ctx, t, parts); err != nil {
		return err
	}
	if err := p.settle(ctx, parts); err != nil {
		return err
	}
	if t.Staged > 0 {
		p.log.Info().Int("records", t.Staged).Uint64("events", log.Msgs).Msg("rebuilding from the log: adopting what is on record")
	}
	for _, part := range parts {
		if err := part.fold.Assume(t.Config, part.config); err != nil {
			return fmt.Errorf("recover partition %d: %w", part.id, err)
		}
		if err := p.begin(part); err != nil {
			return fmt.Errorf("recover partition %d: %w", part.id, err)
		}
	}
	return nil
}

// settle notes, behind the claims, where the log of partitions that others may follow ends: no processor has followed them further.
func (p *Processor) settle(ctx context.Context, parts []*partition) error {
	if p.shares.member == nil {
		return nil
	}
	last, err := p.events.LastSeq(ctx)
	if err != nil {
		return fmt.Errorf("read end of EVENTS: %w", err)
	}
	for _, part := range parts {
		part.settles = last
	}
	return nil
}

// begin adopts what took effect up to the partition's position, and configures it.
func (p *Processor) begin(part *partition) error {
	position := part.part.Meta().Position
	rows, err := part.part.Outbox()
	if err != nil {
		return err
	}
	part.outbox.rejectedTo = part.part.Meta().RejectedSeq
	part.outbox.add(rows)
	part.outbox.claims.at = part.outbox.effective
	if err := part.fold.AdoptUpTo(position); err != nil {
		if p.shares.member == nil || !errors.Is(err, state.ErrParked) || errors.Is(err, fold.ErrHalfDone) {
			return err
		}
		// Those that are taken over with it do not wait. It answers for nothing until its lane has adopted the rest, which it does at its next event or at the log's end.
		part.log.Warn().Err(err).Msg("rows of a parked thread can't be read now: the partition is taken over, and waits for them")
	}
	if err := part.configure(position); err != nil {
		return err
	}
	return part.commit(part.here())
}

// rows opens what the store has of a partition.
func (p *Processor) rows(id int, at streams) (*state.Partition, error) {
	st, err := p.store.Partition(id)
	if err != nil {
		return nil, err
	}
	meta := st.Meta()
	if err := errors.Join(recovery.CheckLog(meta, at.events), recovery.CheckRecords(meta, at.summaries)); err != nil {
		return nil, err
	}
	meta.EventsCreated, meta.SummariesCreated = at.events.Created, at.summaries.Created
	st.SetMeta(meta)
	return st, nil
}

// reads is the log that a fold reads texts from.
func (p *Processor) reads() content.Log {
	return p.opts.Reads(content.New(p.events, p.total()))
}

func (p *Processor) open(id int, at streams, config *fold.Config) (*partition, error) {
	st, err := p.rows(id, at)
	if err != nil {
		return nil, err
	}
	meta := st.Meta()
	if meta.Position == 0 && id == 0 && at.events.First > 1 {
		p.log.Warn().Uint64("seq", at.events.First).
			Msg("EVENTS begins here: what was before is gone, and counters count from there; summaries on record are taken over")
	}
	log, traces := p.log.With().Int("partition", id).Logger(), tracing.New(p.opts.Tracer, id)
	f, err := fold.New(st, fold.Options{
		Log: p.reads(), First: at.events.First, MaxPayload: int(p.broker.Conn().MaxPayload()), Partitions: p.total(), Mask: p.mask, Observe: func(d fold.Decided) { p.metrics.decided(d); traces.Decided(d.Record) }, GivenUp: p.metrics.givenUp.Inc, LeftOut: p.metrics.leftOut.Inc,
		Spent:  p.spending.Add,
		Home:   p.home,
		Logger: log,
	})
	if err != nil {
		return nil, err
	}
	part := &partition{
		id: id, lane: p.laneOf(id).Name, part: st, fold: f, config: config,
		worker: newWorker(), turns: make(chan func(), 16), ended: make(chan struct{}), stopping: make(chan struct{}), last: meta.Position,
		metrics: p.metrics, failpoint: p.opts.Failpoint, now: p.opts.Now, log: log, traces: traces,
	}
	part.fail = p.failing(part)
	if p.shares.member == nil {
		part.lostRows = func(err error) error { return p.lostAlone(at, err) }
	}
	st.Until(part.stopping)
	part.handed, part.handedTaken = p.handed, p.taken
	if part.handedOver, err = st.HandedOver(); err != nil {
		return nil, err
	}
	part.stands.Store(&meta)
	part.confirmed, part.bulkBytes = &p.confirmed, p.opts.BulkBytes/p.total()
	part.desk = &desk{
		part: part, runner: p.runners.take, slots: p.slots, view: p.store.View(id), running: map[string]bool{}, more: make(chan struct{}, 1),
		log: log, traces: traces,
	}
	part.outbox = &outbox{
		partition: id, pub: p.publisher, summaries: p.summaries, rejected: p.rejected, failpoint: p.opts.Failpoint,
		log: log, metrics: p.metrics, traces: traces,
		verify: p.sameStreams, connections: p.connections, verified: p.connections(), maxPayload: p.broker.Conn().MaxPayload,
		anew: map[uint64]bool{}, unsure: map[uint64]uint64{},
		claims: claims{
			owner: p.owner, pub: p.publisher, now: p.opts.Now, together: at.summaries.Replicas > 1,
			chain: recovery.OwnChain{Log: p.summaries, Partition: id, Strays: p.opts.Config.Partitions, Foreign: p.foreign},
			next:  func() (events.Claimed, error) { return p.folds.Load().Claim(p.owner) },
		},
	}
	part.outbox.position = func() uint64 { return part.stands.Load().Position }
	return part, nil
}

// fail ends the processor with its first error.
func (p *Processor) fail(err error) {
	p.failOnce.Do(func() { p.failed <- err })
	p.beginEnd()
}

func (p *Processor) beginEnd() {
	p.stopOnce.Do(func() { close(p.stopping) })
	for _, part := range p.parts() {
		part.stop()
	}
}

// Ready is closed when every event that the log held at the start is applied.
func (p *Processor) Ready() <-chan struct{} { return p.ready.done }

// Broker is the processor's connection.
func (p *Processor) Broker() *broker.Broker { return p.broker }

// Close releases store and broker. Run must have returned.
func (p *Processor) Close(ctx context.Context) error {
	var errs []error
	// The partitions' open batches are left to the garbage collector: Pebble would use a closed one again, for another partition or
	// store, while a handler that is stuck may still write to it.
	p.runners.close()
	if p.publisher != nil {
		errs = append(errs, p.publisher.Close())
	}
	if p.broker != nil && p.opts.Broker == nil {
		errs = append(errs, p.broker.Close(ctx))
	}
	if p.store != nil {
		errs = append(errs, p.store.Close())
	}
	return errors.Join(errs...)
}

// Settled returns when everything that the log held at the call is applied, every started job has ended, and all of it
// is published.
func (p *Processor) Settled(ctx context.Context) error {
	parts := p.parts()
	last := make([]uint64, len(parts))
	for i, part := range parts {
		var err error
		if last[i], err = p.lastOf(ctx, part); err != nil {
			return err
		}
	}
	for i, part := range parts {
		if err := part.position.wait(ctx, last[i]); err != nil {
			return fmt.Errorf("wait for partition %d: %w", part.id, err)
		}
		if err := part.position.await(ctx, part.desk.idle); err != nil {
			return fmt.Errorf("wait for jobs of partition %d: %w", part.id, err)
		}
		if err := part.position.seen(ctx); err != nil { // their ends may not be durable yet
			return fmt.Errorf("wait for jobs of partition %d: %w", part.id, err)
		}
		if err := part.outbox.drained(ctx); err != nil {
			return fmt.Errorf("wait for records of partition %d: %w", part.id, err)
		}
	}
	return nil
}

// lastOf is the last sequence that EVENTS holds for a partition.
func (p *Processor) lastOf(ctx context.Context, part *partition) (last uint64, err error) {
	for _, filter := range p.laneOf(part.id).Filters {
		m, err := p.events.Last(ctx, filter)
		switch {
		case errors.Is(err, broker.ErrGone):
		case err != nil:
			return 0, fmt.Errorf("wait for partition %d: %w", part.id, err)
		default:
			last = max(last, m.Seq)
		}
	}
	return last, nil
}
