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
	return (f.Thread == "" || f.Thread == s.thread) && (f.Agent == "" || f.Agent == s.agent) &&
		(f.Policy == "" || s.policy == "" || f.Policy == s.policy) &&
		(s.at.IsZero() || (f.From.IsZero() || !s.at.Before(f.From)) && (f.To.IsZero() || !s.at.After(f.To)))
}

// tally collects a report. It is safe for concurrent use: partitions are folded in parallel.
type tally struct {
	filter   Filter
	retained *retained

	mu       sync.Mutex
	known    bool // the log holds what the filter names
	events   map[string]uint64
	records  map[string]uint64
	proved   map[string]uint64
	unproved map[string]uint64
	voided   map[string]uint64
	totals   Totals
	threads  uint64
	newer    map[string]bool // threads folded under a newer program's configuration
	pending  uint64
	findings []Finding
	more     uint64
}

func newTally(f Filter) *tally {
	return &tally{
		filter: f, retained: &retained{}, events: map[string]uint64{}, records: map[string]uint64{},
		proved: map[string]uint64{}, unproved: map[string]uint64{}, voided: map[string]uint64{}, newer: map[string]bool{},
	}
}

func (t *tally) add(to map[string]uint64, s scope, name string) {
	if !t.filter.takes(s) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	to[name]++
}

func (t *tally) event(s scope, outcome string) {
	t.met(s)
	t.add(t.events, s, outcome)
}

// holds notes that a check held, unless a newer program's configuration keeps it from being proved.
func (t *tally) holds(s scope, check string) {
	if t.underNewer(s.thread, check) {
		t.doubt(s, doubtNewer)
		return
	}
	t.add(t.proved, s, check)
}

func (t *tally) void(s scope, typ string)     { t.add(t.voided, s, typ) }
func (t *tally) doubt(s scope, reason string) { t.add(t.unproved, s, reason) }

// met notes that the log holds what the filter names.
func (t *tally) met(s scope) {
	if !t.filter.names(s) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known = true
}

// record counts an adopted record; rec is nil if its type is unknown.
func (t *tally) record(s scope, typ string, rec events.Record) {
	t.met(s)
	if !t.filter.takes(s) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.records[typ]++
	t.totals.add(rec)
}

func (t *tally) thread(s scope) {
	if !t.filter.takes(s) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.threads++
}

func (t *tally) late(s scope) {
	if !t.filter.takes(s) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pending++
}

// removedByRetention is the reason that nothing that depends on a thread's state can be proved.
const removedByRetention = "removed by retention: the log no longer holds the beginning of the thread"

// find notes a finding within its scope.
func (t *tally) find(s scope, f Finding) {
	if !t.filter.takes(s) {
		return
	}
	if t.retained.excuses(f) {
		t.doubt(s, removedByRetention)
		return
	}
	if t.underNewer(string(f.Thread), f.Check) {
		t.doubt(s, doubtNewer)
		return
	}
	f.Want, f.Got = short(f.Want), short(f.Got)
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.findings) == maxFindings {
		t.more++
		return
	}
	t.findings = append(t.findings, f)
}

// fill writes the tally into a report, the findings in log order.
func (t *tally) fill(r *Report) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r.Events, r.Records, r.Proved, r.Threads = t.events, t.records, t.proved, t.threads
	r.Known, r.Voided = t.known, t.voided
	r.Pending, r.More, r.Totals = t.pending, t.more, t.totals
	r.Unproved = []Unproved{}
	for _, reason := range slices.Sorted(maps.Keys(t.unproved)) {
		r.Unproved = append(r.Unproved, Unproved{reason, t.unproved[reason]})
	}
	slices.SortStableFunc(t.findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.EventSeq, b.EventSeq), cmp.Compare(a.Thread, b.Thread), cmp.Compare(a.Check, b.Check))
	})
	r.Findings = append([]Finding{}, t.findings...)
}
