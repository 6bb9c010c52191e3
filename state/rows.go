package state

import (
	"fmt"
	"time"

	"precis/events"
	"precis/internal/thread"
)

// Meta is where a partition stands.
type Meta struct {
	Position      uint64    `json:"position"`       // the last EVENTS sequence applied
	EventsCreated time.Time `json:"events_created"` // which EVENTS stream that was
	SummariesSeq  uint64    `json:"summaries_seq"`  // up to here SUMMARIES holds nothing unknown
	// Own is the end of the partition's own chain up to SummariesSeq.
	Own Own `json:"own,omitzero"`
	// SummariesCreated says which SUMMARIES stream that was.
	SummariesCreated time.Time `json:"summaries_created,omitzero"`
	RejectedSeq      uint64    `json:"rejected_seq"` // the same for REJECTED
	NextOutgoing     uint64    `json:"next_outgoing"`
	Summaries        uint64    `json:"summaries"` // rows of summaries, whatever became of them
	Staged           uint64    `json:"staged"`    // records staged and not adopted yet
	// The last message of each stream up to there. A sequence alone does not tell a stream that was rolled back and
	// has grown again from the one that the store was made from.
	EventsMark    Mark `json:"events_mark,omitzero"`
	SummariesMark Mark `json:"summaries_mark,omitzero"`
	RejectedMark  Mark `json:"rejected_mark,omitzero"`
	// Losses are the accepted losses of events that SUMMARIES has on record for the partition, in order.
	Losses []Loss `json:"losses,omitempty"`
}

// Loss is an accepted loss of events, as far as it decides what of the streams is void: what took effect behind Events,
// and what REJECTED says up to Rejected of events behind that.
type Loss struct {
	Events   uint64    `json:"events"`
	Rejected uint64    `json:"rejected"`
	At       time.Time `json:"at"`
}

// Mark names a message of a stream by what it is.
type Mark struct {
	Seq    uint64   `json:"seq"`
	Digest [16]byte `json:"digest"`
}

// Outgoing is one outbox row: decided, durable with the decision, and not confirmed by the server.
type Outgoing struct {
	Number  uint64
	Type    events.Type
	ID      string // ce-id and Nats-Msg-Id
	Thread  string // empty: the partition itself, or a rejection whose thread can't be told
	Subject string
	Time    time.Time
	Data    []byte
	// Guarded rows go to SUMMARIES, under the processor's claim: one step in flight per thread.
	Guarded bool
	// Index is the place of a guarded row in its step, from 1, and Size how many rows the step has: they are published together.
	Index, Size int
	// Prev is the chain value that a guarded row follows on; empty for a thread's first record.
	Prev string
}

// More says that the next row of the thread belongs to the same step.
func (o *Outgoing) More() bool { return o.Index < o.Size }

// Link is the end of a thread's chain.
type Link struct {
	ChainSeq uint64
	Chain    string
	// Gap says that records are missing before it.
	Gap bool
}

// Staged is a record of SUMMARIES that the fold has not reached yet. Chain and Gap are not in its own row: they
// are kept of the thread's last one.
type Staged struct {
	Chain string
	Gap   bool // records are missing before it

	// Void says that it rests on events whose loss was accepted: it only keeps its place in the chain.
	Void         bool
	Thread       string
	EffectiveSeq uint64
	// Under is the chain sequence of the partition's config.applied that was in force: what an event led to
	// comes before a configuration that took effect behind that same event.
	Under    uint64
	ChainSeq uint64
	// Left is how many records of its step follow.
	Left int
	Seq  uint64    // in SUMMARIES
	Time time.Time // when SUMMARIES stored it
	Made time.Time // when it was decided: a record may wait for the server
	Type events.Type
	Data []byte
}

func encodeHeader(to []byte, h *thread.Header) []byte {
	e := encoder{b: to}
	for _, v := range []uint64{h.Events, h.Messages, h.ToolResults, h.Edits, h.Duplicates, h.Ignored, h.Rejected, h.Ordinals} {
		e.u(v)
	}
	e.i(h.Tokens)
	e.i(h.Bytes)
	e.i(h.TokensLive)
	e.u(h.SummariesActive)
	e.u(h.SummariesStale)
	e.i(h.LLMInput)
	e.i(h.LLMOutput)
	e.i(h.CostMicroUSD)
	e.u(h.CostUnknown)
	e.u(h.EventSeq)
	e.u(h.ChainSeq)
	e.s(h.Chain)
	e.s(h.FirstAgentID)
	e.s(h.Policy)
	e.s(h.LastMessageID)
	e.u(h.Waiting)
	e.u(h.NextDeadline)
	e.u(h.Jobs)
	e.i(h.LastAt)
	e.u(h.Renewals)
	e.u(h.RenewCompactions)
	e.u(h.FirstSeq)
	return e.b
}

func decodeHeader(name string, b []byte) (*thread.Header, error) {
	d := decoder{b: b}
	h := &thread.Header{Thread: name}
	for _, v := range []*uint64{&h.Events, &h.Messages, &h.ToolResults, &h.Edits, &h.Duplicates, &h.Ignored, &h.Rejected, &h.Ordinals} {
		*v = d.u()
	}
	h.Tokens, h.Bytes, h.TokensLive = d.i(), d.i(), d.i()
	h.SummariesActive, h.SummariesStale = d.u(), d.u()
	h.LLMInput, h.LLMOutput, h.CostMicroUSD, h.CostUnknown = d.i(), d.i(), d.i(), d.u()
	h.EventSeq, h.ChainSeq, h.Chain = d.u(), d.u(), d.s()
	h.FirstAgentID, h.Policy, h.LastMessageID = d.s(), d.s(), d.s()
	h.Waiting, h.NextDeadline, h.Jobs = d.u(), d.u(), d.u()
	h.LastAt, h.Renewals, h.RenewCompactions, h.FirstSeq = d.i(), d.u(), d.u(), d.u()
	return h, d.end("header", name)
}

func encodeMessage(to []byte, m *thread.Message) []byte {
	e := encoder{b: to}
	e.u(m.Ordinal)
	e.flag(m.Tool)
	e.s(m.Role)
	e.sum(&m.Shape)
	e.sum(&m.FirstDigest)
	e.sum(&m.Digest)
	e.u(m.Revision)
	e.u(m.FirstSeq)
	e.u(m.Seq)
	e.flag(m.Deleted)
	e.flag(m.Pinned)
	for _, size := range []thread.Size{m.Text, m.Args} {
		e.i(size.Chars)
		e.i(size.Bytes)
		e.i(size.Tokens)
	}
	e.u(uint64(len(m.CallIDs)))
	for _, id := range m.CallIDs {
		e.s(id)
	}
	e.s(m.CallID)
	return e.b
}

func decodeMessage(id string, b []byte) (*thread.Message, error) {
	d := decoder{b: b}
	m := &thread.Message{ID: id, Ordinal: d.u(), Tool: d.flag(), Role: d.s()}
	d.sum(&m.Shape)
	d.sum(&m.FirstDigest)
	d.sum(&m.Digest)
	m.Revision, m.FirstSeq, m.Seq = d.u(), d.u(), d.u()
	m.Deleted, m.Pinned = d.flag(), d.flag()
	for _, size := range []*thread.Size{&m.Text, &m.Args} {
		size.Chars, size.Bytes, size.Tokens = d.i(), d.i(), d.i()
	}
	for n := d.count(1); n > 0; n-- {
		m.CallIDs = append(m.CallIDs, d.s())
	}
	m.CallID = d.s()
	return m, d.end("message", id)
}

func encodeOutgoing(o *Outgoing) []byte {
	var e encoder
	e.s(string(o.Type))
	e.s(o.ID)
	e.s(o.Thread)
	e.s(o.Subject)
	e.i(o.Time.UnixNano())
	e.flag(o.Guarded)
	e.u(uint64(o.Index))
	e.u(uint64(o.Size))
	e.s(o.Prev)
	e.bytes(o.Data)
	return e.b
}

func decodeOutgoing(number uint64, b []byte) (*Outgoing, error) {
	d := decoder{b: b}
	o := &Outgoing{Number: number, Type: events.Type(d.s()), ID: d.s(), Thread: d.s(), Subject: d.s()}
	o.Time, o.Guarded, o.Index, o.Size = time.Unix(0, d.i()).UTC(), d.flag(), int(d.u()), int(d.u())
	o.Prev, o.Data = d.s(), d.bytes()
	return o, d.end("outbox row", o.ID)
}

func encodeStaged(s *Staged) []byte {
	var e encoder
	e.u(s.Seq)
	e.s(string(s.Type))
	e.bytes(s.Data)
	e.i(s.Time.UnixNano())
	e.i(s.Made.UnixNano())
	e.flag(s.Void)
	e.u(uint64(s.Left))
	return e.b
}

func decodeStaged(k, b []byte) (*Staged, error) {
	s := &Staged{}
	if len(k) < stagedEffective+8+2+8 {
		return nil, fmt.Errorf("%w: staged record's key", ErrDamaged)
	}
	s.EffectiveSeq, s.Under = lastNumber(k[:stagedEffective]), lastNumber(k[:stagedEffective+8])
	s.Thread, _, _ = cutPart(k[stagedEffective+8:])
	s.ChainSeq = lastNumber(k)
	d := decoder{b: b}
	s.Seq, s.Type, s.Data = d.u(), events.Type(d.s()), d.bytes()
	s.Time, s.Made = time.Unix(0, d.i()).UTC(), time.Unix(0, d.i()).UTC()
	s.Void, s.Left = d.flag(), int(d.u())
	return s, d.end("staged record", s.Thread)
}
