package audit

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/recovery"
	"precis/state"
)

// tap observes a stream while another reader reads it, and narrows what is read.
type tap struct {
	recovery.Log
	filters []string
	each    func(broker.Stored)
	leave   func(broker.Stored) bool // messages to leave out; nil: none
}

// Scan implements recovery.Log.
func (t tap) Scan(ctx context.Context, from uint64, _ []string, each func(broker.Stored) error, progress func(seq, last uint64)) error {
	return t.Log.Scan(ctx, from, t.filters, func(m broker.Stored) error {
		t.each(m)
		if t.leave != nil && t.leave(m) {
			return nil
		}
		return each(m)
	}, progress)
}

// records inspects SUMMARIES before anything is adopted from it.
type records struct {
	tally   *tally
	events  uint64 // the last sequence of EVENTS
	configs configs
}

func (r *records) saw(m broker.Stored) {
	var head events.Head
	if err := json.Unmarshal(m.Data, &head); err != nil || head.ThreadID == nil || r.configs.void(m.Seq, head) {
		return
	}
	if head.EffectiveSeq > r.events {
		r.wrong(m, *head.ThreadID, CheckReadable, head.EventSeq, fmt.Sprintf("an effective_seq that EVENTS has (it ends at %d)", r.events), fmt.Sprint(head.EffectiveSeq))
	}
	r.tally.retained.saw(head)
}

// foreign reports a message that is skipped.
func (r *records) foreign(f recovery.Foreign) {
	check, want := CheckReadable, "a processor's record"
	switch {
	case errors.Is(f.Why, recovery.ErrPlace):
		check, want = CheckOrder, "the next record of the thread"
	case errors.Is(f.Why, recovery.ErrLink):
		check, want = CheckChain, "a record that follows on the one before it"
	}
	r.wrong(f.Stored, f.Entry.Thread, check, f.Entry.EventSeq, want, f.Why.Error()+"; it is passed over")
}

// own checks a record of a partition's own chain against the one before it.
func (r *records) own(m broker.Stored, e recovery.Entry, end state.Link) {
	at := scope{at: m.Time}
	step := events.Step{Cause: e.Step.Cause, Index: 1} // what a configuration's cause may be is checked when it is adopted
	if e.Type == events.PartitionClaimed {
		step.Cause = events.ByClaim
		r.tally.record(at, string(e.Type), nil)
		var claim events.Claimed
		if json.Unmarshal(m.Data, &claim) != nil || claim.Epoch != e.ChainSeq {
			r.wrong(m, "", CheckReadable, e.EventSeq, fmt.Sprintf("a claim with epoch %d", e.ChainSeq), fmt.Sprint("epoch ", claim.Epoch))
		}
	}
	if e.Step == step {
		r.tally.holds(at, CheckStep)
	} else {
		r.wrong(m, "", CheckStep, e.EventSeq, fmt.Sprintf("record %d of a step by %q", step.Index, step.Cause),
			fmt.Sprintf("record %d of a step by %q", e.Step.Index, e.Step.Cause))
	}
	if want := end.ChainSeq + 1; e.ChainSeq != want {
		r.wrong(m, "", CheckChain, e.EventSeq, fmt.Sprintf("record %d of partition %d", want, e.Partition),
			fmt.Sprintf("record %d: what was between is gone", e.ChainSeq))
		return
	}
	r.tally.holds(at, CheckChain)
}

func (r *records) wrong(m broker.Stored, name, check string, seq uint64, want, got string) {
	r.tally.find(scope{thread: name, at: m.Time}, Finding{
		Thread: events.OrNull(name), Check: check, Want: want, EventSeq: seq, Summary: events.OrNull(idOf(m.Data)),
		Got: fmt.Sprintf("SUMMARIES %d: %s", m.Seq, got),
	})
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
