package audit

import (
	"context"
	"errors"
	"fmt"
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
	stands := standing{configs: r.configs, own: map[int][]state.Own{}}
	r.tail.Record = func(m broker.Stored, e recovery.Entry, _ state.Link) {
		if e.Thread == "" {
			stands.own[e.Partition] = append(stands.own[e.Partition], state.Own{Seq: m.Seq, ChainSeq: e.ChainSeq, Chain: e.Chain})
		}
		r.saw(m, e)
	}
	r.tail.Foreign = func(f recovery.Foreign) { r.saw(f.Stored, f.Entry) }
	if err := r.rebuild(ctx, func() {}); err != nil {
		return c, err
	}
	if len(r.parts[0].Meta().Losses) > 0 {
		c.RecordsVoid = r.tail.Voided
	}
	if m, why := r.retained.unexcused(); why != "" {
		r.missing(m)
	}
	c.EventsFrom, c.ThreadsCut = r.retained.first, r.retained.count()
	if stands.summaries, err = broker.StateOf(ctx, o.JetStream, broker.StreamSummaries); err != nil {
		return c, err
	}
	if stands.rejected, err = broker.StateOf(ctx, o.JetStream, broker.StreamRejected); err != nil {
		return c, err
	}
	if c.LedgersSkipped, err = r.compare(ctx, stands, report); err != nil {
		return c, fmt.Errorf("compare: %w", err)
	}
	return c, nil
}

// compare reports where the rows of the store, and the positions of its partitions, differ from the scratch store's. It returns the
// number of ledgers that were not compared.
func (r *run) compare(ctx context.Context, stands standing, report func(state.Problem)) (skipped uint64, err error) {
	made := newLedgers(r, rules.Version)
	all, whole := report, func(name string) bool { return !r.retained.cut(name) }
	report = func(p state.Problem) {
		if whole(p.Thread) {
			all(p)
		}
	}
	for id := range r.parts {
		if err := r.Store.Diff(r.Scratch, id, report); err != nil {
			return 0, err
		}
		meta, err := r.Scratch.View(id).Meta()
		if err != nil {
			return 0, err
		}
		stands.compare(id, r.metas[id], meta, report)
		// Decisions that the fold had to make itself because SUMMARIES has lost them: the store holds them, or differs in them.
		rows, err := r.Scratch.View(id).Outbox()
		if err != nil {
			return 0, err
		}
		for _, row := range rows {
			if row.Guarded {
				report(state.Problem{Partition: id, Thread: row.Thread, Check: "on record in SUMMARIES", Want: row.ID, Got: "missing"})
			}
		}
		if err := made.compare(ctx, id, whole, report); err != nil {
			return 0, err
		}
	}
	return made.skipped, nil
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
	for id := range r.parts {
		others := map[string]bool{} // threads whose header differs
		differs := func(p state.Problem) {
			if strings.HasPrefix(p.Check, "row t ") {
				others[p.Thread] = true
				r.counter(id, p)
				return
			}
			want, got := apart(p.Want, p.Got)
			r.tally.find(scope{thread: p.Thread}, Finding{Thread: events.OrNull(p.Thread), Check: CheckStore, Want: p.Check + ": " + want, Got: got})
		}
		if err := r.Store.Diff(r.Scratch, id, differs); err != nil {
			return err
		}
		err := r.Scratch.View(id).Headers(func(h *thread.Header) (bool, error) {
			if !others[h.Thread] {
				r.tally.holds(scopeOfHeader(h), CheckCounter)
			}
			return true, nil
		})
		if err == nil && r.Rules {
			err = made.compare(ctx, id, folded, differs)
		}
		if err != nil {
			return err
		}
	}
	for range made.skipped {
		r.tally.doubt(scope{}, "a ledger by other rules, or of messages that are gone")
	}
	return nil
}

func scopeOfHeader(h *thread.Header) scope { return scope{thread: h.Thread, agent: h.FirstAgentID} }

// counter reports how a thread's counters, and what else its header holds, differ.
func (r *replay) counter(partition int, p state.Problem) {
	h, err := r.Scratch.View(partition).Header(p.Thread)
	if h == nil || err != nil {
		h = &thread.Header{Thread: p.Thread}
	}
	at, f := scopeOfHeader(h), Finding{Thread: events.OrNull(p.Thread), Check: CheckCounter, EventSeq: h.EventSeq, Want: p.Want, Got: p.Got}
	list, err := differing([]byte(p.Want), []byte(p.Got))
	switch {
	case r.retained.cut(p.Thread):
		r.tally.doubt(at, removedByRetention) // once per thread, not per counter
		return
	case err != nil: // one of the two has no such thread
		r.tally.find(at, f)
	}
	for _, m := range list {
		f.Want, f.Got = snake(m.name)+": "+m.want, snake(m.name)+": "+m.got
		r.tally.find(at, f)
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
