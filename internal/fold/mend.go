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

// What a recovery does where SUMMARIES is damaged. A server that lost unsynced writes may hold only the first records of a step,
// which the number of its records reveals: cutShort and complete. Gaps in a thread's chain are found when its records are staged. A
// gap costs the records that it held: records made from them are skipped (Fold.leaveOut), and the thread is compacted again from
// where its chain is complete.

// errNotThere: SUMMARIES lacks what a record was made from or stands for.
var errNotThere = errors.New("what the record was made from is missing")

// cutShort returns the records of the thread's next event if the thread's staged records end within that step, else nil.
func (f *Fold) cutShort(st *thread.State, seq uint64) (rows []*state.Staged) {
	if f.next > seq {
		return nil
	}
	to := got(f.part.StagedTo(st.Header.Thread))
	if to.Gap {
		return nil
	}
	check(f.part.EachStaged(seq, func(r *state.Staged) (bool, error) {
		if r.EffectiveSeq == seq && r.Thread == st.Header.Thread && !r.Void {
			rows = append(rows, r)
		}
		return r.EffectiveSeq == seq, nil
	}))
	n := uint64(len(rows))
	if n == 0 || to.ChainSeq != st.Header.ChainSeq+n || rows[0].ChainSeq != st.Header.ChainSeq+1 || rows[n-1].Left == 0 {
		return nil
	}
	return rows
}

// begins reports whether what was decided has as many records as the step that begins with rows, and the same ones, byte for byte,
// as far as rows goes.
func begins(decided []emission, rows []*state.Staged) bool {
	if len(rows) == 0 || len(decided) != len(rows)+rows[len(rows)-1].Left {
		return false
	}
	for i, r := range rows {
		if r.Type != decided[i].row.Type || !bytes.Equal(r.Data, decided[i].row.Data) {
			return false
		}
	}
	return true
}

// sourcesStand checks that a summary's sources are there: after a gap in its thread's chain other summaries may be missing, and what
// was made from a missing one can't be kept true.
func (s *Step) sourcesStand(rec *events.Summary) {
	s.sourcesThere(rec.SourceSummaryIDs)
	if rec.Kind != events.KindCompaction || rec.Level > 0 || rec.Version > 1 || s.st.Compaction == nil {
		return
	}
	if !got(s.f.part.StagedTo(s.st.Header.Thread)).Gap {
		return
	}
	due, _ := s.span()
	if !slices.EqualFunc(due.rows, rec.SourceMessageIDs, func(m *thread.Message, id string) bool { return m.ID == id }) {
		check(fmt.Errorf("%w: leaf %s does not follow on the one before it", errNotThere, rec.ID))
	}
}

// sourcesThere abandons the step with errNotThere if one of the summaries has no row.
func (s *Step) sourcesThere(ids []string) {
	for _, id := range ids {
		if !got(s.f.part.HasSummary(s.st.Header.Thread, id)) {
			check(fmt.Errorf("%w: summary %s", errNotThere, id))
		}
	}
}

// unrecorded invalidates what the event made stale if the record of that is missing: the old text of a message must not keep
// serving. If later records follow, the invalidation takes no place in the chain.
func (s *Step) unrecorded() {
	invalidations := slices.DeleteFunc(slices.Clone(s.decided), func(rec events.Record) bool {
		_, ok := rec.(*events.Invalidated)
		return !ok
	})
	if len(invalidations) == 0 {
		return
	}
	f, name := s.f, s.st.Header.Thread
	to := got(f.part.StagedTo(name))
	now := f.on(name, s.at)
	ended := to.ChainSeq <= now.st.Header.ChainSeq
	if ended && f.adopted.last == nil || !ended && !to.Gap {
		return
	}
	f.begin(events.ByRecovery)
	for _, rec := range invalidations {
		inv := *rec.(*events.Invalidated)
		if now.loadStale(inv.SummaryID).Status != thread.Active {
			continue // on record
		}
		if ended {
			now.emit(&inv)
			continue
		}
		inv.Head = events.Head{
			ThreadID: &name, Partition: f.part.ID(), EventSeq: s.at.Seq, EffectiveSeq: s.at.Seq, Step: events.Step{Cause: f.cause, Index: 1},
			ChainSeq: now.st.Header.ChainSeq, Chain: now.st.Header.Chain, // it takes no place in the chain
		}
		now.take(&inv, got(json.Marshal(inv, json.Deterministic(true))))
	}
	now.save()
}

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

// complete makes what is missing at the end of a thread's record: the current summary, if it is not made from the present tops,
// and the model's job that follows it. Its record may be missing or skipped, or its step was cut short.
func (f *Fold) complete(r *state.Staged) {
	to := got(f.part.StagedTo(r.Thread))
	if r.Thread == "" || to.ChainSeq > r.ChainSeq {
		return
	}
	trigger, replaces := events.Trigger{Reason: events.TriggerRegenerated}, false
	if !to.Gap {
		if r.Left == 0 || r.Void || r.Type != events.SummaryCreated {
			return
		}
		rec, err := record[events.Summary](r.Data)
		if err != nil || rec.Kind != events.KindCompaction { // one that can't be read was left out when it was due
			return
		}
		// A current summary follows a new leaf or node. Where a stale one was recomputed, a stale current summary waits like
		// everything else that is stale.
		trigger, replaces = rec.Trigger, rec.Version > 1 && rec.Slot != events.SlotCurrent
	}
	s := f.on(r.Thread, Delivery{Seq: r.EffectiveSeq, Time: r.Time})
	if f.adopted.thread == r.Thread && f.adopted.at.Seq == r.EffectiveSeq {
		s.at = f.adopted.at
	}
	s.patient = true
	if !s.p.Enabled {
		return
	}
	s.loadCompaction()
	s.loadJobs()
	s.slot(events.SlotCurrent)
	if len(s.st.Compaction.Tops) == 0 || replaces && s.activeHolder(events.SlotCurrent) == nil {
		return
	}
	f.begin(events.ByRecovery)
	ctx := context.Background() // not canceled halfway
	s.condense(ctx, trigger)
	if holder := s.holder(events.SlotCurrent); holder == nil || !slices.Equal(holder.SourceSums, ids(s.st.Compaction.Tops)) {
		s.current(ctx, trigger)
	}
	s.askAgain()
	s.end()
}
