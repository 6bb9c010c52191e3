package audit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/fold"
	"precis/internal/jobs"
	"precis/internal/thread"
	"precis/state"
)

// auditor watches one partition's fold. It is confined to the lane's goroutine.
type auditor struct {
	lane  *lane
	tally *tally
	rules *jobs.Runner // recomputes the rule-based summaries that jobs made; nil if not requested
	now   time.Time    // when the replay began
	first uint64       // the first sequence that EVENTS holds
	prices
	calls map[string][]*call // by job, of jobs that have not ended
	// startedAt is when each open job started.
	startedAt map[string]time.Time
	// inStore reports whether the store under audit holds a job; false without a store.
	inStore      func(thread, id string) (bool, error)
	rulesVersion string
	// rejections holds the contents of REJECTED by event, until the fold reaches the event.
	rejections map[uint64]rejection
	// again holds the slots that are due another decision: a configuration overtook the job, or a history fell due
	// meanwhile.
	again map[place]bool
	// voided holds the summaries that void records are about.
	voided map[string]bool
	// waiting holds the edits, by event, whose message has not arrived.
	waiting map[uint64]bool

	current broker.Stored // the event being folded
	last    lastStep
	seen    bool        // it belongs to a thread
	here    []*onRecord // the records decided at it
	remakes []remake
	was     compacted // the thread's compaction before the record being adopted
}

// onRecord is a record that was decided at the event being folded.
type onRecord struct {
	thread string
	rec    events.Record
	staged *state.Staged
	met    bool // the fold decides it too
	borne  bool // it recomputes a stale summary, or a recovery made it
}

// scopeOf is the scope of a thread's step.
func scopeOf(st *thread.State, policy string, at time.Time) scope {
	return scope{thread: st.Header.Thread, agent: st.Header.FirstAgentID, policy: policy, at: at}
}

func (a *auditor) begin(m broker.Stored) {
	a.current, a.seen, a.here = m, false, a.here[:0]
}

// Stepped implements fold.Watch.
func (a *auditor) Stepped(_ context.Context, s fold.Stepped) error {
	a.seen = true
	a.folding(s.State.Header.Thread)
	at := scopeOf(s.State, s.Policy, s.Delivery.Time)
	if s.State.Header.Events == 1 {
		a.tally.thread(at)
	}
	a.tally.event(at, s.Result.Outcome.String())
	a.held(s)
	for _, r := range s.Result.Rejections {
		if err := a.rejected(at, r); err != nil {
			return err
		}
	}
	for _, d := range s.Decided {
		if err := a.decided(at, s, d); err != nil {
			return err
		}
	}
	if s.Whole {
		return nil
	}
	return a.leafMissed(at, s)
}

// end checks what remains once the event is folded.
func (a *auditor) end(ctx context.Context, out fold.Outcome) error {
	if !a.seen {
		at := scope{at: a.current.Time}
		a.tally.event(at, out.String())
		raw := a.delivery().Raw
		_, why := events.Decode(raw, events.Limits{}) // its subject names no thread, so there is nothing else to check
		if err := a.rejected(at, thread.Rejection{Seq: a.current.Seq, Reason: why, Raw: raw}); err != nil {
			return err
		}
	}
	for _, r := range a.here {
		if !r.met {
			a.uncalled(r)
		}
	}
	return a.remake(ctx)
}

func (a *auditor) between(ctx context.Context) error { return a.remake(ctx) }

// done checks what remains once all events are folded.
func (a *auditor) done(ctx context.Context) error {
	if err := a.remake(ctx); err != nil {
		return err
	}
	a.stepEnds()
	for seq, r := range a.rejections {
		a.unrejected(seq, r)
	}
	if err := a.unended(); err != nil {
		return err
	}
	return a.places()
}

// Adopting implements fold.Watch.
func (a *auditor) Adopting(st *thread.State, s *state.Staged, rec events.Record) {
	at := scopeOf(st, policyAt(a.lane.part, st, rec), s.Time)
	a.folding(s.Thread)
	a.tally.record(at, string(s.Type), rec)
	a.chain(at, &st.Header, s)
	if rec != nil {
		a.began(at, &st.Header, rec)
	}
	switch rec := rec.(type) {
	case *events.Summary:
		a.created(at, st, s, rec)
		a.was = compactedIn(st, rec)
	case *events.Started:
		a.startedAt[rec.SummaryID] = s.Time
		a.caused(at, st, s, rec)
	case *events.Invalidated:
		a.invalidated(at, st, s, rec)
	case *events.Failed:
		a.failed(at, st, rec)
		a.caused(at, st, s, rec)
	case *events.UsageRecord:
		a.usage(at, st, rec, s.Time)
		a.caused(at, st, s, rec)
	case *events.Config:
		a.prices.apply(rec)
		a.caused(at, st, s, rec)
		if fold.NewerConfig(s.Data) != nil {
			a.tally.doubt(at, doubtNewer)
		}
	}
}

// Refused implements fold.Watch. An invalid record is a finding, and the fold continues.
func (a *auditor) Refused(s *state.Staged, why error) error {
	at, err := a.linked(s)
	if err != nil {
		return err
	}
	if a.folding(s.Thread); a.tally.isNewer(s.Thread) && !errors.Is(why, fold.ErrRecord) {
		a.tally.doubt(at, doubtNewer) // what it refers to may be missing only in the state
		return nil
	}
	a.tally.find(at, Finding{
		Thread: events.OrNull(s.Thread), Summary: events.OrNull(idOf(s.Data)), Check: CheckReadable, EventSeq: s.EffectiveSeq,
		Want: "a record that can be folded in",
		// The scratch store is not damaged: it never held what the record refers to.
		Got: fmt.Sprintf("SUMMARIES %d: %s", s.Seq, strings.TrimPrefix(why.Error(), state.ErrDamaged.Error()+": ")),
	})
	return nil
}

// linked checks the chain position of a record that is not folded in.
func (a *auditor) linked(s *state.Staged) (scope, error) {
	at := scope{thread: s.Thread, at: s.Time}
	h, err := a.lane.part.Header(s.Thread)
	if err != nil {
		return at, err
	}
	if h == nil {
		h = &thread.Header{Thread: s.Thread}
	}
	a.chain(at, h, s)
	return at, nil
}

// Voided implements fold.Watch.
func (a *auditor) Voided(s *state.Staged) error {
	at, err := a.linked(s)
	if err != nil {
		return err
	}
	a.tally.void(at, string(s.Type))
	a.voided[idOf(s.Data)] = true
	return nil
}

func policyOf(rec events.Record) string {
	switch rec := rec.(type) {
	case *events.Summary:
		return rec.Policy
	case *events.Started:
		return rec.Policy
	}
	return ""
}

func summaryOf(rec events.Record) events.OrNull {
	switch rec := rec.(type) {
	case *events.Summary:
		return events.OrNull(rec.ID)
	case *events.Started:
		return events.OrNull(rec.SummaryID)
	case *events.Invalidated:
		return events.OrNull(rec.SummaryID)
	case *events.Failed:
		return events.OrNull(rec.SummaryID)
	case *events.UsageRecord:
		return events.OrNull(rec.SummaryID)
	}
	return ""
}
