package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"precis/events"
)

// verdict compares the records with the expectations.
type verdict struct {
	Created     latency
	Invalidated latency
	Twice       int
	Missing     int
	problems    []string
}

// verify matches records with outputs: an output's nth summary belongs to its nth large revision, and
// its nth invalidation to its nth edit, since a thread's order is kept.
func verify(all []*expectation, f *follower) verdict {
	f.mu.Lock()
	defer f.mu.Unlock()
	v := verdict{}
	outputs := map[string]*output{}
	for _, e := range all {
		for id, o := range e.outputs {
			outputs[slot(e.Thread, events.ToolSlot(id))] = o
		}
	}
	slots := v.summaries(outputs, f.created)
	v.invalidations(outputs, slots, f.invalidated)
	for _, r := range f.rejected {
		v.problem("rejected on %s: %s: %s", r.Subject, r.Code, r.Message)
	}
	for _, u := range f.unreadable {
		v.problem("not readable: %s", u)
	}
	return v
}

func slot(thread, slot string) string { return thread + "\x00" + slot }

func (v *verdict) problem(format string, args ...any) {
	v.problems = append(v.problems, fmt.Sprintf(format, args...))
}

// summaries returns the slot of each summary.
func (v *verdict) summaries(outputs map[string]*output, created []record) map[string]string {
	slots, came := map[string]string{}, map[string]int{}
	var waits []time.Duration
	for _, r := range created {
		if _, again := slots[r.ID]; again {
			v.Twice++
			v.problem("summary %s came twice", r.ID)
			continue
		}
		at := slot(r.ThreadID, r.Slot)
		slots[r.ID] = at
		o := outputs[at]
		if o == nil {
			v.problem("thread %q: summary %s in slot %s, where no large output is", r.ThreadID, r.ID, r.Slot)
			continue
		}
		n := came[at]
		came[at]++
		if n >= len(o.made) {
			v.Twice++
			v.problem("thread %q: %d summaries in slot %s, want %d", r.ThreadID, n+1, r.Slot, len(o.made))
			continue
		}
		waits = append(waits, r.at.Sub(o.made[n]))
	}
	for at, o := range outputs {
		if lack := len(o.made) - came[at]; lack > 0 {
			v.Missing += lack
			v.problem("%s: %d of %d summaries are missing", strings.ReplaceAll(at, "\x00", " "), lack, len(o.made))
		}
	}
	v.Created = quantiles(waits)
	return slots
}

func (v *verdict) invalidations(outputs map[string]*output, slots map[string]string, invalidated []record) {
	came, seen := map[string]int{}, map[string]bool{}
	var waits []time.Duration
	for _, r := range invalidated {
		at, known := slots[r.SummaryID]
		switch {
		case seen[r.SummaryID]:
			v.Twice++
			v.problem("summary %s was invalidated twice", r.SummaryID)
			continue
		case !known:
			v.problem("thread %q: invalidation of %s, which was not created", r.ThreadID, r.SummaryID)
			continue
		}
		seen[r.SummaryID] = true
		o := outputs[at]
		n := came[at]
		came[at]++
		if o == nil || n >= len(o.retired) {
			v.problem("thread %q: more invalidations than edits for %s", r.ThreadID, r.SummaryID)
			continue
		}
		waits = append(waits, r.at.Sub(o.retired[n]))
	}
	for at, o := range outputs {
		if lack := len(o.retired) - came[at]; lack > 0 {
			v.Missing += lack
			v.problem("%s: %d of %d invalidations are missing", strings.ReplaceAll(at, "\x00", " "), lack, len(o.retired))
		}
	}
	v.Invalidated = quantiles(waits)
}

// latency is the distribution of latencies, in milliseconds.
type latency struct {
	N   int     `json:"n"`
	P50 float64 `json:"p50_ms"`
	P90 float64 `json:"p90_ms"`
	P99 float64 `json:"p99_ms"`
	Max float64 `json:"max_ms"`
}

func quantiles(waits []time.Duration) latency {
	if len(waits) == 0 {
		return latency{}
	}
	slices.Sort(waits)
	at := func(per, of int) float64 {
		return float64(waits[min(len(waits)-1, len(waits)*per/of)].Microseconds()) / 1000
	}
	return latency{N: len(waits), P50: at(50, 100), P90: at(90, 100), P99: at(99, 100), Max: at(1, 1)}
}
