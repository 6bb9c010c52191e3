package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"precis/events"
	"precis/internal/recovery"
	"precis/internal/thread"
	"precis/state"
	"precis/summarize/rules"
)

// against stops the fold at the store's positions and treats the rows of its outbox as recorded.
func (r *replay) against(ctx context.Context) error {
	var metas []state.Meta
	for id := range r.source.Strays + 1 {
		view := r.o.Store.View(id)
		meta, err := view.Meta()
		if err != nil {
			return err
		}
		if err := recovery.CheckLog(meta, r.log); err != nil {
			return err
		}
		metas = append(metas, meta)
		rows, err := view.Outbox()
		if err != nil {
			return err
		}
		r.source.UpTo = append(r.source.UpTo, meta.Position)
		r.source.Decided = append(r.source.Decided, rows)
	}
	err := recovery.CheckMarks(ctx, metas, recovery.ReadersOf(r.o.JetStream))
	if errors.Is(err, recovery.ErrRewritten) { // the replay still looks for what was altered
		r.tally.find(scope{}, Finding{Check: CheckStore, Want: "the messages that the store stands at", Got: err.Error()})
		return nil
	}
	return err
}

// compare compares the store with the scratch store that the fold made.
func (r *replay) compare(ctx context.Context) error {
	if r.o.Store == nil {
		return nil
	}
	made := newLedgers(r.o.Store, r.o.Scratch, r.source.Events, r.o.Mask, cmp.Or(r.o.RulesVersion, rules.Version))
	for id := range r.source.Strays + 1 {
		if err := r.counters(r.o.Scratch.View(id), r.o.Store.View(id)); err != nil {
			return fmt.Errorf("compare counters: %w", err)
		}
		differs := func(p state.Problem) {
			if strings.HasPrefix(p.Check, "row t ") {
				return // a header: counters reports its fields one by one
			}
			want, got := apart(p.Want, p.Got)
			r.tally.find(scope{thread: p.Thread}, Finding{Thread: events.OrNull(p.Thread), Check: CheckStore, Want: p.Check + ": " + want, Got: got})
		}
		if err := r.o.Store.Diff(r.o.Scratch, id, differs); err != nil {
			return err
		}
		if !r.o.Rules {
			continue
		}
		if err := made.compare(ctx, id, r.comparable, differs); err != nil {
			return err
		}
	}
	for range made.skipped {
		r.tally.doubt(scope{}, "a ledger by other rules, or of messages that are gone")
	}
	return nil
}

// comparable reports whether a thread was folded from its beginning.
func (r *replay) comparable(name string) bool {
	return (r.o.Filter.Thread == "" || r.o.Filter.Thread == name) && !r.tally.retained.cut(name)
}

// counters compares the headers of a partition in both directions: a thread may be missing from either view.
func (r *replay) counters(want, got state.View) error {
	err := want.Headers(func(a *thread.Header) (bool, error) {
		if r.o.Filter.Thread != "" && a.Thread != r.o.Filter.Thread {
			return true, nil
		}
		b, err := got.Header(a.Thread)
		if err == nil {
			r.counter(a, b)
		}
		return true, err
	})
	if err != nil || r.o.Filter.Thread != "" {
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
		if r.tally.retained.cut(a.Thread) {
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
