package audit

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/recovery"
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
	r.wrong(f.Stored, f.Claim.Thread, check, f.Claim.EventSeq, want, f.Why.Error()+"; it is passed over")
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
