package audit

import (
	"context"
	"slices"
	"time"

	"precis/events"
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
	r.export = func(on *onRecord) {
		if r.exportFailed == nil && slices.Contains(types, on.staged.Type) && o.Filter.takes(on.scope) {
			r.exportFailed = each(Row{
				Time: on.at, Thread: on.thread, Agent: on.agent, Policy: on.policy,
				Type: on.staged.Type, Record: on.rec, Data: on.staged.Data,
			})
		}
	}
	return r.report(ctx)
}
