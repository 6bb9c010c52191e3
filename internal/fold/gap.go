package fold

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/internal/thread"
	"precis/state"
)

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
