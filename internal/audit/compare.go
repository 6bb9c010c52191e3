package audit

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/recovery"
	"precis/internal/thread"
	"precis/state"
	"precis/summarize/rules"
)

// Comparison says what a comparison of a store with the log could not compare, and why the two may differ although the store is
// not at fault.
type Comparison struct {
	// EventsFrom is where EVENTS begins, and ThreadsCut how many threads began before that and were not compared.
	EventsFrom uint64 `json:"events_from"`
	ThreadsCut uint64 `json:"threads_cut"`
	// RecordsVoid are on record and void: they rest on events whose loss was accepted.
	RecordsVoid uint64 `json:"records_void"`
	// LedgersSkipped were not compared: they were made by other rules, or from messages that are gone.
	LedgersSkipped uint64 `json:"ledgers_skipped"`
	// Missing are the gaps in the log.
	Missing []string `json:"missing"`
}

// Compare folds the log from the start up to each partition's position and reports every row in which the store differs from the
// result. Nothing may write to the store meanwhile. Without a scratch store it uses memory.
func Compare(ctx context.Context, o Options, report func(state.Problem)) (c Comparison, err error) {
	c = Comparison{EventsFrom: 1, Missing: []string{}}
	if o.Scratch == nil {
		if o.Scratch, err = state.Open("", state.Options{FS: state.Memory(), Scratch: true, Logger: o.Logger}); err != nil {
			return c, err
		}
		defer func() { err = errors.Join(err, o.Scratch.Close()) }()
	}
	r, err := newRun(ctx, o)
	if err == nil {
		err = r.rewritten
	}
	if err != nil {
		return c, err
	}
	r.missing = func(m broker.Missing) { c.Missing = append(c.Missing, m.String()) }
	own := owns{}
	r.tail.Record = func(m broker.Stored, e recovery.Entry, _ state.Link) {
		if e.Thread == "" {
			own[e.Partition] = append(own[e.Partition], state.Own{Seq: m.Seq, ChainSeq: e.ChainSeq, Chain: e.Chain})
		}
		r.saw(m, e)
	}
	r.tail.Foreign = func(f recovery.Foreign) { r.saw(f.Stored, f.Entry) }
	if err := r.rebuild(ctx, r.retained.stored); err != nil {
		return c, err
	}
	if len(r.parts[0].Meta().Losses) > 0 {
		c.RecordsVoid = r.tail.Voided
	}
	if m, why := r.retained.unexcused(); why != "" {
		r.missing(m)
	}
	c.EventsFrom = r.retained.first
	if c.ThreadsCut, err = r.retained.count(); err != nil {
		return c, err
	}
	if err := r.compare(ctx, own, &c, report); err != nil {
		return c, fmt.Errorf("compare: %w", err)
	}
	return c, nil
}

// compare reports where the rows of the store, and the positions of its partitions, differ from the scratch store's.
func (r *run) compare(ctx context.Context, own owns, c *Comparison, report func(state.Problem)) error {
	stands, err := standingOf(ctx, r, own)
	if err != nil {
		return err
	}
	made := newLedgers(r, rules.Version)
	all, whole := report, func(name string) bool { return !r.retained.cut(name) }
	report = func(p state.Problem) {
		if whole(p.Thread) {
			all(p)
		}
	}
	for id := range r.parts {
		if err := r.Store.Diff(r.Scratch, id, report); err != nil {
			return err
		}
		meta, err := r.Scratch.View(id).Meta()
		if err != nil {
			return err
		}
		stands.compare(id, r.metas[id], meta, report)
		// Decisions that the fold had to make itself because SUMMARIES has lost them: the store holds them, or differs in them.
		rows, err := r.Scratch.View(id).Outbox()
		if err != nil {
			return err
		}
		for _, row := range rows {
			if row.Guarded {
				report(state.Problem{Partition: id, Thread: row.Thread, Check: "on record in SUMMARIES", Want: row.ID, Got: "missing"})
			}
		}
		if err := made.compare(ctx, id, whole, report); err != nil {
			return err
		}
	}
	c.LedgersSkipped = made.skipped
	return nil
}

// compare compares the store with the scratch store that the fold made.
func (r *replay) compare(ctx context.Context) error {
	if r.Store == nil {
		return nil
	}
	made := newLedgers(r.run, r.RulesVersion)
	// folded reports whether a thread was folded from its beginning.
	folded := func(name string) bool {
		return (r.Filter.Thread == "" || r.Filter.Thread == name) && !r.retained.cut(name)
	}
	differs := func(p state.Problem) {
		if strings.HasPrefix(p.Check, "row t ") {
			return // a header: counters reports its fields one by one
		}
		want, got := apart(p.Want, p.Got)
		r.tally.find(scope{thread: p.Thread}, Finding{Thread: events.OrNull(p.Thread), Check: CheckStore, Want: p.Check + ": " + want, Got: got})
	}
	for id := range r.parts {
		if err := r.counters(r.Scratch.View(id), r.Store.View(id)); err != nil {
			return fmt.Errorf("compare counters: %w", err)
		}
		if err := r.Store.Diff(r.Scratch, id, differs); err != nil {
			return err
		}
		if !r.Rules {
			continue
		}
		if err := made.compare(ctx, id, folded, differs); err != nil {
			return err
		}
	}
	for range made.skipped {
		r.tally.doubt(scope{}, "a ledger by other rules, or of messages that are gone")
	}
	return nil
}

// counters compares the headers of a partition in both directions: a thread may be missing from either view.
func (r *replay) counters(want, got state.View) error {
	err := want.Headers(func(a *thread.Header) (bool, error) {
		if r.Filter.Thread != "" && a.Thread != r.Filter.Thread {
			return true, nil
		}
		b, err := got.Header(a.Thread)
		if err == nil {
			r.counter(a, b)
		}
		return true, err
	})
	if err != nil || r.Filter.Thread != "" {
		return err
	}
	return got.Headers(func(b *thread.Header) (bool, error) {
		a, err := want.Header(b.Thread)
		if err == nil && a == nil {
			r.tally.find(scopeOfHeader(b), Finding{Thread: events.OrNull(b.Thread), Check: CheckCounter, Want: "no such thread in the log", Got: "a thread"})
		}
		return true, err
	})
}

func scopeOfHeader(h *thread.Header) scope { return scope{thread: h.Thread, agent: h.FirstAgentID} }

// counter compares one thread's counters and its other per-thread fields.
func (r *replay) counter(a, b *thread.Header) {
	at := scopeOfHeader(a)
	if b == nil {
		r.tally.find(at, Finding{Thread: events.OrNull(a.Thread), Check: CheckCounter, Want: "a thread", Got: "not in the store"})
		return
	}
	x, y := reflect.ValueOf(*a), reflect.ValueOf(*b)
	same := true
	for i := range x.NumField() {
		name := x.Type().Field(i).Name
		if x.Field(i).Interface() == y.Field(i).Interface() {
			continue
		}
		same = false
		if r.retained.cut(a.Thread) {
			r.tally.doubt(at, removedByRetention) // once per thread, not per counter
			return
		}
		r.tally.find(at, Finding{
			Thread: events.OrNull(a.Thread), Check: CheckCounter, EventSeq: a.EventSeq,
			Want: fmt.Sprintf("%s: %v", snake(name), x.Field(i)), Got: fmt.Sprintf("%s: %v", snake(name), y.Field(i)),
		})
	}
	if same {
		r.tally.holds(at, CheckCounter)
	}
}

// snake converts a field's name to its JSON form: ToolResults becomes tool_results.
func snake(name string) string {
	var b strings.Builder
	for i, c := range name {
		lower := i > 0 && name[i-1] >= 'a' && name[i-1] <= 'z'
		if c >= 'A' && c <= 'Z' && lower {
			b.WriteByte('_')
		}
		b.WriteRune(c)
	}
	return strings.ToLower(b.String())
}
