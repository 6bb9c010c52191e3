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

// Row is one record with the properties by which a replay filters it.
type Row struct {
	Time   time.Time // when SUMMARIES stored it
	Thread string
	Agent  string // author of the thread's first event
	Policy string // under which the summary was decided
	Type   events.Type
	Record events.Record
	Data   []byte // as stored in SUMMARIES
}

// Export replays the log and calls each with every record that the filter accepts, in the order in which they took
// effect. An error from each ends the export. The report says whether the log justifies the records.
func Export(ctx context.Context, o Options, types []events.Type, each func(Row) error) (*Report, error) {
	o.Rules, o.Workers = false, 1 // one worker, so that rows come in the log's order
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

// exporter passes on the records that a lane's watch sees adopted.
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

// policyAt is the policy under which a record's summary was decided.
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
		sum, _ = part.Summary(st.Header.Thread, id) // an unreadable summary has no known policy
	}
	if sum == nil {
		return ""
	}
	return policyOfRow(sum)
}
