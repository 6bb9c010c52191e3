package thread

import (
	"cmp"

	"precis/events"
)

// A fork is a thread that begins with another one's messages, as they stand at its thread.forked. What it inherits are rows of its own
// from then on: whatever becomes of the parent, the fork keeps them, and the other way round.

// Fork is where a thread that began as a fork comes from.
type Fork struct {
	Seq       uint64   // EVENTS sequence of its thread.forked; 0: the thread is no fork
	Key       [32]byte // what tells the event from another one
	Parent    string   // the thread that it was forked from
	At        string   // the message after which the branch ends; empty: the parent's end
	ParentSeq uint64   // the parent's last event before the fork; 0: it had none
	Reason    string   // why the fork began with nothing; empty if it did not
	Messages  uint64   // that it began with, deleted ones included
	Outputs   uint64   // tool results among them
}

// Branch is what a fork begins with: its parent's rows as they stand at the fork, up to a message, as if the parent had ended there.
type Branch struct {
	Reason     string // Fork.Reason; everything below is empty then
	ParentSeq  uint64 // Fork.ParentSeq
	Header     Header // the parent's
	Compaction *Compaction
	Messages   []*Message
	Revisions  []MessageRevision
	Summaries  []*Summary // those that hold a slot, or serve in one, and those that they were made from
	Slots      []*Slot
	Ledgers    map[string][]byte // by summary
	// Seen are the stored identifiers up to the ordinal SeenTo; nil if there are none.
	Seen   []byte
	SeenTo uint64
}

// MessageRevision is the log position of a message's revision.
type MessageRevision struct {
	MessageID string
	Revision
}

// fork begins a thread as a fork. It is the thread's first event, or it is rejected.
func (s *State) fork(in Input) Result {
	h, f := &s.Header, in.Event.Fork
	key := f.Key(in.Event.CloudEventID)
	switch {
	case h.Fork.Seq > 0 && h.Fork.Key == key:
		h.Duplicates++
		return Result{Outcome: Duplicate}
	case h.Fork.Seq > 0 || h.Ordinals > 0 || h.Waiting > 0:
		return rejected(in, begun())
	}
	h.Fork = Fork{Seq: in.Seq, Key: key, Parent: f.ParentThreadID, At: f.AtMessageID}
	h.FirstAgentID = f.AgentID
	return Result{Outcome: Accepted, Forked: true}
}

// Inherit gives a thread that has just been forked what it begins with.
func (s *State) Inherit(b *Branch) {
	h, from := &s.Header, &b.Header
	h.Fork.Reason, h.Fork.ParentSeq = b.Reason, b.ParentSeq
	if b.Reason != "" {
		return
	}
	h.Fork.Messages = uint64(len(b.Messages))
	for _, m := range b.Messages {
		if m.Tool {
			h.Fork.Outputs++
		}
	}
	h.Ordinals, h.LastMessageID = from.Ordinals, from.LastMessageID
	h.FirstAgentID, h.Policy = cmp.Or(h.FirstAgentID, from.FirstAgentID), from.Policy
	h.Tokens, h.Bytes, h.TokensLive = from.Tokens, from.Bytes, from.TokensLive
	h.SummariesActive, h.SummariesStale = from.SummariesActive, from.SummariesStale
	h.Renewals, h.RenewCompactions = from.Renewals, from.RenewCompactions
	s.Compaction, s.Changes.Compacted, s.Changes.Inherited = b.Compaction, true, b
}

// EndAtMessage removes the messages after Message, as a rewind does, from a state that is not saved.
func (s *State) EndAtMessage() {
	s.removeAfter(0)
}

// Renew has a stale summary wait to be recomputed.
func (s *State) Renew(sum *Summary) {
	s.waits(sum, true)
	s.putSummary(sum)
}

// Forget takes a summary out of the counters.
func (s *State) Forget(sum *Summary) {
	h := &s.Header
	s.waits(sum, false)
	if sum.Stands() {
		h.TokensLive += sum.Saved()
	}
	switch sum.Status {
	case Active:
		h.SummariesActive--
	case Stale:
		h.SummariesStale--
	}
}

// TakeApart has a fork begin with a stale node that stands for nothing in it: it is out of the counters, and the next one in its slot
// replaces it.
func (s *State) TakeApart(sum *Summary) {
	s.Forget(sum)
	sum.Status, sum.Serves = Replaced, false
	sum.shed()
}

// Lineage is where a fork comes from, as answers and audits show it.
type Lineage struct {
	ParentThreadID string  `json:"parent_thread_id"`
	AtMessageID    *string `json:"at_message_id"` // null: the parent's end
	// ParentEventSeq is the parent's last event before the fork; null if it had none.
	ParentEventSeq    *uint64 `json:"parent_event_seq"`
	EventSeq          uint64  `json:"event_seq"`          // of the fork
	InheritedMessages uint64  `json:"inherited_messages"` // deleted ones included
	Reason            *string `json:"reason"`             // why it began with nothing: unknown_parent, unknown_message; null if it did not
}

// Lineage returns where the thread comes from; nil if it is no fork.
func (h *Header) Lineage() *Lineage {
	f := &h.Fork
	if !h.Forked() {
		return nil
	}
	l := &Lineage{ParentThreadID: f.Parent, EventSeq: f.Seq, InheritedMessages: f.Messages}
	if f.At != "" {
		l.AtMessageID = &f.At
	}
	if f.ParentSeq > 0 {
		l.ParentEventSeq = &f.ParentSeq
	}
	if f.Reason != "" {
		l.Reason = &f.Reason
	}
	return l
}

// Forked reports whether the thread began with another one's messages.
func (h *Header) Forked() bool { return h.Fork.Seq > 0 }

// AgentWith returns the agent that policies match on at a message, which may be the thread's first. Of a fork that began with nothing, the
// thread.forked is the first event: its agent stands.
func (h *Header) AgentWith(m *events.Message) string {
	if h.Ordinals > 0 {
		return h.FirstAgentID
	}
	return cmp.Or(h.FirstAgentID, m.AgentID)
}

// Outputs is the number of tool results, inherited ones included.
func (h *Header) Outputs() uint64 { return h.ToolResults + h.Fork.Outputs }
