package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/jobs"
	"precis/internal/recovery"
	"precis/state"
	"precis/summarize/llm"
	"precis/summarize/rules"
)

// Options configure a replay.
type Options struct {
	JetStream jetstream.JetStream
	// Scratch is an empty store in which the state is made; the caller discards it.
	Scratch *state.Store
	// Store, if given, is compared with the log; it must be at rest. StoreName is its name in the report.
	Store     *state.Store
	StoreName string
	Filter    Filter
	// Rules recomputes every rule-based summary, which takes most of a replay's time.
	Rules bool
	// RulesVersion is the version of the rules and tokenizers with which records are compared; empty is this
	// program's.
	RulesVersion string
	// Mask removes secrets from what the fold decides, as the processor does; nil removes none.
	Mask func(string) string
	// Workers is the number of goroutines that fold in parallel; less than 1 means 1.
	Workers int
	// Now is the clock: a recent decision may not be on record yet.
	Now      func() time.Time
	Logger   zerolog.Logger
	Progress func(seq, last uint64)
}

// Replay folds the log from its start and checks every step. It returns an error only if it can't continue.
func Replay(ctx context.Context, o Options) (*Report, error) {
	r, err := newReplay(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := Rebuild(ctx, o.Scratch, r.source); err != nil {
		return nil, err
	}
	if err := r.compare(ctx); err != nil {
		return nil, err
	}
	return r.report()
}

// replay is one run.
type replay struct {
	o       Options
	tally   *tally
	began   time.Time
	log     broker.StreamState
	configs configs
	records *records // inspects SUMMARIES as it is read
	source  Source
	rules   *jobs.Runner // nil if the rules are not run again
	// rejections holds the contents of REJECTED, by partition and event.
	rejections []map[uint64]rejection
	extent     Extent
	losses     []AcceptedLoss
}

func newReplay(ctx context.Context, o Options) (*replay, error) {
	r := &replay{o: o, tally: newTally(o.Filter), began: o.Now()}
	l, err := openLog(ctx, o.JetStream, o.Filter.Thread)
	if err != nil {
		return nil, err
	}
	summaries := broker.NewLogReader(o.JetStream, broker.StreamSummaries)
	r.log, r.records = l.events, &records{tally: r.tally, events: l.events.Last}
	r.extent = Extent{FirstSeq: l.events.First, LastSeq: l.events.Last, Whole: l.events.First <= 1}
	for range l.partitions + 1 {
		r.rejections = append(r.rejections, map[uint64]rejection{})
	}
	r.source = Source{
		Events:    broker.NewLogReader(o.JetStream, broker.StreamEvents).Watch(r.missing),
		Summaries: tap{Log: summaries.Watch(r.missing), filters: l.summaryFilters, each: r.records.saw},
		Rejected:  tap{Log: broker.NewLogReader(o.JetStream, broker.StreamRejected), filters: l.rejectedFilters, each: r.rejection},
		Strays:    l.partitions, Filters: l.eventFilters,
		Mask: o.Mask, Rehearse: o.Rules, Workers: o.Workers, Logger: o.Logger, Progress: o.Progress,
		each: r.saw, open: r.watch, staged: r.recorded, Foreign: r.records.foreign, Own: r.records.own,
	}
	switch {
	case o.Store != nil:
		err = r.against(ctx)
	case !o.Filter.To.IsZero():
		err = r.source.upToTime(ctx, o.Filter.To, l)
	}
	if err != nil {
		return nil, err
	}
	if r.configs, err = readConfigs(ctx, summaries, r.source.Decided); err != nil {
		return nil, err
	}
	r.records.configs = r.configs
	r.tally.retained = newRetained(l.events, r.configs, r.began, o.Store, l.partitions+1)
	if err := r.configs.losses(func(a applied) error { return r.loss(ctx, a.loss) }); err != nil {
		return nil, err
	}
	if o.Rules {
		r.rules, err = rulesRunner(r.source.Events, o.Mask)
	}
	return r, err
}

// rulesRunner runs jobs with the rules only.
func rulesRunner(log *broker.LogReader, mask func(string) string) (*jobs.Runner, error) {
	ladder, err := llm.New(llm.Options{Mask: mask})
	if err != nil {
		return nil, fmt.Errorf("set up rules: %w", err)
	}
	return &jobs.Runner{Ladder: ladder, Log: log}, nil
}

// watch gives a lane its auditor.
func (r *replay) watch(l *lane) error {
	l.watch = &auditor{
		lane: l, tally: r.tally, rules: r.rules, now: r.began, first: max(r.log.First, 1),
		calls: map[string][]*call{}, startedAt: map[string]time.Time{}, inStore: r.jobsOf(l.id),
		rulesVersion: cmp.Or(r.o.RulesVersion, rules.Version), rejections: r.rejections[l.id], waiting: map[uint64]bool{}, again: map[place]bool{}, voided: map[string]bool{},
	}
	return nil
}

func (r *replay) jobsOf(partition int) func(thread, id string) (bool, error) {
	return func(thread, id string) (bool, error) {
		if r.o.Store == nil {
			return false, nil
		}
		job, err := r.o.Store.View(partition).Job(thread, id)
		return job != nil, err
	}
}

// saw inspects an event before it is folded.
func (r *replay) saw(m broker.Stored) {
	if r.extent.Read == 0 {
		r.extent.From = m.Time
	}
	r.extent.Read++
	r.extent.To = m.Time
}

// rejection notes a record of REJECTED.
func (r *replay) rejection(m broker.Stored) {
	said, about, err := rejectionOf(m.Data)
	if err != nil {
		r.tally.find(scope{at: m.Time}, Finding{Check: CheckReadable, Want: "a rejection", Got: fmt.Sprintf("REJECTED %d: %v", m.Seq, err)})
		return
	}
	partition, seq, ok := recovery.RejectedEvent(m.Header.Get("ce-id"))
	if !ok || partition >= len(r.rejections) || seq != about {
		r.tally.find(scope{at: m.Time}, Finding{
			Check: CheckReadable, EventSeq: about, Want: "the id of a rejection of that event",
			Got: fmt.Sprintf("REJECTED %d: %s", m.Seq, m.Header.Get("ce-id")),
		})
		return
	}
	if r.configs.voidRejection(partition, seq, m.Seq) {
		r.tally.void(scope{at: m.Time}, string(events.EventRejected))
		return
	}
	_, token, _ := events.ParseSubject(m.Subject)
	said.early = r.configs.lossAfter(partition, m.Seq)
	said.thread, _ = events.ThreadOf(token) // empty if the subject names none
	r.rejections[partition][seq] = said
}

// missing notes a gap in a stream. Sequences are consecutive, so a missing message was deleted, or the server can't
// read it. A missing rejection shows at its event.
func (r *replay) missing(m broker.Missing) {
	f := Finding{Check: CheckSummaries, Want: "record ", Got: "removed, or not readable"}
	if m.Stream == broker.StreamEvents {
		f.Check, f.Want, f.EventSeq = CheckEvents, "event ", m.From
	}
	f.Want += fmt.Sprint(m.From)
	if m.To > m.From {
		f.Want += fmt.Sprintf(" to %d", m.To)
	}
	r.tally.find(scope{}, f)
}

// recorded checks the configurations on record and the start of EVENTS, once all records have been read.
func (r *replay) recorded() (err error) {
	r.configs.apart(func(partition int, a applied) {
		r.tally.find(scope{at: a.at}, Finding{
			Check: CheckConfig, Want: "the configuration of " + a.at.Format(time.RFC3339Nano) + " as other partitions have it",
			Got: fmt.Sprintf("another one in config.applied %d of partition %d", a.seq, partition),
		})
	})
	gone := r.tally.retained
	if err := gone.stored(); err != nil {
		return err
	}
	if m, why := gone.unexcused(); why != "" {
		r.tally.find(scope{}, Finding{Check: CheckEvents, Want: eventsText(m), Got: why, EventSeq: m.From})
	}
	r.extent.Excused = gone.to()
	r.extent.Cut, err = gone.count()
	return err
}

// loss notes an accepted loss, and compares what it says of the log with the log.
func (r *replay) loss(ctx context.Context, rec *events.AcceptedLoss) error {
	for i := range r.losses {
		if l := &r.losses[i]; l.AcceptedAt.Equal(rec.AcceptedAt) {
			l.AppliedSeq = max(l.AppliedSeq, rec.AppliedSeq)
			return nil
		}
	}
	r.losses = append(r.losses, AcceptedLoss{EventsSeq: rec.EventsSeq, AppliedSeq: rec.AppliedSeq, AcceptedAt: rec.AcceptedAt})
	if rec.EventsDigest == "" {
		return nil
	}
	m, err := r.source.Events.Get(ctx, rec.EventsSeq)
	if errors.Is(err, broker.ErrGone) {
		return nil // its removal is reported elsewhere
	}
	if err != nil {
		return err
	}
	if got := recovery.DigestOf(m); got != string(rec.EventsDigest) {
		r.tally.find(scope{}, Finding{
			Check: CheckEvents, EventSeq: m.Seq, Want: "the event behind which a loss was accepted: " + string(rec.EventsDigest), Got: got,
		})
	}
	return nil
}

func eventsText(m broker.Missing) string {
	if m.From == m.To {
		return fmt.Sprintf("event %d", m.From)
	}
	return fmt.Sprintf("event %d to %d", m.From, m.To)
}

func (r *replay) report() (*Report, error) {
	rep := &Report{Log: r.extent, Store: r.o.StoreName, Losses: append([]AcceptedLoss{}, r.losses...)}
	r.tally.fill(rep)
	if err := endTotals(r.o.Scratch, r.source.Strays, r.o.Filter, &rep.Totals); err != nil {
		return nil, err
	}
	rep.Took = r.o.Now().Sub(r.began)
	rep.Seconds = rep.Took.Seconds()
	rep.EventsPerSecond = float64(r.extent.Read) / max(rep.Seconds, 1e-9)
	return rep, nil
}
