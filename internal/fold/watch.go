package fold

import (
	"context"
	"time"

	"precis/events"
	"precis/internal/thread"
	"precis/state"
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

func (s *Step) adopting(r *state.Staged, rec events.Record) {
	f := s.f
	if f.Watch == nil {
		return
	}
	if r.Thread == f.adopted.thread && rec != nil && rec.Common().Step.Cause != events.ByEvent {
		f.adopted.turned = true
	}
	f.Watch.Adopting(s.st, r, rec)
}

// stepped calls the watch with what was decided.
func (s *Step) stepped(ctx context.Context, turned bool) {
	if s.f.Watch == nil {
		return
	}
	p, _ := s.f.policy(s.st, nil)
	told := Stepped{Delivery: s.at, State: s.st, Result: s.res, Policy: p.Name, Decided: s.whole, Whole: s.whole != nil, Turned: turned}
	if !told.Whole {
		told.Decided = s.decided
	}
	check(s.f.Watch.Stepped(ctx, told))
}

// DueLeaf returns the leaf that would be made of a thread in a state, without its text; nil if none is due.
func (f *Fold) DueLeaf(st *thread.State, at Delivery) (rec *events.Summary, err error) {
	s := f.step(st, at)
	if st.Compaction == nil || !s.p.Enabled || st.Header.RenewCompactions > 0 {
		return nil, nil
	}
	if trigger, fires := s.cutDue(); fires {
		err = attempt(func() { rec, _ = s.dueLeaf(trigger) })
	}
	return rec, err
}

// AskedLeaf returns the leaf that a request or the clock would make in a state, as DueLeaf does; nil if the trigger makes none
// due.
func (f *Fold) AskedLeaf(st *thread.State, at Delivery, trigger events.Trigger) (rec *events.Summary, err error) {
	s := f.step(st, at)
	if st.Compaction == nil || !s.p.Enabled {
		return nil, nil
	}
	switch trigger.Reason {
	case events.TriggerRequested:
		if !s.cutFacts().Worthwhile() {
			return nil, nil
		}
		trigger = requested()
	case events.TriggerIdle:
		if trigger.Value == nil {
			return nil, nil
		}
		due, ok := idleTrigger(s.p, s.cutFacts(), time.Duration(*trigger.Value*float64(time.Second)+0.5))
		if !ok {
			return nil, nil
		}
		due.Value, trigger = trigger.Value, due
	}
	err = attempt(func() { rec, _ = s.dueLeaf(trigger) })
	return rec, err
}
