package audit

import (
	"precis/events"
	"precis/internal/fold"
	"precis/internal/thread"
)

// history compares a history, or the start of one by a model, with what was due in its thread.
func (a *auditor) history(at scope, st *thread.State, r *onRecord, d fold.Delivery) {
	var trigger events.Trigger
	switch rec := r.rec.(type) {
	case *events.Summary:
		trigger = rec.Trigger
	case *events.Started:
		trigger = rec.Trigger
	}
	want, err := a.lane.fold.DueHistory(st, d, trigger)
	if err != nil {
		a.tally.doubt(at, "a history whose messages can't be read")
		return
	}
	switch want := want.(type) {
	case nil:
		a.tally.find(at, a.finding(r.rec, CheckTrigger, "no history: the thread is not due", showTrigger(trigger)))
		return
	case *events.Summary:
		err = a.same(at, r, want, false)
	case *events.Started:
		err = a.same(at, r, want, false)
	}
	if err != nil {
		a.tally.find(at, a.finding(r.rec, CheckReadable, "a record", err.Error()))
	}
}

func kindOf(rec events.Record) string {
	switch rec := rec.(type) {
	case *events.Summary:
		return rec.Kind
	case *events.Started:
		return rec.Kind
	}
	return ""
}
