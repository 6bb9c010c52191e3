package state

import (
	"fmt"
	"time"

	"precis/events"
	"precis/internal/thread"
	"precis/summarize/cut"
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
	// ChainSeq is the place of a thread's record in its chain.
	ChainSeq uint64
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

// Each binary row has its layout, and a function that writes it and one that reads it.

func headerRow(c *codec, h *thread.Header) {
	c.uints(&h.Events, &h.Messages, &h.ToolResults, &h.Edits, &h.Duplicates, &h.Ignored, &h.Rejected, &h.Ordinals)
	c.ints(&h.Tokens, &h.Bytes, &h.TokensLive)
	c.uints(&h.SummariesActive, &h.SummariesStale)
	c.ints(&h.LLMInput, &h.LLMOutput, &h.CostMicroUSD)
	c.uints(&h.CostUnknown, &h.EventSeq, &h.ChainSeq)
	texts(c, &h.Chain, &h.FirstAgentID, &h.Policy, &h.LastMessageID, &h.Parent)
	c.uints(&h.Waiting, &h.NextDeadline, &h.Jobs)
	c.ints(&h.LastAt)
	c.uints(&h.Renewals, &h.RenewCompactions, &h.FirstSeq)
	forkRow(c, &h.Fork)
}

func forkRow(c *codec, f *thread.Fork) {
	if c.uints(&f.Seq); f.Seq == 0 {
		return
	}
	c.sums(&f.Key)
	texts(c, &f.Parent, &f.At, &f.Reason)
	c.uints(&f.ParentSeq, &f.Messages, &f.Outputs)
}

// threadRow is a thread's header and how far the thread is compacted, if it can be: nearly every event reads and changes
// both, and a row of its own for each would be looked for and written twice.
func threadRow(c *codec, h *thread.Header, k **thread.Compaction) {
	headerRow(c, h)
	compacts := *k != nil
	if c.flags(&compacts); !compacts {
		return
	}
	if c.reads {
		*k = &thread.Compaction{}
	}
	compactionRow(c, *k)
}

func encodeThread(to []byte, h *thread.Header, k *thread.Compaction) []byte {
	c := writing(to)
	threadRow(&c, h, &k)
	return c.b
}

func decodeThread(name string, b []byte) (h *thread.Header, k *thread.Compaction, err error) {
	h = &thread.Header{Thread: name}
	c := reading(b)
	threadRow(&c, h, &k)
	return h, k, c.end("thread", name)
}

// decodeHeader reads the header alone, at the beginning of a thread's row.
func decodeHeader(name string, b []byte) (*thread.Header, error) {
	h, c := &thread.Header{Thread: name}, reading(b)
	headerRow(&c, h)
	return h, c.err
}

func messageRow(c *codec, m *thread.Message) {
	c.uints(&m.Ordinal)
	c.flags(&m.Tool)
	texts(c, &m.Role)
	c.sums(&m.Shape, &m.FirstDigest, &m.Digest)
	c.uints(&m.Revision, &m.FirstSeq, &m.Seq)
	c.flags(&m.Deleted, &m.Rewound, &m.Pinned)
	c.ints(&m.Text.Chars, &m.Text.Bytes, &m.Text.Tokens, &m.Args.Chars, &m.Args.Bytes, &m.Args.Tokens)
	c.strings(&m.CallIDs)
	texts(c, &m.CallID)
	c.uints(&m.Given)
	all := m.GivenArgs == m.Args // as of most messages
	if c.flags(&all); all {
		m.GivenArgs = m.Args
		return
	}
	c.ints(&m.GivenArgs.Chars, &m.GivenArgs.Bytes, &m.GivenArgs.Tokens)
}

func encodeMessage(to []byte, m *thread.Message) []byte {
	c := writing(to)
	messageRow(&c, m)
	return c.b
}

func decodeMessage(id string, b []byte) (*thread.Message, error) {
	m, c := &thread.Message{ID: id}, reading(b)
	messageRow(&c, m)
	return m, c.end("message", id)
}

// summaryVersion begins the row of a thread.Summary. An edit in a long thread reads dozens of them for their
// counters, and each has its record in it, which JSON reads through to its end.
const summaryVersion = 4

func summaryRow(c *codec, s *thread.Summary) {
	c.version(summaryVersion)
	texts(c, &s.ID, &s.Kind, &s.Slot)
	c.small(&s.Level)
	c.flags(&s.Current)
	c.uints(&s.Version)
	c.strings(&s.Sources)
	c.strings(&s.SourceSums)
	c.ints(&s.TokensBefore, &s.TokensAfter, &s.CharsBefore)
	texts(c, &s.Status)
	texts(c, &s.ReplacedBy)
	c.flags(&s.Renew, &s.Aside, &s.Withheld, &s.Inherited)
	expires := !s.ExpiresAt.IsZero()
	if c.flags(&expires); expires {
		c.times(&s.ExpiresAt)
	}
	c.flags(&s.Serves)
	texts(c, &s.Policy)
	c.uints(&s.EventSeq, &s.EffectiveSeq, &s.ChainSeq)
	blobs(c, &s.Record, &s.Invalidated)
}

func encodeSummary(s *thread.Summary) []byte {
	c := writing(make([]byte, 0, 512+len(s.Record)+len(s.Invalidated)+40*(len(s.Sources)+len(s.SourceSums))))
	summaryRow(&c, s)
	return c.b
}

// decodeSummary copies what it keeps.
func decodeSummary(b []byte) (*thread.Summary, error) {
	s, c := &thread.Summary{}, reading(b)
	summaryRow(&c, s)
	return s, c.end("summary", s.ID)
}

// compactionVersion begins a thread.Compaction in its thread's row.
const compactionVersion = 4

func compactionRow(c *codec, k *thread.Compaction) {
	c.version(compactionVersion)
	c.ints(&k.Cut.Seen.Tokens, &k.Cut.Seen.Messages, &k.Cut.Free.Tokens, &k.Cut.Free.Messages, &k.Cut.Gone.Tokens, &k.Cut.Gone.Messages)
	c.uints(&k.Cut.Count, &k.Cut.Edge.At)
	c.ints(&k.Cut.Edge.Weight.Tokens, &k.Cut.Edge.Weight.Messages, &k.Cut.Behind.Tokens, &k.Cut.Behind.Messages)
	for _, t := range []*cut.Turn{&k.Cut.User, &k.Cut.Assistant} {
		c.uints(&t.At)
		c.ints(&t.Weight.Tokens, &t.Weight.Messages)
		c.numbers(&t.Members)
	}
	for _, calls := range []*[]cut.Call{&k.Cut.Open, &k.Cut.Early} {
		for i := range sized(c, calls, 5) {
			call := &(*calls)[i]
			texts(c, &call.ID)
			c.uints(&call.At, &call.Count)
			c.ints(&call.Weight.Tokens, &call.Weight.Messages)
		}
	}
	c.uints(&k.Cut.LastAt)
	c.ints(&k.Cut.Last.Tokens, &k.Cut.Last.Messages)
	positionRow(c, &k.Cut.BestUser)
	positionRow(c, &k.Cut.BestAny)
	for i := range sized(c, &k.Cut.Pending, 9) {
		positionRow(c, &k.Cut.Pending[i])
	}
	for i := range sized(c, &k.Tops, 5) {
		t := &k.Tops[i]
		texts(c, &t.Summary, &t.Slot)
		c.small(&t.Level)
		c.uints(&t.From, &t.To)
	}
	c.numbers(&k.Held)
	c.numbers(&k.Fixed)
	for i := range sized(c, &k.Outputs, 3) {
		o := &k.Outputs[i]
		c.uints(&o.At, &o.Turns)
		c.ints(&o.Tokens)
	}
	reportedRow(c, &k.Reported)
}

func reportedRow(c *codec, r *thread.Reported) {
	if c.uints(&r.At); r.At == 0 {
		return
	}
	texts(c, &r.Model)
	c.ints(&r.Held)
	c.uints(&r.Calls)
	for _, u := range []*events.TokenUsage{&r.Last, &r.Total} {
		c.ints(&u.InputTokens, &u.OutputTokens, &u.CachedInputTokens, &u.CacheCreationInputTokens)
	}
}

func positionRow(c *codec, p *cut.Position) {
	c.uints(&p.At, &p.Prev)
	c.flags(&p.User)
	c.ints(&p.Before.Tokens, &p.Before.Messages, &p.Tail.Tokens, &p.Tail.Messages, &p.Free.Tokens, &p.Free.Messages)
}

func outgoingRow(c *codec, o *Outgoing) {
	texts(c, &o.Type)
	texts(c, &o.ID, &o.Thread, &o.Subject)
	c.times(&o.Time)
	c.flags(&o.Guarded)
	c.small(&o.Index, &o.Size)
	texts(c, &o.Prev)
	c.uints(&o.ChainSeq)
	blobs(c, &o.Data)
}

func encodeOutgoing(o *Outgoing) []byte {
	c := writing(nil)
	outgoingRow(&c, o)
	return c.b
}

func decodeOutgoing(number uint64, b []byte) (*Outgoing, error) {
	o, c := &Outgoing{Number: number}, reading(b)
	outgoingRow(&c, o)
	return o, c.end("outbox row", o.ID)
}

func stagedRow(c *codec, s *Staged) {
	c.uints(&s.Seq)
	texts(c, &s.Type)
	blobs(c, &s.Data)
	c.times(&s.Time, &s.Made)
	c.flags(&s.Void)
	c.small(&s.Left)
}

func encodeStaged(s *Staged) []byte {
	c := writing(nil)
	stagedRow(&c, s)
	return c.b
}

func decodeStaged(k, b []byte) (*Staged, error) {
	if len(k) < stagedEffective+8+2+8 {
		return nil, fmt.Errorf("%w: staged record's key", ErrDamaged)
	}
	s, c := &Staged{EffectiveSeq: lastNumber(k[:stagedEffective]), Under: lastNumber(k[:stagedEffective+8]), ChainSeq: lastNumber(k)}, reading(b)
	s.Thread, _, _ = cutPart(k[stagedEffective+8:])
	stagedRow(&c, s)
	return s, c.end("staged record", s.Thread)
}

// linkRow is the last record of a thread that is staged.
func linkRow(c *codec, l *Link) {
	c.uints(&l.ChainSeq)
	texts(c, &l.Chain)
	c.flags(&l.Gap)
}
