package audit

import (
	"context"
	"slices"
	"time"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/fold"
	"precis/internal/thread"
	"precis/state"
)

// Row is one record with what it can be told by, as a replay knows it.
type Row struct {
	Time   time.Time // when SUMMARIES stored it
	Thread string
	Agent  string // that began the thread
	Policy string // that the summary was decided under
	Type   events.Type
	Record events.Record
	Data   []byte // as it stands in SUMMARIES
}

// Export replays the log and calls each with every record that the filter takes, in the order in which
// they took effect; an error of each ends it. The report says whether the log bears the records out.
func Export(ctx context.Context, o Options, types []events.Type, each func(Row) error) (*Report, error) {
	o.Rules, o.Workers = false, 1 // one after the other: rows come in the log's order
	r, err := newReplay(ctx, o)
	if err != nil {
		return nil, err
	}
	watching := r.source.open
	r.source.open = func(l *lane) error {
		if err := watching(l); err != nil {
			return err
		}
		l.watch = &exporter{watch: l.watch, part: l.part, filter: o.Filter, types: types, each: each}
		return nil
	}
	if err := Rebuild(ctx, o.Scratch, r.source); err != nil {
		return nil, err
	}
	return r.report()
}

// exporter passes on what a lane's watch sees adopted.
type exporter struct {
	watch
	part   *state.Partition
	filter Filter
	types  []events.Type
	each   func(Row) error
	failed error
}

// Adopting implements fold.Watch.
func (e *exporter) Adopting(st *thread.State, s *state.Staged, rec events.Record) {
	e.watch.Adopting(st, s, rec)
	if e.failed != nil || rec == nil || !slices.Contains(e.types, s.Type) {
		return
	}
	row := Row{
		Time: s.Time, Thread: s.Thread, Agent: st.Header.FirstAgentID, Policy: policyAt(e.part, st, rec),
		Type: s.Type, Record: rec, Data: s.Data,
	}
	if e.filter.takes(scope{thread: row.Thread, agent: row.Agent, policy: row.Policy, at: row.Time}) {
		e.failed = e.each(row)
	}
}

func (e *exporter) begin(m broker.Stored) { e.watch.begin(m) }

func (e *exporter) end(ctx context.Context, out fold.Outcome) error {
	if e.failed != nil {
		return e.failed
	}
	return e.watch.end(ctx, out)
}

func (e *exporter) done(ctx context.Context) error {
	if e.failed != nil {
		return e.failed
	}
	return e.watch.done(ctx)
}

// policyAt is the policy that the summary a record is about was decided under.
func policyAt(part *state.Partition, st *thread.State, rec events.Record) string {
	if policy := policyOf(rec); policy != "" {
		return policy
	}
	id := string(summaryOf(rec))
	if job := st.Job(id); job != nil {
		return job.Started.Policy
	}
	sum := st.Summary(id)
	if sum == nil && id != "" {
		sum, _ = part.Summary(st.Header.Thread, id) // what can't be read has no policy to tell
	}
	if sum == nil {
		return ""
	}
	return policyOfRow(sum)
}
