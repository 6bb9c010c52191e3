package audit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/fold"
	"precis/internal/thread"
	"precis/state"
	"precis/summarize/pricing"
)

// auditor watches one partition's fold. It is confined to the lane's goroutine.
type auditor struct {
	*replay
	lane   *lane
	teller *teller // nil unless a story is told
	// tables are the price tables that were in force, by name.
	tables map[string]*pricing.Table
	jobs   map[string]*openJob // that have not ended
	// again holds the slots that are due another decision: a configuration overtook the job, or a history fell due
	// meanwhile.
	again map[place]bool
	// voided holds the summaries that void records are about.
	voided map[string]bool
	// waiting holds the edits, by event, whose message has not arrived.
	waiting map[uint64]bool

	current broker.Stored // the event being folded
	last    lastStep
	stepped bool        // it belongs to a thread
	here    []*onRecord // the records decided at it
	remakes []remake
	// instead holds, for the summaries that the fold made at the event, those that other rules made in their place.
	instead map[string]string
	was     compacted // the thread's compaction before the record being adopted
}

// onRecord is a record as the fold adopts it, with the state before it.
type onRecord struct {
	scope
	st     *thread.State
	staged *state.Staged
	rec    events.Record
	met    bool // the fold decides it at its event too
	borne  bool // it recomputes a stale summary, or a recovery made it
}

// scopeOf is the scope of a thread's step.
func scopeOf(st *thread.State, policy string, at time.Time) scope {
	return scope{thread: st.Header.Thread, agent: st.Header.FirstAgentID, policy: policy, at: at}
}

// find notes a finding about a record.
func (a *auditor) find(r *onRecord, check, want, got string) {
	a.tally.find(r.scope, Finding{
		Thread: events.OrNull(r.thread), Summary: summaryOf(r.rec), Check: check, Want: want, Got: got, EventSeq: r.rec.Common().EventSeq,
	})
}

// findOfState notes a finding that rests on what the thread's events before have led to, such as its policy. Retention may explain it.
func (a *auditor) findOfState(r *onRecord, check, want, got string) {
	if a.retained.cut(r.thread) {
		a.tally.doubt(r.scope, removedByRetention)
		return
	}
	a.find(r, check, want, got)
}

// expect notes a finding if a record has something else than expected.
func (a *auditor) expect(r *onRecord, check, want, got string) bool {
	if want != got {
		a.find(r, check, want, got)
	}
	return want == got
}

// findAt notes a finding about a record that may not be readable.
func (a *auditor) findAt(at scope, s *state.Staged, check, want, got string) {
	a.tally.find(at, Finding{
		Thread: events.OrNull(s.Thread), Summary: events.OrNull(idOf(s.Data)), Check: check, Want: want, Got: got, EventSeq: s.EffectiveSeq,
	})
}

func (a *auditor) begin(ctx context.Context, m broker.Stored) error {
	err := a.afterAdopting(ctx)
	a.current, a.stepped, a.here = m, false, a.here[:0]
	clear(a.instead)
	a.teller.begin(m)
	return err
}

// Stepped implements fold.Watch.
func (a *auditor) Stepped(_ context.Context, s fold.Stepped) error {
	a.stepped = true
	a.teller.stepped(s)
	if h := &s.State.Header; s.Result.Forked {
		a.retained.forked(h.Thread, h.Fork.Parent)
	}
	a.weighed(s)
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
	if !a.stepped && out.Outcome != thread.HandedOver {
		at := scope{at: a.current.Time}
		a.tally.event(at, out.String())
		raw := deliveryOf(a.current).Raw
		_, why := events.Decode(raw, events.Limits{}) // its subject names no thread, so there is nothing else to check
		if err := a.rejected(at, thread.Rejection{Seq: a.current.Seq, Reason: why, Raw: raw}); err != nil {
			return err
		}
	}
	for _, r := range a.here {
		if !r.met && !r.borne {
			a.uncalled(r)
		}
	}
	return a.afterAdopting(ctx)
}

// afterAdopting ends what adopting records began.
func (a *auditor) afterAdopting(ctx context.Context) error {
	return errors.Join(a.exportFailed, a.remake(ctx))
}

// done checks what remains once all events are folded.
func (a *auditor) done(ctx context.Context) error {
	if err := a.afterAdopting(ctx); err != nil {
		return err
	}
	a.stepEnds()
	for seq, r := range a.rejections[a.lane.id] {
		a.unrejected(seq, r)
	}
	if err := a.unended(); err != nil {
		return err
	}
	return a.places()
}

// Adopting implements fold.Watch.
func (a *auditor) Adopting(st *thread.State, s *state.Staged, rec events.Record) {
	r := &onRecord{scope: scopeOf(st, policyAt(a.lane.part, st, rec), s.Time), st: st, staged: s, rec: rec}
	if h := &st.Header; h.Forked() && h.Fork.Seq == s.EffectiveSeq { // a request right behind the fork, whose event is told of after its records
		a.retained.forked(h.Thread, h.Fork.Parent)
	}
	a.folding(s.Thread)
	a.tally.record(r.scope, string(s.Type), rec)
	a.teller.adopting(s, "")
	a.chain(r.scope, &st.Header, s)
	if rec == nil {
		return
	}
	a.export(r)
	if r.thread != "" {
		a.firstEvent(r)
		a.timed(r)
	}
	switch rec := rec.(type) {
	case *events.Summary:
		a.created(r, rec)
		a.was = compactedIn(st, rec)
		return
	case *events.Started:
		a.jobs[rec.SummaryID] = &openJob{startedAt: s.Time, madeAt: s.Made}
		a.announced(r, rec)
	case *events.Invalidated:
		if !a.invalidated(r, rec) {
			return
		}
	case *events.Failed:
		a.failed(r, rec)
	case *events.UsageRecord:
		a.usage(r, rec)
	case *events.Config:
		a.configured(r, rec)
		if table, err := pricing.Parse(rec.PriceTable); err == nil && table != nil {
			a.tables[table.Name()] = table
		}
		if fold.NewerConfig(s.Data) != nil {
			a.tally.doubt(r.scope, doubtNewer)
		}
	}
	a.caused(r)
}

// Refused implements fold.Watch. An invalid record is a finding, and the fold continues.
func (a *auditor) Refused(s *state.Staged, why error) error {
	a.teller.adopting(s, "refused")
	at, err := a.linked(s)
	if err != nil {
		return err
	}
	if a.folding(s.Thread); a.tally.isNewer(s.Thread) && !errors.Is(why, fold.ErrRecord) {
		a.tally.doubt(at, doubtNewer) // what it refers to may be missing only in the state
		return nil
	}
	// A fork's records name summaries of its parent, which it has by its thread.forked.
	if !errors.Is(why, fold.ErrRecord) && a.retained.cut(s.Thread) {
		a.tally.doubt(at, removedByRetention)
		return nil
	}
	// The scratch store is not damaged: it never held what the record refers to.
	a.findAt(at, s, CheckReadable, "a record that can be folded in",
		fmt.Sprintf("SUMMARIES %d: %s", s.Seq, strings.TrimPrefix(why.Error(), state.ErrDamaged.Error()+": ")))
	return nil
}

// Voided implements fold.Watch.
func (a *auditor) Voided(s *state.Staged) error {
	a.teller.adopting(s, "void")
	at, err := a.linked(s)
	if err != nil {
		return err
	}
	a.tally.void(at, string(s.Type))
	a.voided[idOf(s.Data)] = true
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

// chain checks a record against its predecessor in the thread; those of a partition's own chain are checked as they are read.
func (a *auditor) chain(at scope, h *thread.Header, s *state.Staged) {
	if s.Thread == "" {
		return
	}
	if want := h.ChainSeq + 1; s.ChainSeq != want {
		a.findAt(at, s, CheckChain, fmt.Sprintf("record %d of the thread", want),
			fmt.Sprintf("record %d (SUMMARIES %d): what was between is gone", s.ChainSeq, s.Seq))
		return
	}
	if _, err := events.VerifyChain(h.Chain, s.Data); err != nil {
		after := h.Chain
		if after == "" {
			after = "nothing: it is the thread's first"
		}
		a.findAt(at, s, CheckChain, "a record that follows on "+after, fmt.Sprintf("record %d (SUMMARIES %d): %v", s.ChainSeq, s.Seq, err))
		return
	}
	a.tally.holds(at, CheckChain)
	a.inStep(at, s)
}

// firstEvent checks where a record says its thread began, against the log or, if retention removed that part of it, against the
// earlier records.
func (a *auditor) firstEvent(r *onRecord) {
	head, h := r.rec.Common(), &r.st.Header
	said := head.FirstEventSeq
	switch {
	case said == h.FirstSeq:
		a.tally.holds(r.scope, CheckBegan)
	case said > 0 && said <= a.retained.to() && a.retained.cut(h.Thread) && (h.FirstSeq == 0 || said < h.FirstSeq):
		a.tally.doubt(r.scope, removedByRetention)
	case h.FirstSeq == 0:
		a.find(r, CheckBegan, fmt.Sprintf("event %d of the thread", said), "not in EVENTS")
	default:
		a.find(r, CheckBegan, fmt.Sprintf("event %d is the thread's first", h.FirstSeq), fmt.Sprintf("event %d is said to be", said))
	}
}

// policyAt is the policy under which a record's summary was decided.
func policyAt(part *state.Partition, st *thread.State, rec events.Record) string {
	switch rec := rec.(type) {
	case *events.Summary:
		return rec.Policy
	case *events.Started:
		return rec.Policy
	}
	id := string(summaryOf(rec))
	if job := st.Job(id); job != nil {
		return job.Started.Policy
	}
	sum := st.Summary(id)
	if sum == nil && id != "" {
		sum, _ = part.Summary(st.Header.Thread, id) // an unreadable summary has no known policy
	}
	if sum == nil {
		return ""
	}
	return sum.Policy
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

// idOf is the summary that a record is about.
func idOf(data []byte) string {
	var rec struct {
		ID        string `json:"id"`
		SummaryID string `json:"summary_id"`
	}
	if err := json.Unmarshal(data, &rec); err != nil {
		return ""
	}
	return rec.ID + rec.SummaryID
}
