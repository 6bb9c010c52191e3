package audit

import (
	"context"
	"fmt"
	"time"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/fold"
	"precis/internal/recovery"
	"precis/internal/savings"
	"precis/internal/thread"
	"precis/state"
	"precis/summarize"
)

// Savings is what savings.Report says of a log.
type Savings struct {
	*savings.Report
	Log Extent `json:"log"`
	// Seconds that it took.
	Seconds float64 `json:"seconds"`
}

// Known reports whether the log has anything that the filter takes.
func (s *Savings) Known() bool { return s.Threads > 0 }

// Save folds the log and reports what summaries saved, under Options.Savings. It checks nothing, publishes nothing and makes no calls.
func Save(ctx context.Context, o Options, by string) (*Savings, error) {
	o.Rules, o.Store = false, nil
	r, err := newRun(ctx, o)
	if err != nil {
		return nil, err
	}
	if !o.Filter.To.IsZero() {
		if err := r.upToTime(ctx, o.Filter.To); err != nil {
			return nil, err
		}
	}
	rep := &Savings{Log: Extent{FirstSeq: r.log.First, LastSeq: r.log.Last, Whole: r.log.First <= 1}}
	books := o.books(true)
	r.each, r.watch = rep.Log.count, books.beside(nil)
	r.tail.Record = func(m broker.Stored, e recovery.Entry, _ state.Link) { r.saw(m, e) }
	r.tail.Foreign = func(f recovery.Foreign) { r.saw(f.Stored, f.Entry) }
	if err := r.rebuild(ctx, func() {}); err != nil {
		return nil, err
	}
	rep.Log.Excused, rep.Log.Cut = r.retained.to(), r.retained.count()
	if rep.Report, err = books.report(by); err != nil {
		return nil, err
	}
	rep.Seconds = r.Now().Sub(r.now).Seconds()
	return rep, nil
}

// books are the trackers of a run's lanes.
type books struct {
	options  savings.Options
	happened bool
	trackers []*savings.Tracker
}

// books returns those of a run of what happened, or of what would have; nil without Options.Savings.
func (o Options) books(happened bool) *books {
	if o.Savings == nil {
		return nil
	}
	so := *o.Savings
	so.Takes = func(thread, agent, policy string, at time.Time) bool {
		return o.Filter.takes(scope{thread: thread, agent: agent, policy: policy, at: at})
	}
	return &books{options: so, happened: happened}
}

// beside has the fold of each lane tracked, besides what prepares it; either may be nil.
func (b *books) beside(prepare func(*lane, *fold.Options)) func(*lane, *fold.Options) {
	if b == nil {
		return prepare
	}
	return func(l *lane, o *fold.Options) {
		if prepare != nil {
			prepare(l, o)
		}
		t := &savings.Tracker{
			Ledger: savings.NewLedger(b.options), Rows: func() state.View { return l.part.View }, Happened: b.happened,
			Policy: func(h *thread.Header) *summarize.Policy {
				p, _ := summarize.Resolve(l.fold.Config().Policies, h.Policy, h.FirstAgentID, h.Thread)
				return p
			},
		}
		b.trackers = append(b.trackers, t)
		o.Saving = func(st *thread.State, at fold.Delivery, ev *events.Event) { t.Saving(st, at.Time, ev) }
	}
}

func (b *books) report(by string) (*savings.Report, error) {
	var ledgers []*savings.Ledger
	for _, t := range b.trackers {
		if err := t.Err(); err != nil {
			return nil, fmt.Errorf("compute: %w", err)
		}
		ledgers = append(ledgers, t.Ledger)
	}
	return savings.ReportOf(by, b.options, ledgers...), nil
}

// total returns the sums of all threads.
func (b *books) total() (savings.Sums, error) {
	r, err := b.report(savings.ByPolicy)
	if err != nil {
		return savings.Sums{}, err
	}
	return r.Total, nil
}
