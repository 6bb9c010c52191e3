package thread

import (
	"time"

	"precis/events"
)

// State is the part of a thread's state that one step can touch: loaded before it, written after it.
type State struct {
	Header Header

	// Message is the row of the message that the event names; nil where there is none.
	Message *Message
	// EditSeen says that the edit was applied, ignored or held before.
	EditSeen bool
	// Held are the edits that wait for the event's message, in log order.
	Held []*Waiting
	// Due are the edits of other messages whose last event this one is, and NextDeadline is the
	// first deadline behind them (0: none). Both are loaded only where Header.NextDeadline is reached.
	Due          []*Waiting
	NextDeadline uint64

	// Summaries holds what the step may change: the active summaries made from the message,
	// the summaries made from those, and the holders of the slots.
	Summaries []*Summary
	Slots     []*Slot
	// Jobs are those of the thread that are under way; loaded for edits and for a job's own records.
	Jobs []*Job
	// Compaction is loaded for events that can bring a thread closer to its next cut, or change what it
	// weighs; nil where it was not.
	Compaction *Compaction

	Changes Changes
}

// Changes says which rows a step has changed; the header always is.
type Changes struct {
	MessagePut  bool       // Message is new or has a new revision
	MessageNew  bool       // it also takes its place in the thread's order
	Revisions   []Revision // of Message
	EditKeys    []string   // edits of Message that are known from now on
	EditForget  []*Waiting // edits given up: they may be sent again
	Hold        *Waiting
	Release     []*Waiting // no longer waiting
	SummaryPuts []*Summary
	// SummariesMade are those of them that are new.
	SummariesMade uint64
	SlotPuts      []*Slot
	Compacted     bool              // Compaction is changed
	Ledgers       map[string][]byte // of new leaves and nodes, by summary
	JobPuts       []*Job
	JobEnds       []string // summary ids
}

// Revision says where a revision of a message stands in the log.
type Revision struct {
	Number uint64
	Seq    uint64
}

// Input is one event of the log, as Apply takes it.
type Input struct {
	Seq  uint64    // EVENTS sequence
	Time time.Time // stream time
	Raw  events.Raw
	// Event is nil where Reject says why the event can't be accepted.
	Event  *events.Event
	Reject *events.RejectError

	PendingEditEvents uint64            // limits.pending_edit_events in force
	Measure           func(string) Size // by the tokenizer in force
}

// Outcome is what became of an event.
type Outcome uint8

const (
	Accepted  Outcome = iota
	Duplicate         // the same message or edit again
	Ignored           // an edit that changes nothing
	Held              // an edit that waits for its message
	Rejected
)

func (o Outcome) String() string {
	return [...]string{"accepted", "duplicate", "ignored", "held", "rejected"}[o]
}

// Result is what Apply says of an event besides the changed state.
type Result struct {
	Outcome Outcome
	// Rejections are this event's own, and those of edits that were given up with it.
	Rejections []Rejection
	// Revised says that Message has new content (it may be deleted now); Content is that content.
	Revised bool
	Content events.Content
	// Edited says that the content was another before: what was made from it is no longer true.
	Edited bool
	// Pinned says that Message was pinned or unpinned; its content is what it was.
	Pinned bool
}

// Rejection is an event that can't be accepted.
type Rejection struct {
	Seq    uint64
	Reason *events.RejectError
	Raw    events.Raw
}

// Summary returns the loaded row of a summary; nil where it was not loaded.
func (s *State) Summary(id string) *Summary {
	for _, sum := range s.Summaries {
		if sum.ID == id {
			return sum
		}
	}
	return nil
}

// StaleLoaded says that every summary of the thread that is stale is loaded.
func (s *State) StaleLoaded() bool {
	var n uint64
	for _, sum := range s.Summaries {
		if sum.Status == Stale {
			n++
		}
	}
	return n == s.Header.SummariesStale
}

// Slot returns the row of a slot, an empty one where nothing has held it yet.
func (s *State) Slot(name string) *Slot {
	for _, slot := range s.Slots {
		if slot.Name == name {
			return slot
		}
	}
	slot := &Slot{Name: name}
	s.Slots = append(s.Slots, slot)
	return slot
}
