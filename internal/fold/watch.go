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

// Watch sees a fold over records from inside: what is adopted, and what is decided beside it. It changes
// nothing; an audit checks with it what the fold alone would take as it stands.
type Watch interface {
	// Adopting is called before a record changes its thread, whose state is as it was before, with what
	// the record touches loaded. rec is nil for a record of no known type.
	Adopting(st *thread.State, s *state.Staged, rec events.Record)
	// Adopted is called when a summary.created has changed its thread, which is not saved yet.
	Adopted(st *thread.State, rec *events.Summary)
	// Refused is told of a record that can't be folded in and is passed over; an error ends the fold with it.
	Refused(s *state.Staged, why error) error
	// Voided is told of a record that rests on events whose loss was accepted, before it takes its place in the chain.
	Voided(s *state.Staged) error
	// Stepped is called with every event of a thread, behind the records that took effect at it.
	Stepped(ctx context.Context, s Stepped) error
}

// Stepped is an event that was folded in.
type Stepped struct {
	Delivery Delivery
	State    *thread.State // as the event left it
	Result   thread.Result
	Policy   string // the one that serves the thread
	// Decided are the records that follow from the event, whatever stands on record.
	Decided []events.Record
	// Whole says that they are as they would be emitted. Else what the rules say is left out, and so are
	// compactions: DueLeaf says whether one is due.
	Whole bool
	// Turned says that something was decided for the thread behind the event, or that the configuration has
	// changed: what State is due now, the event did not call for.
	Turned bool
	// Cut says that a leaf on record cut the thread at the event, which cuts once; or that the event has made as many
	// stale ones again as it may, and leaves the cut to a later one.
	Cut bool
}

// adopted says what was adopted at an event of a thread. Only an audit asks for more than some.
type adopted struct {
	thread string
	at     Delivery // the event
	// some: there are any.
	some bool
	// turned: one of them can't have been decided at the event.
	turned bool
	// cut: one of them is a leaf that cut the thread. One event cuts once, though the thread may be due again behind
	// that: a cut before a user message is preferred, and what is left before the next safe one may be enough.
	cut bool
	// freshened is how many stale summaries the event made again to stand a cut on.
	freshened int
}

func (f *Fold) adopting(st *thread.State, s *state.Staged, rec events.Record) {
	if f.watch == nil {
		return
	}
	if s.Thread == f.adopted.thread {
		f.adopted.note(st, rec)
	}
	f.watch.Adopting(st, s, rec)
}

func (a *adopted) note(st *thread.State, rec events.Record) {
	if a.byTurn(rec) {
		a.turned = true
		return
	}
	if newLeaf(rec) != nil {
		a.cut = true
	}
	if sum := madeAgain(rec); sum != nil && sum.Trigger.Reason != events.TriggerRegenerated {
		if old := st.Summary(st.Slot(sum.Slot).Holder); old == nil || old.Status != thread.Active {
			a.freshened++
		}
	}
}

// newLeaf is a record that is a leaf which cut its thread; nil for any other.
func newLeaf(rec events.Record) *events.Summary {
	sum, ok := rec.(*events.Summary)
	if !ok || sum.Kind != events.KindCompaction || sum.Level > 0 || sum.Version > 1 {
		return nil
	}
	return sum
}

// madeAgain is a record of a leaf or node that was there before; nil for any other.
func madeAgain(rec events.Record) *events.Summary {
	sum, ok := rec.(*events.Summary)
	if !ok || sum.Kind != events.KindCompaction || sum.Slot == events.SlotCurrent || sum.Version == 1 {
		return nil
	}
	return sum
}

// byTurn says whether a record can only have been decided behind its event, and not at it. What an event calls
// for is made at its time; a turn has the clock's, and a job ends when its event is durable.
func (a *adopted) byTurn(rec events.Record) bool {
	switch rec := rec.(type) {
	case *events.Invalidated:
		switch rec.Reason {
		case events.ReasonPolicyChanged, events.ReasonPromptChanged, events.ReasonModelChanged, events.ReasonTTLExpired:
			return true
		}
	case *events.Summary:
		reason := rec.Trigger.Reason
		return reason == events.TriggerRequested || reason == events.TriggerIdle || rec.EventSeq < rec.EffectiveSeq ||
			!rec.CreatedAt.Equal(a.at.Time)
	case *events.Started:
		return rec.Trigger.Reason == events.TriggerRequested || rec.Trigger.Reason == events.TriggerIdle
	case *events.Failed, *events.UsageRecord:
		return true // a job is begun when its event is durable
	}
	return false
}

// stepped tells the watch what was decided.
func (f *Fold) stepped(ctx context.Context, st *thread.State, d Delivery, res thread.Result, dec decided, turned bool) error {
	if f.watch == nil {
		return nil
	}
	p, _ := f.policy(st, nil)
	s := Stepped{Delivery: d, State: st, Result: res, Policy: p.Name, Decided: dec.whole, Whole: dec.whole != nil || f.rehearses, Turned: turned, Cut: f.adopted.cut || f.adopted.freshened >= renewAtOnce}
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

// emitted are the records that the step has emitted so far; never nil.
func (f *Fold) emitted() []events.Record {
	list := make([]events.Record, 0, len(f.out))
	for _, e := range f.out {
		if _, ended := e.decided.Record.(*events.Failed); !ended { // its start says what was decided
			list = append(list, e.decided.Record)
		}
	}
	return list
}

// mayDecide says whether anything can follow from an event.
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

// rehearse does what would be done live, in a state that is given up after it, and returns the records
// that come out. f.out holds them as they would be sent.
func (f *Fold) rehearse(ctx context.Context, st *thread.State, d Delivery, dec decided, p *summarize.Policy) (list []events.Record, err error) {
	f.out = f.out[:0]
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

// DueLeaf is the compaction that a thread is due in a state, without its text: the leaf that would be
// made now. It is nil where none is due.
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

// AskedLeaf is the compaction that a request makes in a state, or the clock, as DueLeaf has it. It is nil
// where what the trigger says does not make one due.
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
