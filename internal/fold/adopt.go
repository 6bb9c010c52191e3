package fold

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/internal/thread"
	"precis/state"
)

// A step's records are published together, a thread's steps in order, and a configuration after everything that was decided
// before it. So if a thread has further staged records, either everything that follows from its next event is on record or
// nothing follows from it; once they end, the step was never published and is decided now as it would be live. A server that
// lost unsynced writes may hold only the first records of a step, which the number of its records reveals: see cutShort and
// Fold.complete.

// onRecord reports whether what follows from the thread's next event is on record.
func (f *Fold) onRecord(st *thread.State, seq uint64) (bool, error) {
	if !f.recovering() {
		return false, nil
	}
	to, err := f.part.StagedTo(st.Header.Thread)
	if err != nil || to.ChainSeq > st.Header.ChainSeq {
		return err == nil, err
	}
	return f.reconfigured(seq)
}

// reconfigured reports whether a configuration took effect directly after the event at seq. An accepted loss does not count: the
// command that records it publishes nothing of what was decided before it.
func (f *Fold) reconfigured(seq uint64) (found bool, err error) {
	if f.next > seq {
		return false, nil
	}
	err = f.part.EachStaged(seq, func(s *state.Staged) (more bool, err error) {
		if s.EffectiveSeq != seq {
			return false, nil
		}
		if s.Type != events.ConfigApplied {
			return true, nil
		}
		rec, err := read[events.Config](s.Data)
		if err != nil { // adopt skips it
			return true, nil
		}
		found = rec.AcceptedLoss == nil || s.Void
		return !found, nil
	})
	return found, err
}

// cutShort returns the records of the thread's next event if the thread's staged records end within that step, else nil.
func (f *Fold) cutShort(st *thread.State, seq uint64) (rows []*state.Staged, err error) {
	if f.next > seq {
		return nil, nil
	}
	to, err := f.part.StagedTo(st.Header.Thread)
	if err != nil || to.Gap {
		return nil, err
	}
	err = f.part.EachStaged(seq, func(s *state.Staged) (bool, error) {
		if s.EffectiveSeq == seq && s.Thread == st.Header.Thread && !s.Void {
			rows = append(rows, s)
		}
		return s.EffectiveSeq == seq, nil
	})
	n := uint64(len(rows))
	if err != nil || n == 0 || to.ChainSeq != st.Header.ChainSeq+n || rows[0].ChainSeq != st.Header.ChainSeq+1 || rows[n-1].Left == 0 {
		return nil, err
	}
	return rows, nil
}

// begins reports whether what was decided has as many records as the step that begins with rows, and the same ones, byte for byte,
// as far as rows goes.
func begins(decided []emission, rows []*state.Staged) bool {
	if len(rows) == 0 || len(decided) != len(rows)+rows[len(rows)-1].Left {
		return false
	}
	for i, s := range rows {
		if s.Type != decided[i].row.Type || !bytes.Equal(s.Data, decided[i].row.Data) {
			return false
		}
	}
	return true
}

// recover finishes the step of an event whose decisions are on record: it saves the event's own changes, then adopts every
// record that took effect up to it. A configuration comes last, since nothing that follows from the event may see it.
func (f *Fold) recover(ctx context.Context, st *thread.State, d Delivery, res thread.Result, dec decided) error {
	if err := f.save(st, d, res); err != nil {
		return err
	}
	f.adopted = adopted{thread: st.Header.Thread, at: d}
	err := f.adoptBehind(ctx, st, d, res, dec)
	f.adopted = adopted{}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrHalfDone, err)
	}
	return nil
}

func (f *Fold) adoptBehind(ctx context.Context, st *thread.State, d Delivery, res thread.Result, dec decided) error {
	reconfigured, err := f.adoptUpTo(d.Seq, d.Seq)
	if err != nil {
		return err
	}
	if err := f.stepped(ctx, st, d, res, dec, f.adopted.turned || reconfigured); err != nil {
		return err
	}
	if err := f.unrecorded(st.Header.Thread, dec.drafts, d); err != nil {
		return err
	}
	if err := f.AdoptUpTo(d.Seq); err != nil || f.adopted.last == nil {
		return err
	}
	return f.complete(f.adopted.last) // not made from what unrecorded invalidates
}

// AdoptUpTo adopts the staged records that took effect at or before an EVENTS sequence.
func (f *Fold) AdoptUpTo(seq uint64) error {
	_, err := f.adoptUpTo(seq, noEvent)
	return err
}

// adoptRecords bounds the staged records held in memory at once.
const adoptRecords = 256

// noEvent is not a sequence of EVENTS; 0 is where a partition begins.
const noEvent = ^uint64(0)

// adoptUpTo stops before a config.applied that took effect directly after the event configured, and reports whether it did. With
// noEvent it does not stop early.
func (f *Fold) adoptUpTo(seq, configured uint64) (stopped bool, err error) {
	if f.part.Meta().Staged == 0 || f.next > seq {
		return false, nil
	}
	for {
		rows, err := f.part.StagedFrom(f.next, seq, adoptRecords)
		if err != nil {
			return false, err
		}
		for _, s := range rows {
			if s.Type == events.ConfigApplied && s.EffectiveSeq == configured {
				f.next = s.EffectiveSeq
				return true, nil
			}
			if err := f.adopt(s); err != nil {
				return false, fmt.Errorf("adopt record %d of SUMMARIES: %w", s.Seq, err)
			}
			f.part.Adopted(s)
			f.next = s.EffectiveSeq
			// Later decisions must not take effect before it, even if its sequence is not an event of this partition.
			f.applied = max(f.applied, s.EffectiveSeq)
			if s.Thread != "" && s.Thread == f.adopted.thread {
				f.adopted.last = s
			} else if err := f.complete(s); err != nil {
				return false, err
			}
		}
		if len(rows) < adoptRecords {
			return false, f.seekNext()
		}
	}
}

// seekNext notes where the next staged record took effect, so that events before it skip the lookup.
func (f *Fold) seekNext() error {
	next, found, err := f.part.NextStaged(f.next)
	if f.next = next; !found {
		f.next = 0
	}
	return err
}

// adopt folds in one record as it stands, even if the same step would be decided differently today.
func (f *Fold) adopt(s *state.Staged) error {
	st, err := f.part.LoadThread(s.Thread)
	if err != nil {
		return err
	}
	if s.Thread != "" && s.ChainSeq != st.Header.ChainSeq+1 {
		f.logger.Warn().Str("thread_id", s.Thread).Uint64("seq", s.Seq).
			Uint64("chain_seq", s.ChainSeq).Uint64("want", st.Header.ChainSeq+1).
			Msg("SUMMARIES has a gap in the thread's chain; run processor check")
	}
	if s.Void {
		return f.void(st, s)
	}
	if s.Type != events.ConfigApplied {
		if err := f.known(); err != nil {
			return err
		}
	}
	if err := f.fold(st, s); err != nil {
		if st, err = f.leaveOut(s, err); err != nil {
			return err
		}
	}
	f.part.Save(st)
	return nil
}

// void skips a record that rests on events whose loss was accepted; it notes only the record's place in the chain. What the
// thread's earlier events led to is on record before it.
func (f *Fold) void(st *thread.State, s *state.Staged) error {
	head, err := read[events.Head](s.Data)
	if err != nil {
		return err
	}
	if f.watch != nil {
		if err := f.watch.Voided(s); err != nil {
			return err
		}
	}
	f.adopted.turned = f.adopted.turned || f.adopted.thread == s.Thread
	if s.Thread == "" {
		return nil // the partition knows the end of its own chain
	}
	st.Voided(*head)
	f.part.Save(st)
	return nil
}

// leaveOut skips a record that can't be folded in and notes only its place in the chain: the record is unreadable, or SUMMARIES
// lacks something it refers to. Any other error, such as a damaged store, is returned.
func (f *Fold) leaveOut(s *state.Staged, why error) (*thread.State, error) {
	if !errors.Is(why, ErrRecord) && !errors.Is(why, state.ErrNoRow) && !errors.Is(why, errNotThere) {
		return nil, why
	}
	if f.watch != nil {
		if err := f.watch.Refused(s, why); err != nil {
			return nil, err
		}
	}
	f.leftOut()
	f.logger.Error().Err(why).Str("thread_id", s.Thread).Uint64("seq", s.Seq).
		Msg("a record of SUMMARIES can't be taken over and is skipped: run processor replay to see what it affects")
	head, err := read[events.Head](s.Data)
	if err != nil {
		return nil, err
	}
	st, err := f.part.LoadThread(s.Thread)
	if err == nil && s.Thread != "" {
		st.Noted(*head)
	}
	return st, err
}

// foldSummary folds in a summary.created.
func (f *Fold) foldSummary(st *thread.State, s *state.Staged, rec *events.Summary) error {
	if err := errors.Join(f.loadSlot(st, rec.Kind, rec.Slot, rec.SourceMessageIDs), f.part.LoadJobs(st)); err != nil {
		return err
	}
	if err := f.stands(st, rec); err != nil {
		return err
	}
	letGo, err := f.letGo(st, rec)
	if err != nil {
		return err
	}
	f.adopting(st, s, rec)
	f.created(st, rec, s.Data, letGo)
	if f.watch != nil {
		f.watch.Adopted(st, rec)
	}
	return nil
}

// fold folds in one record.
func (f *Fold) fold(st *thread.State, s *state.Staged) error {
	switch s.Type {
	case events.SummaryCreated:
		rec, err := read[events.Summary](s.Data)
		if err != nil {
			return err
		}
		return f.foldSummary(st, s, rec)
	case events.SummaryStarted:
		rec, err := read[events.Started](s.Data)
		if err != nil {
			return err
		}
		if err := f.part.LoadSlot(st, rec.Slot); err != nil {
			return err
		}
		if err := f.sourcesThere(st, rec.SourceSummaryIDs); err != nil {
			return err
		}
		f.adopting(st, s, rec)
		st.Start(&thread.Job{Started: *rec, AsOf: st.Header.LastMessageID, Unresolved: f.unresolved(st)})
		return nil
	case events.SummaryFailed:
		rec, err := read[events.Failed](s.Data)
		if err != nil {
			return err
		}
		if err := f.part.LoadJobs(st); err != nil {
			return err
		}
		if job := st.Job(rec.SummaryID); job != nil {
			if err := f.loadSlot(st, job.Started.Kind, job.Started.Slot, job.Started.SourceMessageIDs); err != nil {
				return err
			}
		}
		f.adopting(st, s, rec)
		f.failed(st, rec)
		return nil
	case events.SummaryInvalidated:
		rec, err := read[events.Invalidated](s.Data)
		if err != nil {
			return err
		}
		if err := f.loadStale(st, rec.SummaryID); err != nil {
			return err
		}
		f.adopting(st, s, rec)
		f.invalidated(st, rec, s.Data)
		return nil
	case events.UsageRecorded:
		rec, err := read[events.UsageRecord](s.Data)
		if err != nil {
			return err
		}
		if err := f.part.LoadJobs(st); err != nil {
			return err
		}
		f.adopting(st, s, rec)
		st.Usage(rec)
		// A call counts toward the budget of the day it was made.
		f.spentBefore(rec, s.Made)
		return f.spend(rec, s.Made)
	case events.ConfigApplied:
		return f.adoptConfig(st, s)
	}
	head, err := read[events.Head](s.Data)
	if err != nil {
		return err
	}
	f.adopting(st, s, nil)
	st.Noted(*head)
	return nil
}

// unresolved returns the policy that the thread names and the configuration lacks; empty if there is none.
func (f *Fold) unresolved(st *thread.State) string {
	_, name := f.policy(st, nil)
	return name
}

func (f *Fold) adoptConfig(st *thread.State, s *state.Staged) error {
	rec, _, err := readConfig(s.Data)
	if err != nil {
		return err
	}
	data, err := state.Unsealed(s.Data)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRecord, err)
	}
	f.adopting(st, s, rec)
	st.Header.EventSeq = rec.EventSeq
	f.part.SaveConfig(data)
	return f.replace(data)
}

func read[T any](data []byte) (*T, error) {
	rec := new(T)
	if err := json.Unmarshal(data, rec); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRecord, err)
	}
	return rec, nil
}

// Gaps in a thread's chain are found when its records are staged. A gap costs the records that it held: records made from them
// are skipped (Fold.leaveOut), and the thread is compacted again from where its chain is complete.

// errNotThere: SUMMARIES lacks what a record was made from or stands for.
var errNotThere = errors.New("what the record was made from is missing")

// Assume puts a configuration in force if the partition has other records but no configuration on record: the first that any
// partition has, else own. It is not recorded as applied.
func (f *Fold) Assume(first []byte, own *Config) error {
	if f.fingerprint != "" {
		return nil
	}
	f.config = own
	if first == nil {
		return nil
	}
	_, c, err := readConfig(first)
	if err == nil {
		f.config = c
	}
	return err
}

// stands checks that a summary's sources are there: after a gap in its thread's chain other summaries may be missing, and what
// was made from a missing one can't be kept true.
func (f *Fold) stands(st *thread.State, rec *events.Summary) error {
	if err := f.sourcesThere(st, rec.SourceSummaryIDs); err != nil {
		return err
	}
	if rec.Kind != events.KindCompaction || rec.Level > 0 || rec.Version > 1 || st.Compaction == nil {
		return nil
	}
	to, err := f.part.StagedTo(st.Header.Thread)
	if err != nil || !to.Gap {
		return err
	}
	p, _ := f.policy(st, nil)
	due, _, err := f.span(st, p)
	if err != nil {
		return err
	}
	same := len(due.rows) == len(rec.SourceMessageIDs)
	for i := 0; same && i < len(due.rows); i++ {
		same = due.rows[i].ID == rec.SourceMessageIDs[i]
	}
	if !same {
		return fmt.Errorf("%w: leaf %s does not follow on the one before it", errNotThere, rec.ID)
	}
	return nil
}

// sourcesThere returns errNotThere if one of the summaries has no row.
func (f *Fold) sourcesThere(st *thread.State, ids []string) error {
	for _, id := range ids {
		there, err := f.part.HasSummary(st.Header.Thread, id)
		if err != nil {
			return err
		}
		if !there {
			return fmt.Errorf("%w: summary %s", errNotThere, id)
		}
	}
	return nil
}

// unrecorded invalidates what an event made stale if the record of that is missing: the old text of a message must not keep
// serving. If later records follow, the invalidation takes no place in the chain.
func (f *Fold) unrecorded(name string, drafts []draft, d Delivery) error {
	if !slices.ContainsFunc(drafts, func(dr draft) bool { return dr.invalidated != nil }) {
		return nil
	}
	to, err := f.part.StagedTo(name)
	if err != nil {
		return err
	}
	st, err := f.part.LoadThread(name)
	if err != nil {
		return err
	}
	ended := to.ChainSeq <= st.Header.ChainSeq
	if ended && f.adopted.last == nil || !ended && !to.Gap {
		return nil
	}
	f.begin(events.ByRecovery)
	for _, dr := range drafts {
		if dr.invalidated == nil {
			continue
		}
		if err := f.loadStale(st, dr.invalidated.SummaryID); err != nil {
			return err
		}
		if sum := st.Summary(dr.invalidated.SummaryID); sum == nil || sum.Status != thread.Active {
			continue // on record
		}
		if ended {
			f.emit(st, dr, d)
			continue
		}
		rec := *dr.invalidated
		rec.Head = events.Head{
			ThreadID: &name, Partition: f.part.ID(), EventSeq: d.Seq, EffectiveSeq: d.Seq, Step: events.Step{Cause: f.cause, Index: 1},
			ChainSeq: st.Header.ChainSeq, Chain: st.Header.Chain, // it takes no place in the chain
		}
		data, err := json.Marshal(rec, json.Deterministic(true))
		if err != nil {
			return err
		}
		f.invalidated(st, &rec, data)
	}
	f.part.Save(st)
	f.flush()
	return nil
}

// complete makes what is missing at the end of a thread's record: the current summary, if it is not made from the present tops,
// and the model's job that follows it. Its record may be missing or skipped, or its step was cut short.
func (f *Fold) complete(s *state.Staged) error {
	to, err := f.part.StagedTo(s.Thread)
	if err != nil || s.Thread == "" || to.ChainSeq > s.ChainSeq {
		return err
	}
	trigger, replaces := events.Trigger{Reason: events.TriggerRegenerated}, false
	if !to.Gap {
		if s.Left == 0 || s.Void || s.Type != events.SummaryCreated {
			return nil
		}
		rec, err := read[events.Summary](s.Data)
		if err != nil || rec.Kind != events.KindCompaction {
			return nil
		}
		// A current summary follows a new leaf or node. Where a stale one was recomputed, a stale current summary waits like
		// everything else that is stale.
		trigger, replaces = rec.Trigger, rec.Version > 1 && rec.Slot != events.SlotCurrent
	}
	st, err := f.part.LoadThread(s.Thread)
	if err != nil {
		return err
	}
	p, _ := f.policy(st, nil)
	if !p.Enabled {
		return nil
	}
	if err := errors.Join(f.part.LoadCompaction(st), f.part.LoadJobs(st), f.part.LoadSlot(st, events.SlotCurrent)); err != nil || len(st.Compaction.Tops) == 0 {
		return err
	}
	if holder := st.Summary(st.Slot(events.SlotCurrent).Holder); replaces && (holder == nil || holder.Status != thread.Active) {
		return nil
	}
	at := Delivery{Seq: s.EffectiveSeq, Time: s.Time}
	if f.adopted.thread == s.Thread && f.adopted.at.Seq == s.EffectiveSeq {
		at = f.adopted.at
	}
	f.begin(events.ByRecovery)
	w := &compaction{f: f, st: st, d: at, p: p, patient: true}
	if err := w.whole(context.Background(), trigger); err != nil { // not canceled halfway
		return err
	}
	if err := f.askAgain(st, p, at); err != nil {
		return err
	}
	f.done(w)
	return nil
}

// whole makes the nodes that the thread's tops complete, and the current summary unless it is made from the tops.
func (w *compaction) whole(ctx context.Context, trigger events.Trigger) error {
	if err := w.condense(ctx, trigger); err != nil {
		return err
	}
	if err := w.f.part.LoadSlot(w.st, events.SlotCurrent); err != nil {
		return err
	}
	holder := w.st.Summary(w.st.Slot(events.SlotCurrent).Holder)
	if holder != nil && slices.Equal(holder.SourceSums, ids(w.st.Compaction.Tops)) {
		return nil
	}
	return w.current(ctx, trigger)
}
