package fold

import (
	"context"
	"errors"
	"fmt"

	"precis/events"
	"precis/internal/thread"
	"precis/state"
)

// A step's records are published together, a thread's steps in order, and a configuration after everything that was decided
// before it. So if a thread has further staged records, either everything that follows from its next event is on record or
// nothing follows from it; once they end, the step was never published and is decided now as it would be live. What a damaged
// SUMMARIES lacks of this is in mend.go.

// onRecord reports whether what follows from the thread's next event is on record.
func (f *Fold) onRecord(st *thread.State, seq uint64) bool {
	if !f.recovering() {
		return false
	}
	return got(f.part.StagedTo(st.Header.Thread)).ChainSeq > st.Header.ChainSeq || f.reconfigured(seq)
}

// reconfigured reports whether a configuration took effect directly after the event at seq. An accepted loss does not count: the
// command that records it publishes nothing of what was decided before it.
func (f *Fold) reconfigured(seq uint64) (found bool) {
	if f.next > seq {
		return false
	}
	check(f.part.EachStaged(seq, func(r *state.Staged) (more bool, err error) {
		if r.EffectiveSeq != seq {
			return false, nil
		}
		if r.Type != events.ConfigApplied {
			return true, nil
		}
		rec, err := record[events.Config](r.Data)
		found = err == nil && (rec.AcceptedLoss == nil || r.Void) // adopt skips one that can't be read
		return !found, nil
	}))
	return found
}

// adoptStep finishes the step of an event whose decisions are on record: it saves the event's own changes, then adopts every
// record that took effect up to it. A configuration comes last, since nothing that follows from the event may see it.
func (s *Step) adoptStep(ctx context.Context) {
	s.saveChanges()
	f, seq := s.f, s.at.Seq
	f.adopted = adopted{thread: s.st.Header.Thread, at: s.at}
	err := attempt(func() {
		reconfigured := f.adoptUpTo(seq, seq)
		s.stepped(ctx, f.adopted.turned || reconfigured)
		s.unrecorded()
		f.adoptUpTo(seq, noEvent)
		if f.adopted.last != nil {
			f.complete(f.adopted.last) // not made from what unrecorded invalidates
		}
	})
	f.adopted = adopted{}
	check(halfDone(err))
}

// AdoptUpTo adopts the staged records that took effect at or before an EVENTS sequence.
func (f *Fold) AdoptUpTo(seq uint64) error {
	return attempt(func() { f.adoptUpTo(seq, noEvent) })
}

// Restaged has the fold look again for the first staged record: more may have been staged since it last did.
func (f *Fold) Restaged() { f.next = 0 }

// adoptRecords bounds the staged records held in memory at once.
const adoptRecords = 256

// noEvent is not a sequence of EVENTS; 0 is where a partition begins.
const noEvent = ^uint64(0)

// adoptUpTo stops before a config.applied that took effect directly after the event configured, and reports whether it did. With
// noEvent it does not stop early.
func (f *Fold) adoptUpTo(seq, configured uint64) (stopped bool) {
	if f.part.Meta().Staged == 0 || f.next > seq {
		return false
	}
	for {
		rows := got(f.part.StagedFrom(f.next, seq, adoptRecords))
		for _, r := range rows {
			if r.Type == events.ConfigApplied && r.EffectiveSeq == configured {
				f.next = r.EffectiveSeq
				return true
			}
			if err := attempt(func() { f.adopt(r) }); err != nil {
				check(fmt.Errorf("adopt record %d of SUMMARIES: %w", r.Seq, err))
			}
			f.part.Adopted(r)
			f.next = r.EffectiveSeq
			// Later decisions must not take effect before it, even if its sequence is not an event of this partition.
			f.applied = max(f.applied, r.EffectiveSeq)
			if r.Thread != "" && r.Thread == f.adopted.thread {
				f.adopted.last = r
			} else {
				f.complete(r)
			}
		}
		if len(rows) < adoptRecords {
			next, found, err := f.part.NextStaged(f.next) // events before it skip the lookup
			if f.next = next; !found {
				f.next = 0
			}
			check(err)
			return false
		}
	}
}

// adoptable brings back the rows of all parked threads whose records are adopted with an event, before its step changes anything: it could not be
// tried again when they can be read.
func (f *Fold) adoptable(seq uint64) {
	if f.part.Meta().Staged == 0 || f.next > seq || !f.part.MayBeParked() {
		return
	}
	var names []string
	of := map[string]bool{}
	check(f.part.EachStaged(f.next, func(r *state.Staged) (bool, error) {
		if r.EffectiveSeq > seq {
			return false, nil
		}
		if !of[r.Thread] {
			of[r.Thread], names = true, append(names, r.Thread)
		}
		return true, nil
	}))
	for _, name := range names {
		check(f.part.Back(name))
	}
}

// adopt folds in one record as it stands, even if the same step would be decided differently today.
func (f *Fold) adopt(r *state.Staged) {
	s := f.on(r.Thread, Delivery{Seq: r.EffectiveSeq, Time: r.Time})
	if r.Thread != "" && r.ChainSeq != s.st.Header.ChainSeq+1 {
		f.Logger.Warn().Str("thread_id", r.Thread).Uint64("seq", r.Seq).
			Uint64("chain_seq", r.ChainSeq).Uint64("want", s.st.Header.ChainSeq+1).
			Msg("SUMMARIES has a gap in the thread's chain; run processor check")
	}
	if r.Void {
		s.void(r)
		return
	}
	if r.Type != events.ConfigApplied {
		check(f.known())
	}
	if err := attempt(func() { s.takeStaged(r) }); err != nil {
		s = f.leaveOut(r, err)
	}
	s.put()
}

// takeStaged takes a staged record.
func (s *Step) takeStaged(r *state.Staged) {
	if r.Type == events.ConfigApplied {
		s.takeConfig(r)
		return
	}
	rec, err := recordOf(r.Type, r.Data)
	if errors.Is(err, errors.ErrUnsupported) { // it changes nothing but the chain
		head := got(record[events.Head](r.Data))
		s.adopting(r, nil)
		s.st.Noted(*head)
		return
	}
	check(err)
	s.prepare(rec)
	switch rec := rec.(type) {
	case *events.Summary:
		s.servedBy(rec.Policy, rec.FirstEventSeq)
		s.sourcesStand(rec)
	case *events.Started:
		s.servedBy(rec.Policy, rec.FirstEventSeq)
		s.sourcesThere(rec.SourceSummaryIDs)
	}
	s.adopting(r, rec)
	s.take(rec, r.Data)
	switch rec := rec.(type) {
	case *events.Summary:
		if s.f.Watch != nil {
			s.f.Watch.Adopted(s.st, rec)
		}
	case *events.UsageRecord: // a call counts toward the budget of the day it was made
		s.f.spentBefore(rec, r.Made)
		s.f.spend(rec, r.Made)
	}
}

// servedBy keeps the policy that a record says for a thread whose first event retention has removed, and with it what the policy is matched
// on. Another one would make all of its summaries stale. The record names the first event: what remains may begin later, with messages before the record.
func (s *Step) servedBy(policy string, first uint64) {
	if h := &s.st.Header; h.Thread != "" && (h.Ordinals == 0 || first > 0 && first < h.FirstSeq) {
		h.Policy = policy
	}
}

// takeConfig puts a configuration on record in force.
func (s *Step) takeConfig(r *state.Staged) {
	rec, c, err := readConfig(r.Data) // once: a log has as many as partitions and starts
	check(err)
	data, err := state.Unsealed(r.Data)
	if err != nil {
		check(fmt.Errorf("%w: %w", ErrRecord, err))
	}
	s.adopting(r, rec)
	s.st.Header.EventSeq = rec.EventSeq
	s.f.part.SaveConfig(data)
	check(s.f.replace(rec, c))
}

// void skips a record that rests on events whose loss was accepted; it notes only the record's place in the chain. What the
// thread's earlier events led to is on record before it.
func (s *Step) void(r *state.Staged) {
	head := got(record[events.Head](r.Data))
	if s.f.Watch != nil {
		check(s.f.Watch.Voided(r))
	}
	s.f.adopted.turned = s.f.adopted.turned || s.f.adopted.thread == r.Thread
	if r.Thread == "" {
		return // the partition knows the end of its own chain
	}
	s.st.Voided(*head)
	s.put()
}

// leaveOut skips a record that can't be taken and notes only its place in the chain: the record is unreadable, or SUMMARIES
// lacks something it refers to. Any other error, such as a damaged store, ends the step.
func (f *Fold) leaveOut(r *state.Staged, why error) *Step {
	if !errors.Is(why, ErrRecord) && !errors.Is(why, state.ErrNoRow) && !errors.Is(why, errNotThere) {
		check(why)
	}
	if f.Watch != nil {
		check(f.Watch.Refused(r, why))
	}
	f.LeftOut()
	f.Logger.Error().Err(why).Str("thread_id", r.Thread).Uint64("seq", r.Seq).
		Msg("a record of SUMMARIES can't be taken over and is skipped: run processor replay to see what it affects")
	head := got(record[events.Head](r.Data))
	s := f.on(r.Thread, Delivery{})
	if r.Thread != "" {
		s.st.Noted(*head)
	}
	return s
}
