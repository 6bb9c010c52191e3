package fold

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/internal/thread"
	"precis/state"
	"precis/summarize"
)

// recover ends a step while records are staged: the event's own changes first, then every record that
// took effect up to it, and then what was decided now and is not on record, where the thread's record
// has no more to say. Records are stored in the order of their chain, so that only the last ones of a
// thread can be missing. A configuration that took effect behind the event comes last: nothing that follows
// from the event may see it.
func (f *Fold) recover(ctx context.Context, st *thread.State, d Delivery, res thread.Result, dec decided, p *summarize.Policy) error {
	if err := f.recoverEvent(ctx, st, d, res, dec, p); err != nil {
		return err
	}
	if err := f.AdoptUpTo(d.Seq); err != nil {
		return fmt.Errorf("%w: %w", ErrHalfDone, err)
	}
	return nil
}

// recoverEvent does all but what took effect under a configuration that came behind the event.
func (f *Fold) recoverEvent(ctx context.Context, st *thread.State, d Delivery, res thread.Result, dec decided, p *summarize.Policy) error {
	drafts := dec.drafts
	if err := f.save(st, d, res); err != nil {
		return err
	}
	f.at, f.cut, f.remade, f.displaced = d.Time, nil, nil, nil
	adopted, err := f.adoptUpTo(d.Seq, d.Seq)
	// Behind a record of a turn, and behind a configuration, nothing of the event's can be missing.
	whole := adopted[behind(st.Header.Thread)] || adopted[reconfigured]
	if err == nil {
		err = f.stepped(ctx, st, d, res, dec, whole || adopted[accepted])
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrHalfDone, err)
	}
	if err := f.unrecorded(st.Header.Thread, missing(st.Header.Thread, drafts, adopted), d.Seq); err != nil {
		return fmt.Errorf("%w: %w", ErrHalfDone, err)
	}
	due := historyDue(st, p)
	if len(drafts) == 0 && st.Compaction == nil && !due || whole {
		return nil
	}
	name := st.Header.Thread
	if st, err = f.part.LoadThread(name); err != nil {
		return fmt.Errorf("%w: %w", ErrHalfDone, err)
	}
	to, err := f.part.StagedTo(name)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrHalfDone, err)
	}
	if to.ChainSeq > st.Header.ChainSeq {
		return nil
	}
	if err := f.part.LoadCompaction(st); err != nil {
		return fmt.Errorf("%w: %w", ErrHalfDone, err)
	}
	for _, dr := range missing(name, drafts, adopted) {
		if err := f.emitAgain(ctx, st, dr, d); err != nil {
			return fmt.Errorf("%w: %w", ErrHalfDone, err)
		}
	}
	if err := f.mend(ctx, st, d, dec, p); err != nil {
		return fmt.Errorf("%w: %w", ErrHalfDone, err)
	}
	if !adopted[place{name, events.SummaryCreated, events.SlotHistory}] {
		if err := f.histories(ctx, st, d, drafts, due, p); err != nil {
			return fmt.Errorf("%w: %w", ErrHalfDone, err)
		}
	}
	f.part.Save(st)
	f.flush()
	return nil
}

// emitAgain emits a draft into a state that was loaded anew.
func (f *Fold) emitAgain(ctx context.Context, st *thread.State, dr draft, d Delivery) error {
	if err := dr.make(ctx); err != nil {
		return err
	}
	var err error
	switch {
	case dr.started != nil:
		err = f.part.LoadSlot(st, dr.started.Started.Slot)
	case dr.created != nil:
		err = f.loadSlot(st, dr.created.Kind, dr.created.Slot, dr.created.SourceMessageIDs)
	default:
		err = f.loadStale(st, dr.invalidated.SummaryID)
	}
	if err == nil {
		f.emit(st, dr, d)
	}
	return err
}

// missing are the drafts that no adopted record stands for.
func missing(thread string, drafts []draft, adopted map[place]bool) []draft {
	var rest []draft
	for _, dr := range drafts {
		if !adopted[dr.place(thread)] {
			rest = append(rest, dr)
		}
	}
	return rest
}

// reconfigured stands for a configuration that took effect behind the event.
var reconfigured = place{typ: events.ConfigApplied}

// accepted stands for an accepted loss of what came behind the event. The command that puts it on record publishes
// nothing that was decided before it, so that something of the event's may be missing.
var accepted = place{typ: events.ConfigApplied, what: events.SettingAcceptedLoss}

// behind marks a thread that has records of a turn behind the event's own. Records are stored in the order of
// their chain, and a configuration behind all that was decided before it: then nothing of the event's is
// missing, and what the turn has changed is the next event's to act on.
func behind(thread string) place { return place{thread: thread, what: "turn"} }

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
func (f *Fold) byTurn(rec events.Record) bool {
	switch rec := rec.(type) {
	case *events.Invalidated:
		switch rec.Reason {
		case events.ReasonPolicyChanged, events.ReasonPromptChanged, events.ReasonModelChanged, events.ReasonTTLExpired:
			return true
		}
	case *events.Summary:
		reason := rec.Trigger.Reason
		return reason == events.TriggerRequested || reason == events.TriggerIdle || rec.EventSeq < rec.EffectiveSeq ||
			!rec.CreatedAt.Equal(f.at)
	case *events.Started:
		return rec.Trigger.Reason == events.TriggerRequested || rec.Trigger.Reason == events.TriggerIdle
	case *events.Failed, *events.UsageRecord:
		return true // a job is begun when its event is durable
	}
	return false
}

// place is what a record is about, whatever program made it: a slot of its thread that work is begun
// for or that is filled, or the summary that is stale.
type place struct {
	thread string
	typ    events.Type
	what   string
}

func (d draft) place(thread string) place {
	switch {
	case d.started != nil:
		return place{thread, events.SummaryCreated, d.started.Started.Slot}
	case d.created != nil:
		return place{thread, events.SummaryCreated, d.created.Slot}
	}
	return place{thread, events.SummaryInvalidated, d.invalidated.SummaryID}
}

// AdoptUpTo folds in the staged records that took effect at or before an EVENTS sequence.
func (f *Fold) AdoptUpTo(seq uint64) error {
	_, err := f.adoptUpTo(seq, noEvent)
	return err
}

// adoptRecords is how many staged records are held in memory at once.
const adoptRecords = 256

// noEvent is no sequence of EVENTS; 0 is where a partition begins.
const noEvent = ^uint64(0)

// adoptUpTo also says which places the records are about. It stops before a config.applied that took effect
// behind the event configured; noEvent: before none.
func (f *Fold) adoptUpTo(seq, configured uint64) (map[place]bool, error) {
	if f.part.Meta().Staged == 0 || f.next > seq {
		return nil, nil
	}
	places := map[place]bool{}
	for {
		rows, err := f.part.StagedFrom(f.next, seq, adoptRecords)
		if err != nil {
			return nil, err
		}
		for _, s := range rows {
			if s.Type == events.ConfigApplied && s.EffectiveSeq == configured {
				f.next = s.EffectiveSeq
				at, err := configPlace(s)
				places[at] = true
				return places, err
			}
			at, turn, err := f.adopt(s)
			if err != nil {
				return nil, fmt.Errorf("adopt record %d of SUMMARIES: %w", s.Seq, err)
			}
			places[at] = true
			if turn {
				places[behind(s.Thread)] = true
			}
			f.part.Adopted(s)
			f.next = s.EffectiveSeq
			// What is decided from here on stands behind it, also where no event of the partition's own does.
			f.applied = max(f.applied, s.EffectiveSeq)
			if err := errors.Join(f.wholeTurn(s), f.closeGap(s)); err != nil {
				return nil, err
			}
		}
		if len(rows) < adoptRecords {
			return places, f.seekNext()
		}
	}
}

func configPlace(s *state.Staged) (place, error) {
	rec, err := read[events.Config](s.Data)
	if err == nil && rec.AcceptedLoss != nil && !s.Void {
		return accepted, nil
	}
	if errors.Is(err, ErrRecord) { // it is passed over when it is adopted
		err = nil
	}
	return reconfigured, err
}

// seekNext notes where the next staged record took effect, so that the events before it need not look.
func (f *Fold) seekNext() error {
	next, found, err := f.part.NextStaged(f.next)
	if f.next = next; !found {
		f.next = 0
	}
	return err
}

// adopt folds one record in as it stands, whatever would be decided today. turn says that it can't have been
// decided at its event.
func (f *Fold) adopt(s *state.Staged) (at place, turn bool, err error) {
	st, err := f.part.LoadThread(s.Thread)
	if err != nil {
		return at, false, err
	}
	if s.ChainSeq != st.Header.ChainSeq+1 {
		f.logger.Warn().Str("thread_id", s.Thread).Uint64("seq", s.Seq).
			Uint64("chain_seq", s.ChainSeq).Uint64("want", st.Header.ChainSeq+1).
			Msg("SUMMARIES has a gap in the thread's chain; run processor check")
	}
	at.thread, at.typ, f.turn = s.Thread, s.Type, false
	if s.Void {
		return place{thread: s.Thread}, true, f.void(st, s)
	}
	if s.Type != events.ConfigApplied {
		if err := f.known(); err != nil {
			return at, false, err
		}
	}
	if at.what, err = f.fold(st, s); err != nil {
		if st, err = f.leaveOut(s, err); err != nil {
			return at, false, err
		}
	}
	if at.typ == events.SummaryStarted {
		at.typ = events.SummaryCreated
	}
	st.Header.SummariesSeq = max(st.Header.SummariesSeq, s.Seq)
	f.part.Save(st)
	return at, f.turn, nil
}

// void passes over a record that rests on events whose loss was accepted: only its place in the chain is noted. What its
// thread's events up to there led to is on record before it.
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
	delete(f.asked, s.Thread)
	st.Voided(*head)
	st.Header.SummariesSeq = max(st.Header.SummariesSeq, s.Seq)
	f.part.Save(st)
	return nil
}

// leaveOut passes over a record that can't be folded in: only its place in the chain is noted. It says nothing that
// can be read, or something of what it refers to is missing in SUMMARIES; a damaged store is another matter.
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
		Msg("a record of SUMMARIES can't be taken over, and is passed: processor replay says what it touches")
	head, err := read[events.Head](s.Data)
	if err != nil {
		return nil, err
	}
	st, err := f.part.LoadThread(s.Thread)
	if err == nil {
		st.Noted(*head)
	}
	return st, err
}

// foldSummary folds a summary.created.
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

// fold returns what the record is about, as place names it.
func (f *Fold) fold(st *thread.State, s *state.Staged) (what string, err error) {
	switch s.Type {
	case events.SummaryCreated:
		rec, err := read[events.Summary](s.Data)
		if err != nil {
			return "", err
		}
		return rec.Slot, f.foldSummary(st, s, rec)
	case events.SummaryStarted:
		rec, err := read[events.Started](s.Data)
		if err != nil {
			return "", err
		}
		if err := f.part.LoadSlot(st, rec.Slot); err != nil {
			return "", err
		}
		if err := f.sourcesThere(st, rec.SourceSummaryIDs); err != nil {
			return "", err
		}
		f.adopting(st, s, rec)
		st.Start(&thread.Job{Started: *rec, AsOf: st.Header.LastMessageID, Unresolved: f.unresolved(st)})
		return rec.Slot, nil
	case events.SummaryFailed:
		rec, err := read[events.Failed](s.Data)
		if err != nil {
			return "", err
		}
		if err := f.part.LoadJobs(st); err != nil {
			return "", err
		}
		if job := st.Job(rec.SummaryID); job != nil {
			if err := f.loadSlot(st, job.Started.Kind, job.Started.Slot, job.Started.SourceMessageIDs); err != nil {
				return "", err
			}
		}
		f.adopting(st, s, rec)
		f.failed(st, rec)
		return rec.SummaryID, nil
	case events.SummaryInvalidated:
		rec, err := read[events.Invalidated](s.Data)
		if err != nil {
			return "", err
		}
		if err := f.loadStale(st, rec.SummaryID); err != nil {
			return "", err
		}
		f.adopting(st, s, rec)
		f.invalidated(st, rec, s.Data)
		return rec.SummaryID, nil
	case events.UsageRecorded:
		rec, err := read[events.UsageRecord](s.Data)
		if err != nil {
			return "", err
		}
		if err := f.part.LoadJobs(st); err != nil {
			return "", err
		}
		f.adopting(st, s, rec)
		st.Usage(rec)
		// A call counts in the budget of the day on which it was made.
		f.spentBefore(rec, s.Made)
		return "", f.spend(rec, s.Made)
	case events.ConfigApplied:
		return "", f.adoptConfig(st, s)
	}
	head, err := read[events.Head](s.Data)
	if err != nil {
		return "", err
	}
	f.adopting(st, s, nil)
	st.Noted(*head)
	return "", nil
}

// unresolved is the policy that the thread names and the configuration lacks.
func (f *Fold) unresolved(st *thread.State) string {
	_, name := f.policy(st, nil)
	return name
}

func (f *Fold) adoptConfig(st *thread.State, s *state.Staged) error {
	rec, _, err := readConfig(s.Data)
	if err != nil {
		return err
	}
	f.adopting(st, s, rec)
	st.Noted(rec.Head)
	st.Header.EventSeq = rec.EventSeq
	f.part.SaveConfig(s.Data)
	return f.replace(s.Data)
}

func read[T any](data []byte) (*T, error) {
	rec := new(T)
	if err := json.Unmarshal(data, rec); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRecord, err)
	}
	return rec, nil
}
