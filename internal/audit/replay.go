package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/fold"
	"precis/internal/jobs"
	"precis/internal/recovery"
	"precis/state"
	"precis/summarize/llm"
	"precis/summarize/pricing"
	"precis/summarize/rules"
)

// Replay folds the log from its start and checks every step. It returns an error only if it can't continue.
func Replay(ctx context.Context, o Options) (*Report, error) {
	r, err := newReplay(ctx, o)
	if err != nil {
		return nil, err
	}
	return r.report(ctx)
}

// replay is a run that checks every step.
type replay struct {
	*run
	tally  *tally
	runner *jobs.Runner // recomputes the rule-based summaries that jobs made; nil if the rules are not run again
	// rejections holds the contents of REJECTED, by partition and event, until the fold reaches the event.
	rejections []map[uint64]rejection
	// recordedTo is the latest event of each partition at which something was decided that has been on record for a while.
	recordedTo []uint64
	extent     Extent
	losses     []events.AcceptedLoss
	own        map[int]*ownChain // by partition
	programs   programs
	// export receives every record that is adopted; exportFailed is its error.
	export       func(*onRecord)
	exportFailed error
	tellers      []*teller // of a story, by partition; nil if none is told
	// weights are what the prompts held whose weight a provider reported, by partition and event; nil if they are not needed.
	weights []map[uint64]int64
}

func newReplay(ctx context.Context, o Options) (*replay, error) {
	o.RulesVersion = cmp.Or(o.RulesVersion, rules.Version)
	run, err := newRun(ctx, o)
	if err != nil {
		return nil, err
	}
	r := &replay{run: run, tally: newTally(o.Filter, run.retained), own: map[int]*ownChain{}, programs: programs{map[string]string{}}}
	r.tail.Unfinished = true // an acceptance that is not on record for every partition is a finding
	r.extent = Extent{FirstSeq: r.log.First, LastSeq: r.log.Last, Whole: r.log.First <= 1}
	r.recordedTo = make([]uint64, len(r.parts))
	for range r.parts {
		r.rejections = append(r.rejections, map[uint64]rejection{})
	}
	r.export = func(*onRecord) {}
	r.missing, r.each, r.watch = r.lacks, r.extent.count, r.audit
	r.tail.Foreign, r.tail.Record, r.tail.Rejection = r.foreign, r.record, r.rejection
	if r.rewritten != nil { // the replay still looks for what was altered
		r.tally.find(scope{}, Finding{Check: CheckStore, Want: "the messages that the store stands at", Got: r.rewritten.Error()})
	}
	if o.Store == nil && !o.Filter.To.IsZero() {
		if err := r.upToTime(ctx, o.Filter.To); err != nil {
			return nil, err
		}
	}
	for _, a := range r.configs.losses() {
		if err := r.loss(ctx, a.loss); err != nil {
			return nil, err
		}
	}
	if o.Rules {
		r.runner, err = rulesRunner(r.run, o.Mask)
	}
	return r, err
}

// rulesRunner runs jobs with the rules only.
func rulesRunner(r *run, mask func(string) string) (*jobs.Runner, error) {
	ladder, err := llm.New(llm.Options{Mask: mask})
	if err != nil {
		return nil, fmt.Errorf("set up rules: %w", err)
	}
	return &jobs.Runner{Ladder: ladder, Log: r.events, Summaries: r.reader(broker.StreamSummaries)}, nil
}

// audit gives a lane its auditor.
func (r *replay) audit(l *lane, o *fold.Options) {
	a := &auditor{
		replay: r, lane: l, jobs: map[string]*openJob{}, again: map[place]bool{}, voided: map[string]bool{}, waiting: map[uint64]bool{},
		tables: map[string]*pricing.Table{}, instead: map[string]string{},
	}
	if r.tellers != nil {
		a.teller = r.tellers[l.id]
	}
	l.watch, o.Watch, o.Rehearse = a, a, r.Rules
}

// record inspects a record of SUMMARIES before anything is adopted from it.
func (r *replay) record(m broker.Stored, e recovery.Entry, end state.Link) {
	r.seen(m, e)
	if e.Thread != "" {
		if home := r.home(e.Thread); home >= 0 && r.now.Sub(m.Time) >= passing {
			r.recordedTo[home] = max(r.recordedTo[home], e.EventSeq)
		}
		return
	}
	at := scope{at: m.Time}
	step := events.Step{Cause: e.Step.Cause, Index: 1} // what a configuration's cause may be is checked when it is adopted
	if e.Type == events.PartitionClaimed {
		step.Cause = events.ByClaim
		r.tally.record(at, string(e.Type), nil)
	}
	r.ownRecord(m, e)
	if e.Step == step {
		r.tally.holds(at, CheckStep)
	} else {
		r.wrong(m, e, CheckStep, showStep(step), showStep(e.Step))
	}
	if want := end.ChainSeq + 1; e.ChainSeq == want {
		r.tally.holds(at, CheckChain)
	} else {
		r.wrong(m, e, CheckChain, fmt.Sprintf("record %d of partition %d", want, e.Partition), fmt.Sprintf("record %d: what was between is gone", e.ChainSeq))
	}
}

func showStep(s events.Step) string {
	return fmt.Sprintf("record %d of a step by %q", s.Index, s.Cause)
}

// seen inspects what a message of SUMMARIES says of EVENTS.
func (r *replay) seen(m broker.Stored, e recovery.Entry) {
	r.saw(m, e)
	if e.ThreadID != nil && e.EffectiveSeq > r.log.Last && !r.configs.void(m.Seq, e.Head) {
		r.wrong(m, e, CheckReadable, fmt.Sprintf("an effective_seq that EVENTS has (it ends at %d)", r.log.Last), fmt.Sprint(e.EffectiveSeq))
	}
}

// foreign reports a message that is skipped.
func (r *replay) foreign(f recovery.Foreign) {
	r.seen(f.Stored, f.Entry)
	check, want := CheckReadable, "a processor's record"
	switch {
	case errors.Is(f.Why, recovery.ErrPlace):
		check, want = CheckOrder, "the next record of the thread"
	case errors.Is(f.Why, recovery.ErrLink):
		check, want = CheckChain, "a record that follows on the one before it"
	}
	r.wrong(f.Stored, f.Entry, check, want, f.Why.Error()+"; it is passed over")
}

// wrong notes a finding about a message of SUMMARIES.
func (r *replay) wrong(m broker.Stored, e recovery.Entry, check, want, got string) {
	r.tally.find(scope{thread: e.Thread, at: m.Time}, Finding{
		Thread: events.OrNull(e.Thread), Summary: events.OrNull(idOf(m.Data)), Check: check, EventSeq: e.EventSeq,
		Want: want, Got: fmt.Sprintf("SUMMARIES %d: %s", m.Seq, got),
	})
}

// lacks notes a gap in a stream. Sequences are consecutive, so a missing message was deleted, or the server can't read it.
func (r *replay) lacks(m broker.Missing) {
	f := Finding{Check: CheckSummaries, Want: "record " + span(m), Got: "removed, or not readable"}
	switch m.Stream {
	case broker.StreamRejected:
		return // a missing rejection shows at its event
	case broker.StreamEvents:
		f.Check, f.Want, f.EventSeq = CheckEvents, "event "+span(m), m.From
	}
	r.tally.find(scope{}, f)
}

func span(m broker.Missing) string {
	if m.From == m.To {
		return fmt.Sprint(m.From)
	}
	return fmt.Sprintf("%d to %d", m.From, m.To)
}

// recorded checks the configurations on record and the start of EVENTS, once all records have been read.
func (r *replay) recorded() {
	r.claims()
	r.accepted()
	r.configs.apart(func(partition int, a applied) {
		r.tally.find(scope{at: a.at}, Finding{
			Check: CheckConfig, Want: "the configuration of " + a.at.Format(time.RFC3339Nano) + " as other partitions have it",
			Got: fmt.Sprintf("another one in config.applied %d of partition %d", a.seq, partition),
		})
	})
	if m, why := r.retained.unexcused(); why != "" {
		r.tally.find(scope{}, Finding{Check: CheckEvents, Want: "event " + span(m), Got: why, EventSeq: m.From})
	}
	r.extent.Excused, r.extent.Cut = r.retained.to(), r.retained.count()
}

// loss notes an accepted loss, and compares what it says of the log with the log.
func (r *replay) loss(ctx context.Context, rec *events.AcceptedLoss) error {
	for i := range r.losses {
		if l := &r.losses[i]; l.AcceptedAt.Equal(rec.AcceptedAt) {
			if want, got := showLoss(l), showLoss(rec); want != got {
				r.tally.find(scope{}, Finding{Check: CheckConfig, EventSeq: rec.EventsSeq, Want: "the loss as other partitions have it: " + want, Got: got})
			}
			l.AppliedSeq, l.RecordsVoided = max(l.AppliedSeq, rec.AppliedSeq), l.RecordsVoided+rec.RecordsVoided
			return nil
		}
	}
	r.losses = append(r.losses, *rec)
	if rec.EventsDigest == "" {
		return nil
	}
	m, err := r.events.Get(ctx, rec.EventsSeq)
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

func showLoss(l *events.AcceptedLoss) string {
	return fmt.Sprintf("behind event %d (%s), rejections up to %d", l.EventsSeq, cmp.Or(string(l.EventsDigest), "null"), l.RejectedSeq)
}

// report folds the log and reports what was found.
func (r *replay) report(ctx context.Context) (*Report, error) {
	if err := r.rebuild(ctx, r.recorded); err != nil {
		return nil, err
	}
	if err := r.compare(ctx); err != nil {
		return nil, err
	}
	rep := r.tally.report()
	rep.Log, rep.Store, rep.Losses = r.extent, r.StoreName, append([]events.AcceptedLoss{}, r.losses...)
	if err := rep.Totals.end(r.Scratch, r.strays, r.Filter); err != nil {
		return nil, err
	}
	rep.Took = r.Now().Sub(r.now)
	rep.Seconds = rep.Took.Seconds()
	rep.EventsPerSecond = float64(r.extent.Read) / max(rep.Seconds, 1e-9)
	return rep, nil
}
