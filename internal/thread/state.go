package thread

import (
	"time"

	"precis/events"
)

// State is the part of a thread's state that one step can touch: loaded before the step, written after it.
type State struct {
	Header Header

	// Message is the row of the message that the event names; nil if there is none.
	Message *Message
	// EditSeen: the edit was applied, ignored or held before.
	EditSeen bool
	// After are the messages after Message that no rewind has removed, in order; loaded for a rewind, with the summaries made from
	// them and the slots of the tool outputs.
	After []*Message
	// Held are the edits that wait for the event's message, in log order.
	Held []*Waiting
	// Due are the edits of other messages that expire with this event, and NextDeadline is the first deadline after them (0:
	// none). Both are loaded only once Header.NextDeadline is reached.
	Due          []*Waiting
	NextDeadline uint64

	// Summaries holds what the step may change: the active summaries made from the message, the summaries made from those, and
	// the holders of the slots.
	Summaries []*Summary
	Slots     []*Slot
	// Jobs are the thread's jobs under way; loaded for edits and for a job's own records.
	Jobs []*Job
	// Compaction is loaded for events that can bring the next cut closer or change its weights; nil if not loaded.
	Compaction *Compaction

	Changes Changes

	// Parked is the thread's rows if the store has them elsewhere; the store's own.
	Parked any

	fresh     Message        // Message, where the step makes it
	summaries index[Summary] // of Summaries
	slots     index[Slot]    // of Slots
}

// Changes lists the rows that a step has changed; the header always changes.
type Changes struct {
	MessagePut  bool       // Message is new or has a new revision
	MessageNew  bool       // Message takes the next ordinal
	Child       bool       // the thread has a parent from now on
	Revisions   []Revision // of Message
	Rewound     []*Message // removed by a rewind, with a new revision if they stood until then
	Restored    bool       // Message stands again, of what a rewind had removed
	EditKeys    []string   // edits that are known from now on
	EditForget  []*Waiting // edits given up, which may be sent again
	Hold        *Waiting
	Release     []*Waiting // no longer waiting
	SummaryPuts []*Summary
	// SummariesMade is how many of them are new.
	SummariesMade uint64
	SlotPuts      []*Slot
	Compacted     bool              // Compaction changed
	Ledgers       map[string][]byte // of new leaves and nodes, by summary
	Inherited     *Branch           // what a fork begins with
	JobPuts       []*Job
	JobEnds       []string // summary ids

	summaries index[Summary] // of SummaryPuts
	slots     index[Slot]    // of SlotPuts
}

// Revision is the log position of a revision.
type Revision struct {
	Number uint64
	Seq    uint64
}

// Input is one event of the log, as Apply takes it.
type Input struct {
	Seq  uint64    // EVENTS sequence
	Time time.Time // stream time
	Raw  events.Raw
	// Event is nil if the event can't be accepted; Reject says why.
	Event  *events.Event
	Reject *events.RejectError

	PendingEditEvents uint64            // limits.pending_edit_events in force
	Measure           func(string) Size // by the tokenizer in force
}

// Outcome is what became of an event.
type Outcome uint8

const (
	Accepted  Outcome = iota
	Duplicate         // a repeated message or edit
	Ignored           // an edit that changes nothing
	Held              // an edit that waits for its message
	Rejected
	HandedOver // a fork of one of the partition's threads: another partition's event
)

func (o Outcome) String() string {
	return [...]string{"accepted", "duplicate", "ignored", "held", "rejected", "handed over"}[o]
}

// Result is what Apply returns besides the changed state.
type Result struct {
	Outcome Outcome
	// Rejections are of this event, and of edits given up with it.
	Rejections []Rejection
	// Revised: Message has new content, or is deleted; Content is that content.
	Revised bool
	Content events.Content
	// Edited: the content was different before, so that what was made from it is no longer true.
	Edited bool
	// Rewound: the messages after Message are gone (Changes.Rewound).
	Rewound bool
	// Forked: the thread begins as a fork, and inherits.
	Forked bool
	// Pinned: Message was pinned or unpinned; its content is unchanged.
	Pinned bool
}

// Rejection is an event that can't be accepted.
type Rejection struct {
	Seq    uint64
	Reason *events.RejectError
	Raw    events.Raw
}

// Summary returns the row of a summary; nil if it is not loaded.
func (s *State) Summary(id string) *Summary {
	return s.summaries.find(s.Summaries, id, func(sum *Summary) string { return sum.ID })
}

// StaleLoaded reports whether all stale summaries of the thread are loaded.
func (s *State) StaleLoaded() bool {
	var n uint64
	for _, sum := range s.Summaries {
		if sum.Status == Stale {
			n++
		}
	}
	return n == s.Header.SummariesStale
}

// Slot returns the row of a slot, or an empty one if nothing has held it yet.
func (s *State) Slot(name string) *Slot {
	slot := s.Loaded(name)
	if slot == nil {
		slot = &Slot{Name: name}
		s.Slots = append(s.Slots, slot)
	}
	return slot
}

// Loaded returns the row of a slot; nil if it is not loaded.
func (s *State) Loaded(name string) *Slot {
	return s.slots.find(s.Slots, name, func(slot *Slot) string { return slot.Name })
}
