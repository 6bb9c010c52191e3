package audit

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"

	"precis/events"
	"precis/internal/broker"
	"precis/internal/recovery"
	"precis/state"
)

// tap sees a stream while somebody else reads it, and narrows what is read.
type tap struct {
	recovery.Scanner
	filters []string
	each    func(broker.Stored)
	leave   func(broker.Stored) bool // what is left out; nil: nothing
}

// Scan implements recovery.Scanner.
func (t tap) Scan(ctx context.Context, from uint64, _ []string, each func(broker.Stored) error, progress func(seq, last uint64)) error {
	return t.Scanner.Scan(ctx, from, t.filters, func(m broker.Stored) error {
		t.each(m)
		if t.leave != nil && t.leave(m) {
			return nil
		}
		return each(m)
	}, progress)
}

// records looks at SUMMARIES as it stands, before anything is adopted from it.
type records struct {
	tally  *tally
	parts  []*state.Partition // by their numbers
	events uint64             // the last sequence of EVENTS
}

func (r *records) saw(m broker.Stored) {
	t, token, _ := events.ParseSubject(m.Subject)
	var head events.Head
	if err := json.Unmarshal(m.Data, &head); err != nil {
		name, _ := events.ThreadOf(token) // empty where the subject names none
		r.wrong(m, name, CheckReadable, 0, "a record", err.Error())
		return
	}
	name := ""
	if head.ThreadID != nil {
		name = *head.ThreadID
	}
	if head.Partition < 0 || head.Partition >= len(r.parts) {
		r.wrong(m, name, CheckReadable, head.EventSeq, fmt.Sprintf("a partition below %d", len(r.parts)), fmt.Sprint(head.Partition))
		return
	}
	if want := tokenOf(head); want != token {
		r.wrong(m, name, CheckReadable, head.EventSeq, "subject "+string(t)+"."+want, "subject "+m.Subject)
	}
	if want := recordID(t, m.Data); want != "" && (m.Header.Get("ce-id") != want || m.Header.Get(nats.MsgIdHdr) != want) {
		r.wrong(m, name, CheckReadable, head.EventSeq, "id "+want, "ce-id "+m.Header.Get("ce-id")+", Nats-Msg-Id "+m.Header.Get(nats.MsgIdHdr))
	}
	if head.EffectiveSeq > r.events {
		r.wrong(m, name, CheckReadable, head.EventSeq, fmt.Sprintf("an effective_seq that EVENTS has (it ends at %d)", r.events), fmt.Sprint(head.EffectiveSeq))
	}
	r.tally.retained.saw(m, t, head)
	r.order(m, name, head)
}

// order holds a record's place in the stream against its place in the chain.
func (r *records) order(m broker.Stored, name string, head events.Head) {
	before, err := r.parts[head.Partition].StagedTo(name)
	if err != nil || head.ChainSeq > before {
		return // a gap in the chain shows when the record is adopted
	}
	r.wrong(m, name, CheckOrder, head.EventSeq, fmt.Sprintf("record %d of the thread", before+1), fmt.Sprintf("record %d", head.ChainSeq))
}

func (r *records) wrong(m broker.Stored, name, check string, seq uint64, want, got string) {
	r.tally.find(scope{thread: name, at: m.Time}, Finding{
		Thread: events.OrNull(name), Check: check, Want: want, EventSeq: seq, Summary: events.OrNull(idOf(m.Data)),
		Got: fmt.Sprintf("SUMMARIES %d: %s", m.Seq, got),
	})
}

// recordID is the id that a record has by what it says; empty where other things are in it.
func recordID(t events.Type, data []byte) string {
	switch t {
	case events.SummaryCreated, events.SummaryStarted, events.SummaryFailed, events.SummaryInvalidated:
		return events.SummaryEventID(t, idOf(data))
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

func tokenOf(head events.Head) string {
	if head.ThreadID == nil {
		return events.PartitionToken(head.Partition)
	}
	token, err := events.Token(*head.ThreadID)
	if err != nil {
		return err.Error()
	}
	return token
}
