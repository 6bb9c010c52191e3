package api

import (
	"precis/events"
)

// SummarizeRequest is the body of precis.thread.summarize.
type SummarizeRequest struct {
	Kind string `json:"kind"` // compaction (the default) or history
	// MinEventSeq is a publish ack's sequence: the summary is made behind that event.
	MinEventSeq uint64 `json:"min_event_seq,omitzero"`
}

// SummarizeReply is the answer of precis.thread.summarize.
type SummarizeReply struct {
	ThreadID string `json:"thread_id"`
	Kind     string `json:"kind"`
	// SummaryID is the summary that stands for the thread now: made on this request, or before it where there
	// was nothing more to summarize; null where there is nothing at all. A model may still be at work on it:
	// summary.created or summary.failed with that id follows. ID is the same.
	SummaryID events.OrNull `json:"summary_id"`
	ID        events.OrNull `json:"id"`
	// Reason says why there is none: ReasonDisabled or ReasonTooLittle; null where there is one.
	Reason events.OrNull `json:"reason"`
}

// Reasons why there is no summary.
const (
	ReasonDisabled  = "disabled"   // the thread's policy makes none
	ReasonTooLittle = "too_little" // what a summary could stand for is not worth one
)
