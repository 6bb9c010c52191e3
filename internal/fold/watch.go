package fold

import (
	"context"
	"time"

	"precis/events"
	"precis/internal/thread"
	"precis/state"
	"precis/summarize"
	"precis/summarize/cut"
)

// Watch observes a fold over records: what is adopted, and what would be decided. It changes nothing; an audit uses it to check
// what the fold alone adopts unchecked.
type Watch interface {
	// Adopting is called before a record changes its thread, with the previous state and everything that the record touches
	// loaded. rec is nil for a record of an unknown type.
	Adopting(st *thread.State, s *state.Staged, rec events.Record)
	// Adopted is called after a summary.created has changed its thread, before the thread is saved.
	Adopted(st *thread.State, rec *events.Summary)
	// Refused is called for a record that can't be folded in and is skipped; an error ends the fold.
	Refused(s *state.Staged, why error) error
	// Voided is called for a record that rests on events whose loss was accepted, before it takes its place in the chain.
	Voided(s *state.Staged) error
	// Stepped is called for every event of a thread, after the records that took effect at it.
	Stepped(ctx context.Context, s Stepped) error
}

// Stepped is an event that was folded in.
type Stepped struct {
	Delivery Delivery
	State    *thread.State // as the event left it
	Result   thread.Result
	Policy   string // the one that serves the thread
	// Decided are the records that follow from the event, whatever is on record.
	Decided []events.Record
	// Whole: they are as they would be emitted. Otherwise they lack the rules' output and compactions: DueLeaf returns the leaf
	// that is due.
	Whole bool
	// Turned: something was decided for the thread after the event, or the configuration has changed, so the event did not call
	// for what State is due now.
	Turned bool
}

// adopted is what was adopted at an event of a thread.
type adopted struct {
	thread string
	at     Delivery // the event
	// last is the last of the records; nil if there was none.
	last *state.Staged
	// turned: one of them was not decided by the event.
	turned bool
}

func (f *Fold) adopting(st *thread.State, s *state.Staged, rec events.Record) {
	if f.watch == nil {
		return
	}
	if s.Thread == f.adopted.thread && rec != nil && rec.Common().Step.Cause != events.ByEvent {
		f.adopted.turned = true
	}
	f.watch.Adopting(st, s, rec)
}

// stepped calls the watch with what was decided.
func (f *Fold) stepped(ctx context.Context, st *thread.State, d Delivery, res thread.Result, dec decided, turned bool) error {
	if f.watch == nil {
		return nil
	}
	p, _ := f.policy(st, nil)
	s := Stepped{Delivery: d, State: st, Result: res, Policy: p.Name, Decided: dec.whole, Whole: dec.whole != nil || f.rehearses, Turned: turned}
	if !s.Whole {
		for _, dr := range dec.drafts {
			s.Decided = append(s.Decided, dr.record())
		}
	}
	return f.watch.Stepped(ctx, s)
}

func (d draft) record() events.Record {
	switch {
	case d.started != nil:
		return &d.started.Started
	case d.created != nil:
		return d.created
	}
	return d.invalidated
}

// emitted returns the records that the step has emitted so far; never nil.
func (f *Fold) emitted() []events.Record {
	list := make([]events.Record, 0, len(f.out))
	for _, e := range f.out {
		if _, ended := e.decided.Record.(*events.Failed); !ended { // its start is the decision
			list = append(list, e.decided.Record)
		}
	}
	return list
}

// mayDecide reports whether anything can follow from an event.
func (f *Fold) mayDecide(st *thread.State, res thread.Result, drafts []draft, p *summarize.Policy) bool {
	if len(drafts) > 0 || historyDue(st, p) || f.mustStand(st, p, pinnedAt(st, res)) {
		return true
	}
	if st.Compaction == nil || !p.Enabled {
		return false
	}
	if st.Header.Renewals > 0 {
		return true
	}
	_, fires := cut.Fires(p.Compaction.Trigger, st.Compaction.Cut.Facts(p.Compaction))
	return fires
}

// rehearse does what would be done live, in a state that is then discarded, and returns the resulting records. f.out holds them
// as they would be sent.
func (f *Fold) rehearse(ctx context.Context, st *thread.State, d Delivery, dec decided, p *summarize.Policy) (list []events.Record, err error) {
	f.begin(events.ByEvent)
	if dec.waiting, err = f.waive(st, p); err != nil {
		return nil, err
	}
	for _, dr := range dec.drafts {
		if err := dr.make(ctx); err != nil {
			return nil, err
		}
		f.emit(st, dr, d)
	}
	if err := f.follow(ctx, st, d, dec, p); err != nil {
		return nil, err
	}
	return f.emitted(), nil
}

// DueLeaf returns the leaf that would be made of a thread in a state, without its text; nil if none is due.
func (f *Fold) DueLeaf(st *thread.State, at Delivery) (*events.Summary, error) {
	p, _ := f.policy(st, nil)
	if st.Compaction == nil || !p.Enabled || st.Header.RenewCompactions > 0 {
		return nil, nil
	}
	trigger, fires := cut.Fires(p.Compaction.Trigger, st.Compaction.Cut.Facts(p.Compaction))
	if !fires {
		return nil, nil
	}
	return f.dueLeaf(st, at, p, trigger)
}

// AskedLeaf returns the leaf that a request or the clock would make in a state, as DueLeaf does; nil if the trigger makes none
// due.
func (f *Fold) AskedLeaf(st *thread.State, at Delivery, trigger events.Trigger) (*events.Summary, error) {
	p, _ := f.policy(st, nil)
	if st.Compaction == nil || !p.Enabled {
		return nil, nil
	}
	facts := st.Compaction.Cut.Facts(p.Compaction)
	switch trigger.Reason {
	case events.TriggerRequested:
		if !facts.Worthwhile() {
			return nil, nil
		}
		trigger = events.Trigger{Reason: events.TriggerRequested}
	case events.TriggerIdle:
		if trigger.Value == nil {
			return nil, nil
		}
		due, ok := idleTrigger(p, facts, time.Duration(*trigger.Value*float64(time.Second)+0.5))
		if !ok {
			return nil, nil
		}
		due.Value, trigger = trigger.Value, due
	}
	return f.dueLeaf(st, at, p, trigger)
}

func (f *Fold) dueLeaf(st *thread.State, at Delivery, p *summarize.Policy, trigger events.Trigger) (*events.Summary, error) {
	w := &compaction{f: f, st: st, d: at, p: p}
	s, ok, err := f.span(st, p)
	if err != nil || !ok {
		return nil, err
	}
	slot, err := w.leafSlot(s.rows)
	if err != nil || slot == "" {
		return nil, err
	}
	return w.leafRecord(slot, s.rows, s.removed, trigger)
}
