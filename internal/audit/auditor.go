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

// auditor watches one partition's fold. It belongs to the lane's goroutine.
type auditor struct {
	lane  *lane
	tally *tally
	rules *jobs.Runner // makes summaries by rules again that a job made; nil where that is not asked for
	now   time.Time    // when the replay began
	first uint64       // the first sequence that EVENTS holds
	prices
	calls map[string][]*call // of summaries that have not ended
	// startedAt says since when a job is under way.
	startedAt map[string]time.Time
	// inStore says whether the store that was given holds a job; false where none was.
	inStore      func(thread, id string) (bool, error)
	rulesVersion string
	// rejections are what REJECTED holds, by event, until the fold meets them.
	rejections map[uint64]rejection
	// again are the slots whose jobs a configuration has overtaken: what they were to do is decided again.
	again map[place]bool
	// voided are the summaries that void records are about.
	voided map[string]bool
	// waiting are the edits, by event, whose message has not come.
	waiting map[uint64]bool

	current broker.Stored // the event that is folded
	seen    bool          // it was a thread's
	here    []*onRecord   // what was decided at it, by the record
	remakes []remake
	was     compacted // the thread of the compaction that is adopted, before it
}

// onRecord is a record that was decided at the event that is folded now.
type onRecord struct {
	thread string
	rec    events.Record
	staged *state.Staged
	met    bool // the fold decides it too
	borne  bool // a request, the clock or the configuration bears it out
}

// scopeOf is where a step of a thread belongs.
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

// end looks at what is left when the event is folded in.
func (a *auditor) end(ctx context.Context, out fold.Outcome) error {
	if !a.seen {
		at := scope{at: a.current.Time}
		a.tally.event(at, out.String())
		raw := a.delivery().Raw
		_, why := events.Decode(raw, events.Limits{}) // its subject names no thread: nothing else is looked at
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

// done looks at what is left when everything is folded in.
func (a *auditor) done(ctx context.Context) error {
	if err := a.remake(ctx); err != nil {
		return err
	}
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
		a.atEvent(at, st, s, rec)
	case *events.Invalidated:
		a.invalidated(at, st, s, rec)
	case *events.Failed:
		a.failed(at, st, rec)
	case *events.UsageRecord:
		a.usage(at, st, rec, s.Time)
	case *events.Config:
		a.prices.apply(rec)
		if fold.NewerConfig(s.Data) != nil {
			a.tally.doubt(at, doubtNewer)
		}
	}
}

// Refused implements fold.Watch: a record that makes no sense is a finding, and the fold goes on.
func (a *auditor) Refused(s *state.Staged, why error) error {
	at, err := a.linked(s)
	if err != nil {
		return err
	}
	if a.folding(s.Thread); a.tally.isNewer(s.Thread) && !errors.Is(why, fold.ErrRecord) {
		a.tally.doubt(at, doubtNewer) // what it refers to may be missing in the state alone
		return nil
	}
	a.tally.find(at, Finding{
		Thread: events.OrNull(s.Thread), Summary: events.OrNull(idOf(s.Data)), Check: CheckReadable, EventSeq: s.EffectiveSeq,
		Want: "a record that can be folded in",
		// The scratch store is not damaged: what the record refers to was never made in it.
		Got: fmt.Sprintf("SUMMARIES %d: %s", s.Seq, strings.TrimPrefix(why.Error(), state.ErrDamaged.Error()+": ")),
	})
	return nil
}

// linked checks the place in its chain of a record that is not folded in.
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
