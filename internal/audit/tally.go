package audit

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"precis/events"
)

// maxFindings is the number of findings that are kept; the others are only counted.
const maxFindings = 10_000

// Filter narrows a replay's report; the zero Filter accepts everything. The log is still folded from its start: a
// state can't be proved in any other way.
type Filter struct {
	Thread string
	Agent  string // of the thread's first event
	Policy string
	From   time.Time // stream times, both inclusive; zero: no bound
	To     time.Time
}

// scope is what a step or a record belongs to, as a Filter sees it.
type scope struct {
	thread, agent, policy string
	at                    time.Time
}

// Named reports whether the filter names a thread, an agent or a policy.
func (f Filter) Named() bool { return f.Thread != "" || f.Agent != "" || f.Policy != "" }

// names reports whether a step or a record belongs to what the filter names, at any time.
func (f Filter) names(s scope) bool {
	return (f.Thread == "" || f.Thread == s.thread) && (f.Agent == "" || f.Agent == s.agent) && (f.Policy == "" || f.Policy == s.policy)
}

func (f Filter) takes(s scope) bool {
	if s.policy == "" {
		f.Policy = ""
	}
	return f.names(s) && (s.at.IsZero() || (f.From.IsZero() || !s.at.Before(f.From)) && (f.To.IsZero() || !s.at.After(f.To)))
}

// tally collects a report. It is safe for concurrent use: partitions are folded in parallel.
type tally struct {
	filter   Filter
	retained *retained

	mu       sync.Mutex
	rep      Report
	unproved map[string]uint64
	newer    map[string]bool // threads folded under a newer program's configuration
}

func newTally(f Filter, gone *retained) *tally {
	return &tally{filter: f, retained: gone, unproved: map[string]uint64{}, newer: map[string]bool{}, rep: Report{
		Events: map[string]uint64{}, Records: map[string]uint64{}, Proved: map[string]uint64{}, Voided: map[string]uint64{}, Findings: []Finding{},
	}}
}

// note changes the report, if the filter accepts the scope.
func (t *tally) note(s scope, change func(*Report)) {
	if !t.filter.takes(s) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	change(&t.rep)
}

// met notes that the log holds what the filter names.
func (t *tally) met(s scope) {
	if !t.filter.names(s) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rep.Known = true
}

func (t *tally) event(s scope, outcome string) {
	t.met(s)
	t.note(s, func(r *Report) { r.Events[outcome]++ })
}

// record counts an adopted record; rec is nil if its type is unknown.
func (t *tally) record(s scope, typ string, rec events.Record) {
	t.met(s)
	t.note(s, func(r *Report) {
		r.Records[typ]++
		r.Totals.add(rec)
	})
}

func (t *tally) void(s scope, typ string) { t.note(s, func(r *Report) { r.Voided[typ]++ }) }
func (t *tally) thread(s scope)           { t.note(s, func(r *Report) { r.Threads++ }) }
func (t *tally) late(s scope)             { t.note(s, func(r *Report) { r.Pending++ }) }

// doubt notes what can be neither confirmed nor refuted, and why.
func (t *tally) doubt(s scope, reason string) { t.note(s, func(*Report) { t.unproved[reason]++ }) }

// holds notes that a check held, unless a newer program's configuration keeps it from being proved.
func (t *tally) holds(s scope, check string) {
	if t.underNewer(s.thread, check) {
		t.doubt(s, doubtNewer)
		return
	}
	t.note(s, func(r *Report) { r.Proved[check]++ })
}

// removedByRetention is the reason that nothing that depends on a thread's state can be proved.
const removedByRetention = "removed by retention: the log no longer holds the beginning of the thread"

// eventRemoved is the reason that what an event decided can't be proved.
const eventRemoved = "removed by retention: the event that a record was decided at"

// find notes a finding within its scope.
func (t *tally) find(s scope, f Finding) {
	switch {
	case t.retained.excuses(f):
		t.doubt(s, removedByRetention)
		return
	case t.underNewer(string(f.Thread), f.Check):
		t.doubt(s, doubtNewer)
		return
	}
	f.Want, f.Got = short(f.Want), short(f.Got)
	t.note(s, func(r *Report) {
		if len(r.Findings) == maxFindings {
			r.More++
			return
		}
		r.Findings = append(r.Findings, f)
	})
}

// report returns what was noted, the findings in log order.
func (t *tally) report() *Report {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.rep
	r.Unproved = []Unproved{}
	for _, reason := range slices.Sorted(maps.Keys(t.unproved)) {
		r.Unproved = append(r.Unproved, Unproved{reason, t.unproved[reason]})
	}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.EventSeq, b.EventSeq), cmp.Compare(a.Thread, b.Thread), cmp.Compare(a.Check, b.Check))
	})
	return &r
}
